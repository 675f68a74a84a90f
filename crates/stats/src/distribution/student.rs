//! Student's t distribution.

use super::beta::beta_with_complement;
use super::normal::normal_quantile;
use super::root;

/// P(T > t) for t ≥ 0, exact in the far tail too.
fn upper_tail(t: f64, degrees: f64) -> f64 {
    let square = t * t;
    0.5 * beta_with_complement(
        0.5 * degrees,
        0.5,
        degrees / (degrees + square),
        square / (degrees + square),
    )
}

/// P(T ≤ t) with `degrees` of freedom (> 0, may be fractional, ∞ is the normal).
///
/// Source: for t ≥ 0, 1 − ½ I_{ν/(ν+t²)}(ν/2, ½) (DLMF 8.17, Abramowitz and Stegun 26.7.1).
#[must_use]
pub fn student_cdf(t: f64, degrees: f64) -> f64 {
    if t == 0.0 {
        return 0.5;
    }
    if t.is_infinite() {
        return if t > 0.0 { 1.0 } else { 0.0 };
    }
    if degrees.is_infinite() {
        return super::normal_cdf(t);
    }
    let tail = upper_tail(t.abs(), degrees);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The quantile of Student's t: the `t` with P(T ≤ t) = `p`, with `degrees` of freedom; NaN for `p` outside [0, 1].
///
/// The cumulative function is inverted in the tail's logarithm, between the normal quantile (t's tails are never
/// lighter) and a bound that holds down to one degree of freedom.
#[must_use]
pub fn student_quantile(p: f64, degrees: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let tail = p.min(1.0 - p);
    if tail == 0.5 {
        return 0.0;
    }
    let normal = -normal_quantile(tail);
    if tail == 0.0 || degrees.is_infinite() {
        return normal.copysign(p - 0.5);
    }
    let target = -tail.ln();
    let mut high = 2.0 * normal + 1.0;
    while upper_tail(high, degrees) > tail && high < 1e300 {
        high *= 4.0;
    }
    let size = root::find_root(
        |t| {
            if t <= 0.0 {
                std::f64::consts::LN_2
            } else {
                -upper_tail(t, degrees).ln()
            }
        },
        target,
        0.5 * normal,
        high,
        1e-14,
    );
    size.copysign(p - 0.5)
}
