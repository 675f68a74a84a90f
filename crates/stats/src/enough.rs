//! Adaptive stopping: whether the intervals are narrow enough to stop measuring.
//!
//! Only widths are looked at, never where an interval lies or whether it excludes "no difference": stopping when the
//! answer pleases would spoil every interval's confidence.

use crate::interval::Interval;
use crate::outcome::BLOCKS_MIN;

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Enough {
    /// Every interval is narrow enough.
    Yes,
    /// The widest is not (or is still missing).
    No {
        /// Its relative half width, when it has one.
        widest: Option<f64>,
        /// About how many more blocks would narrow it, when it has one.
        more: Option<u32>,
    },
}

/// Whether all these ratio intervals are within `within` (0.05 is 5 %) of their estimates, after `blocks` blocks.
///
/// A missing interval is never narrow enough, and no intervals at all are not enough either. The number of blocks is
/// extrapolated by the root law, at least one, and is what the progress line prints, not a promise.
#[must_use]
pub fn enough(intervals: &[Option<Interval>], within: f64, blocks: usize) -> Enough {
    let widths: Option<Vec<f64>> = intervals
        .iter()
        .map(|interval| interval.map(|interval| interval.half_width()))
        .collect();
    let Some(widest) = widths.and_then(|widths| widths.into_iter().reduce(f64::max)) else {
        return Enough::No {
            widest: None,
            more: None,
        };
    };
    if blocks >= BLOCKS_MIN && widest <= within {
        return Enough::Yes;
    }
    let wanted = blocks as f64 * (widest.ln_1p() / within.ln_1p()).powi(2);
    let more = (wanted.ceil() - blocks as f64).clamp(1.0, f64::from(u32::MAX));
    Enough::No {
        widest: Some(widest),
        more: wanted.is_finite().then_some(more as u32),
    }
}

/// The plain 95 % interval of one arm's own level over its blocks, as a ratio to its geometric mean; `None` with fewer
/// than three blocks. For runs with one arm, where there is nothing to compare with.
#[must_use]
pub fn level(values: &[f64]) -> Option<(f64, Interval)> {
    if values.len() < BLOCKS_MIN || values.iter().any(|v| v.is_nan() || *v <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
    let n = logs.len() as f64;
    let t = crate::distribution::student_quantile(0.975, n - 1.0);
    let half = t * (crate::paired::variance(&logs)? / n).sqrt();
    let centre = crate::paired::mean(&logs)?;
    Some((centre.exp(), Interval::from_log(0.0, half)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_width_decides_not_where_the_interval_lies() {
        let near = Interval {
            low: 1.0 / 1.04,
            high: 1.04,
        };
        let far = Interval {
            low: 3.0 / 1.04,
            high: 3.0 * 1.04,
        };
        assert_eq!(enough(&[Some(near)], 0.05, 5), Enough::Yes);
        assert_eq!(enough(&[Some(far)], 0.05, 5), Enough::Yes);
        assert!(matches!(
            enough(&[Some(far)], 0.03, 5),
            Enough::No { more: Some(4), .. }
        ));
    }

    #[test]
    fn a_missing_interval_or_none_at_all_is_never_enough() {
        let narrow = Interval {
            low: 0.999,
            high: 1.001,
        };
        let no = Enough::No {
            widest: None,
            more: None,
        };
        assert_eq!(enough(&[Some(narrow), None], 0.05, 5), no);
        assert_eq!(enough(&[], 0.05, 5), no);
        assert!(matches!(
            enough(&[Some(narrow)], 0.05, 2),
            Enough::No { .. }
        ));
        assert!(matches!(
            enough(&[Some(narrow)], 0.0, 5),
            Enough::No { more: None, .. }
        ));
    }

    #[test]
    fn a_level_has_an_interval_from_three_blocks_on() {
        assert_eq!(level(&[1.0, 2.0]), None);
        assert_eq!(level(&[1.0, 2.0, 0.0]), None);
        let (centre, interval) = level(&[90.0, 100.0, 111.0]).unwrap();
        assert!((centre - 99.97).abs() < 0.01, "{centre}");
        // 4.303 × sd of logs (0.10486) / √3.
        assert!((interval.half_width() - (4.3027 * 0.104_86 / 3f64.sqrt()).exp_m1()).abs() < 1e-3);
    }
}
