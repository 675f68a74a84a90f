//! Stopping rule of adaptive runs: stop when the intervals are narrow enough.
//!
//! Only widths decide, never where an interval lies or whether it excludes "no difference": stopping on a desired result
//! would invalidate the confidence of every interval.

use crate::interval::RatioInterval;
use crate::outcome::BLOCKS_MIN;

/// Whether to stop measuring.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StoppingDecision {
    /// Every interval is narrow enough.
    Stop,
    /// The widest interval is too wide, or one is missing.
    Continue {
        /// Relative half width of the widest interval; none while one is missing.
        widest: Option<f64>,
        /// Estimate of the blocks still needed, if it is known.
        more_blocks: Option<u32>,
    },
}

/// Stops when the half width of every interval is at most `half_width_max` (0.05 is 5 %), after `blocks` blocks.
///
/// A missing interval, or an empty list, never stops. The number of further blocks is extrapolated (widths shrink with the
/// root of the blocks), at least one: an estimate for the progress line.
#[must_use]
pub fn decide(
    intervals: &[Option<RatioInterval>],
    half_width_max: f64,
    blocks: usize,
) -> StoppingDecision {
    let widths: Option<Vec<f64>> = intervals
        .iter()
        .map(|interval| interval.map(|interval| interval.half_width()))
        .collect();
    let Some(widest) = widths.and_then(|widths| widths.into_iter().reduce(f64::max)) else {
        return StoppingDecision::Continue {
            widest: None,
            more_blocks: None,
        };
    };
    if blocks >= BLOCKS_MIN && widest <= half_width_max {
        return StoppingDecision::Stop;
    }
    let wanted = blocks as f64 * (widest.ln_1p() / half_width_max.ln_1p()).powi(2);
    let more_blocks = (wanted.ceil() - blocks as f64).clamp(1.0, f64::from(u32::MAX));
    StoppingDecision::Continue {
        widest: Some(widest),
        more_blocks: wanted.is_finite().then_some(more_blocks as u32),
    }
}

/// The geometric mean of one value per block, and its unadjusted 95 % interval (Student's t) as a ratio to it; `None` with
/// fewer than three blocks, or if a value is not positive.
#[must_use]
pub fn mean_interval(values: &[f64]) -> Option<(f64, RatioInterval)> {
    if values.len() < BLOCKS_MIN || values.iter().any(|v| v.is_nan() || *v <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
    let n = logs.len() as f64;
    let t = crate::distribution::student_quantile(0.975, n - 1.0);
    let half = t * (crate::paired::variance(&logs)? / n).sqrt();
    let centre = crate::paired::mean(&logs)?;
    Some((centre.exp(), RatioInterval::from_log(0.0, half)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_width_decides_not_where_the_interval_lies() {
        let near = RatioInterval {
            low: 1.0 / 1.04,
            high: 1.04,
        };
        let far = RatioInterval {
            low: 3.0 / 1.04,
            high: 3.0 * 1.04,
        };
        assert_eq!(decide(&[Some(near)], 0.05, 5), StoppingDecision::Stop);
        assert_eq!(decide(&[Some(far)], 0.05, 5), StoppingDecision::Stop);
        assert!(matches!(
            decide(&[Some(far)], 0.03, 5),
            StoppingDecision::Continue {
                more_blocks: Some(4),
                ..
            }
        ));
    }

    #[test]
    fn a_missing_interval_or_none_at_all_is_never_enough() {
        let narrow = RatioInterval {
            low: 0.999,
            high: 1.001,
        };
        let no = StoppingDecision::Continue {
            widest: None,
            more_blocks: None,
        };
        assert_eq!(decide(&[Some(narrow), None], 0.05, 5), no);
        assert_eq!(decide(&[], 0.05, 5), no);
        assert!(matches!(
            decide(&[Some(narrow)], 0.05, 2),
            StoppingDecision::Continue { .. }
        ));
        assert!(matches!(
            decide(&[Some(narrow)], 0.0, 5),
            StoppingDecision::Continue {
                more_blocks: None,
                ..
            }
        ));
    }

    #[test]
    fn a_level_has_an_interval_from_three_blocks_on() {
        assert_eq!(mean_interval(&[1.0, 2.0]), None);
        assert_eq!(mean_interval(&[1.0, 2.0, 0.0]), None);
        let (centre, interval) = mean_interval(&[90.0, 100.0, 111.0]).unwrap();
        assert!((centre - 99.97).abs() < 0.01, "{centre}");
        // 4.303 × sd of logs (0.10486) / √3.
        assert!((interval.half_width() - (4.3027 * 0.104_86 / 3f64.sqrt()).exp_m1()).abs() < 1e-3);
    }
}
