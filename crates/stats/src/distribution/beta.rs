//! The incomplete beta function and Fisher's F.

use libm::lgamma;

use super::root;

/// The regularised incomplete beta function I_x(a, b), for a, b > 0 and 0 ≤ x ≤ 1.
///
/// Source: the continued fraction of DLMF 8.17.22, evaluated by Lentz's method, on whichever side of
/// (a + 1) / (a + b + 2) converges quickly (I_x(a, b) = 1 − I_{1−x}(b, a)).
#[must_use]
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    beta_with_complement(a, b, x, 1.0 - x)
}

/// I_x(a, b) with 1 − x given, where the caller knows it more exactly than a subtraction would give it.
pub(super) fn beta_with_complement(a: f64, b: f64, x: f64, complement: f64) -> f64 {
    let ln_front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * x.ln() + b * complement.ln();
    let front = ln_front.exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(a, b, x) / a
    } else {
        1.0 - front * continued_fraction(b, a, complement) / b
    }
}

fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    // Needs about sqrt(max(a, b)) terms; this covers a million degrees of freedom.
    const TERMS_MAX: usize = 5_000;
    let away_from_zero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..=TERMS_MAX {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        let step = d * c;
        fraction *= step;
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

/// P(F ≤ f) with `above` and `below` degrees of freedom.
///
/// Source: above·F / (above·F + below) is beta distributed with (above/2, below/2) (Abramowitz and Stegun 26.6.2).
#[must_use]
pub fn f_cdf(f: f64, above: f64, below: f64) -> f64 {
    if f <= 0.0 {
        return 0.0;
    }
    let scaled = above * f / below;
    if scaled.is_infinite() {
        return 1.0;
    }
    beta_with_complement(
        above / 2.0,
        below / 2.0,
        scaled / (1.0 + scaled),
        1.0 / (1.0 + scaled),
    )
}

/// The quantile of F: the `f` with P(F ≤ f) = `p`, with `above` and `below` degrees of freedom.
#[must_use]
pub fn f_quantile(p: f64, above: f64, below: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    // Searched in ln F, where the function is smooth over the whole range.
    let cdf = |ln_f: f64| f_cdf(ln_f.exp(), above, below);
    root::find_root(cdf, p, -50.0, 50.0, 1e-14).exp()
}
