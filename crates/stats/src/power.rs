//! Power analysis: the minimum detectable difference of a design, for `tare plan`.

use crate::distribution::{f_quantile, find_root, mean_over_residual, normal_cdf, power_two_sided};
use crate::outcome::{BLOCKS_MIN, POWER};
use crate::paired::{BaselineCopies, ComparisonFamily, NOISIER_TAIL};

/// The design of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Design {
    /// Number of blocks.
    pub blocks: usize,
    /// How often the baseline runs in each.
    pub copies: BaselineCopies,
}

/// The minimum detectable difference (relative, 0.03 is 3 %): found in one arm, level and metric of the family with 80 %
/// probability; `None` with fewer than three blocks.
///
/// `noise` is the relative standard deviation of one trial within a block, as [`crate::paired::Comparisons::noise`] of an
/// earlier run gives it. Computed from the exact power of the decision rule in a complete table of equal noise: noncentral
/// t with Dunnett's critical value, and the arm's own residual where that comes out large.
#[must_use]
pub fn detectable(noise: f64, design: Design, family: &ComparisonFamily) -> Option<f64> {
    if design.blocks < BLOCKS_MIN {
        return None;
    }
    let contrast = ContrastDesign::of(noise, design, family);
    let shift = find_root(
        |shift| contrast.power(shift),
        POWER,
        0.0,
        20.0 * contrast.critical,
        1e-4,
    );
    Some((shift * contrast.error).exp_m1())
}

/// The probability that the design finds a relative `difference` in one arm, level and metric; `None` with fewer than
/// three blocks.
#[must_use]
pub fn power(
    difference: f64,
    noise: f64,
    design: Design,
    family: &ComparisonFamily,
) -> Option<f64> {
    if design.blocks < BLOCKS_MIN {
        return None;
    }
    let contrast = ContrastDesign::of(noise, design, family);
    Some(contrast.power(difference.ln_1p() / contrast.error))
}

/// Parameters of the test of one contrast in a complete design.
struct ContrastDesign {
    /// True standard error of the contrast.
    error: f64,
    critical: f64,
    /// Degrees of freedom of the arm's own residual, and of the rest of the residual.
    own: f64,
    rest: f64,
}

impl ContrastDesign {
    fn of(noise: f64, design: Design, family: &ComparisonFamily) -> Self {
        let copies = design.copies.count() as f64;
        let blocks = design.blocks as f64;
        let arms = family.arms() as f64;
        let degrees = blocks * (copies + arms) - blocks - arms;
        Self {
            error: noise.ln_1p() * ((1.0 + 1.0 / copies) / blocks).sqrt(),
            critical: family.critical_pooled(degrees, 1.0 / (1.0 + copies)),
            own: blocks - 1.0,
            rest: degrees - (blocks - 1.0),
        }
    }

    /// The probability of |estimate| > critical × error for a true difference of `shift` standard errors, given that an arm
    /// whose own residual comes out large is tested against it.
    fn power(&self, shift: f64) -> f64 {
        let Self {
            critical,
            own,
            rest,
            ..
        } = *self;
        if rest < 1.0 {
            return power_two_sided(critical, own, shift);
        }
        let bound = f_quantile(1.0 - NOISIER_TAIL, own, rest);
        mean_over_residual(rest, |r| {
            mean_over_residual(own, |o| {
                let (o, r) = (o * o, r * r);
                let variance = if o > bound * r {
                    o
                } else {
                    (own * o + rest * r) / (own + rest)
                };
                let reach = critical * variance.sqrt();
                normal_cdf(shift - reach) + normal_cdf(-shift - reach)
            })
        })
    }
}
