//! Root finding for increasing functions.

/// More steps than bisection needs to exhaust a double between any two brackets used here.
const STEPS_MAX: usize = 200;

/// The `x` in `[low, high]` where the increasing function `f` reaches `target`, to a relative width of `tolerance`.
///
/// Regula falsi with the Illinois modification, falling back to bisection on every third step, so that it neither
/// stalls on a flat tail nor needs a derivative. A target outside the bracket gives the nearer end.
pub fn find_root(f: impl Fn(f64) -> f64, target: f64, low: f64, high: f64, tolerance: f64) -> f64 {
    let (mut a, mut b) = (low, high);
    let (mut at_a, mut at_b) = (f(a) - target, f(b) - target);
    if at_a >= 0.0 {
        return a;
    }
    if at_b <= 0.0 {
        return b;
    }
    let mut kept_a = false;
    let mut kept_b = false;
    for step in 0..STEPS_MAX {
        if (b - a).abs() <= tolerance * (1.0 + a.abs().max(b.abs())) {
            break;
        }
        let x = if step % 3 == 2 {
            0.5 * (a + b)
        } else {
            (a * at_b - b * at_a) / (at_b - at_a)
        };
        let at_x = f(x) - target;
        if at_x == 0.0 {
            return x;
        }
        if at_x < 0.0 {
            (a, at_a) = (x, at_x);
            if kept_b {
                at_b *= 0.5;
            }
            (kept_a, kept_b) = (false, true);
        } else {
            (b, at_b) = (x, at_x);
            if kept_a {
                at_a *= 0.5;
            }
            (kept_a, kept_b) = (true, false);
        }
    }
    0.5 * (a + b)
}
