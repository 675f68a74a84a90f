//! Dunnett's distribution: the largest of several t statistics that share one baseline and one residual.

use std::sync::OnceLock;

use libm::lgamma;

use super::normal::{normal_cdf, normal_density};
use super::{root, student_quantile};

/// Beyond this many degrees of freedom the residual is taken as known (the critical value moves by less than 1e-4).
const DEGREES_MAX: f64 = 20_000.0;

/// Nodes of the Gauss–Legendre rule used for both integrals; 64 give eight digits and more from two degrees of freedom on (see
/// the reference vectors).
const NODES: usize = 64;

/// Several contrasts against one baseline: their number, their correlation and the degrees of freedom of the residual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrasts {
    /// How many arms are compared with the baseline (at least 1).
    pub arms: usize,
    /// Degrees of freedom of the pooled residual (> 0).
    pub degrees: f64,
    /// Correlation between any two contrasts, 0 … 0.95: 1/2 with one baseline per block, 1/3 with two.
    pub correlation: f64,
}

impl Contrasts {
    /// P(max |T_j| ≤ c): the multivariate t with equal correlations.
    ///
    /// Source: C. W. Dunnett, "A multiple comparison procedure for comparing several treatments with a control",
    /// JASA 50 (1955) 1096–1121, and "New tables for multiple comparisons with a control", Biometrics 20 (1964)
    /// 482–491: T_j = (√ρ Z₀ + √(1−ρ) Z_j) / S with S² = χ²_ν/ν, so, given Z₀ = z and S = s, the T_j are independent,
    /// and the probability is ∫∫ \[Φ((cs + √ρ z)/√(1−ρ)) − Φ((−cs + √ρ z)/√(1−ρ))\]^k φ(z) f_ν(s) dz ds.
    #[must_use]
    pub fn all_within(&self, c: f64) -> f64 {
        if c <= 0.0 {
            return 0.0;
        }
        let rho = self.correlation.clamp(0.0, 0.95);
        let shared = rho.sqrt();
        let own = (1.0 - rho).sqrt();
        let inner = |s: f64| {
            // The integrand is even in z, so half the axis is enough.
            2.0 * integrate(0.0, 8.5, |z| {
                let high = normal_cdf((c * s + shared * z) / own);
                let low = normal_cdf((shared * z - c * s) / own);
                (high - low).powi(self.arms as i32) * normal_density(z)
            })
        };
        mean_over_residual(self.degrees, inner)
    }

    /// The critical value c with P(max |T_j| ≤ c) = 1 − `alpha`, to six digits or better.
    #[must_use]
    pub fn critical(&self, alpha: f64) -> f64 {
        let degrees = if self.degrees > DEGREES_MAX {
            f64::INFINITY
        } else {
            self.degrees
        };
        let alone = student_quantile(1.0 - alpha / 2.0, degrees);
        if self.arms <= 1 {
            return alone;
        }
        let bonferroni = student_quantile(1.0 - alpha / (2.0 * self.arms as f64), degrees);
        root::find_root(|c| self.all_within(c), 1.0 - alpha, alone, bonferroni, 1e-9)
    }
}

/// P(|T| > c) where T is noncentral t: the power of a two-sided test with critical value `c`.
///
/// Source: T = (Z + δ) / S, integrated over S (Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions
/// 2, chapter 31).
#[must_use]
pub fn power_two_sided(c: f64, degrees: f64, shift: f64) -> f64 {
    mean_over_residual(degrees, |s| {
        normal_cdf(shift - c * s) + normal_cdf(-shift - c * s)
    })
}

/// The mean of `given` over S = √(χ²_ν/ν).
pub(crate) fn mean_over_residual(degrees: f64, given: impl Fn(f64) -> f64) -> f64 {
    if degrees > DEGREES_MAX {
        return given(1.0);
    }
    let half = 0.5 * degrees;
    let ln_scale = std::f64::consts::LN_2 + half * half.ln() - lgamma(half);
    let density = |s: f64| (ln_scale + (degrees - 1.0) * s.ln() - half * s * s).exp();
    // S has mean close to 1 and standard deviation below 1/√(2ν): nine of them leave less than 1e-13 outside.
    let reach = 9.0 / (2.0 * degrees).sqrt();
    let low = (1.0 - reach).max(0.0);
    // Over u = √s: with few degrees of freedom and a large critical value the integrand is concentrated near 0.
    integrate(low.sqrt(), (1.0 + reach).sqrt(), |u| {
        let s = u * u;
        2.0 * u * density(s) * given(s)
    })
}

fn integrate(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let half = 0.5 * (high - low);
    let middle = 0.5 * (high + low);
    let sum: f64 = rule()
        .iter()
        .map(|&(node, weight)| weight * f(middle + half * node))
        .sum();
    half * sum
}

/// Nodes and weights of Gauss–Legendre on [−1, 1] (DLMF 3.5.v; Newton on the Legendre recurrence, once per process).
fn rule() -> &'static [(f64, f64); NODES] {
    static RULE: OnceLock<[(f64, f64); NODES]> = OnceLock::new();
    RULE.get_or_init(|| {
        let n = NODES as f64;
        let mut rule = [(0.0, 0.0); NODES];
        for (i, slot) in rule.iter_mut().enumerate() {
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 1.0;
            // Newton from this start converges in five steps; the sixth costs nothing.
            for _ in 0..6 {
                let (mut before, mut value) = (1.0, x);
                for k in 2..=NODES {
                    let k = k as f64;
                    (before, value) = (
                        value,
                        ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k,
                    );
                }
                slope = n * (x * value - before) / (x * x - 1.0);
                x -= value / slope;
            }
            *slot = (x, 2.0 / ((1.0 - x * x) * slope * slope));
        }
        rule
    })
}
