//! What a design can detect, before it is run: used by `tare plan`.

use crate::distribution::{f_quantile, normal_cdf, over_residual, power_two_sided, rising};
use crate::outcome::{BLOCKS_MIN, POWER};
use crate::paired::{BaselineCopies, Family, NOISIER_TAIL};

/// How a comparison is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Design {
    /// Blocks planned.
    pub blocks: usize,
    /// How often the baseline runs in each.
    pub copies: BaselineCopies,
}

/// The smallest relative difference (0.03 is 3 %) that the design calls in one arm, level and metric of the family with
/// 80 % probability; `None` with fewer than three blocks.
///
/// `noise` is the relative standard deviation of one trial within a block, as [`crate::paired::Comparisons::noise`] of an
/// earlier run gives it. From the exact power of the verdict's own rule in a complete table of even
/// noise: noncentral t with Dunnett's critical value, and the own scatter of an arm where that comes out large.
#[must_use]
pub fn detectable(noise: f64, design: Design, family: &Family) -> Option<f64> {
    if design.blocks < BLOCKS_MIN {
        return None;
    }
    let frame = Frame::of(noise, design, family);
    let shift = rising(
        |shift| frame.power(shift),
        POWER,
        0.0,
        20.0 * frame.critical,
        1e-4,
    );
    Some((shift * frame.error).exp_m1())
}

/// The probability that the design calls a relative `difference` in one arm, level and metric; `None` with fewer than
/// three blocks.
#[must_use]
pub fn power(difference: f64, noise: f64, design: Design, family: &Family) -> Option<f64> {
    if design.blocks < BLOCKS_MIN {
        return None;
    }
    let frame = Frame::of(noise, design, family);
    Some(frame.power(difference.ln_1p() / frame.error))
}

/// What the test of one contrast in a complete design rests on.
struct Frame {
    /// True standard error of the contrast.
    error: f64,
    critical: f64,
    /// Degrees of freedom of the arm's own scatter, and of the rest of the residual.
    own: f64,
    rest: f64,
}

impl Frame {
    fn of(noise: f64, design: Design, family: &Family) -> Self {
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

    /// The probability of |estimate| > critical × error, when the estimate is `shift` true errors from none, given that
    /// an arm whose own scatter comes out large is judged by it.
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
        over_residual(rest, |r| {
            over_residual(own, |o| {
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
