//! Outlier rules of published studies, to reproduce them: never the default.
//!
//! Without such a rule no trial is excluded for its result, only for a reason that was fixed before (unfit, invalid, failed).

/// Which blocks are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutlierRule {
    /// None: the default.
    #[default]
    KeepAll,
    /// The given number of blocks with the largest maximum of the baseline, in all arms.
    DropWorstByBaselineMaximum(usize),
}

impl OutlierRule {
    /// Its name in experiments and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KeepAll => "keep-all",
            Self::DropWorstByBaselineMaximum(_) => "drop-worst-by-baseline-maximum",
        }
    }

    /// The indices of the blocks to drop, ascending, given each block's baseline maximum.
    ///
    /// Among equal maxima the earlier block is dropped first; a block without a baseline is never dropped by this rule (it
    /// has no pairs anyway).
    #[must_use]
    pub fn dropped(self, baseline_maxima: &[Option<f64>]) -> Vec<usize> {
        let Self::DropWorstByBaselineMaximum(count) = self else {
            return Vec::new();
        };
        let mut seen: Vec<(usize, f64)> = baseline_maxima
            .iter()
            .enumerate()
            .filter_map(|(block, maximum)| Some((block, (*maximum)?)))
            .collect();
        seen.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut dropped: Vec<usize> = seen
            .into_iter()
            .take(count)
            .map(|(block, _)| block)
            .collect();
        dropped.sort_unstable();
        dropped
    }
}

/// Mean and standard deviation (n − 1); `None` with fewer than two values.
#[must_use]
pub fn mean_and_deviation(values: &[f64]) -> Option<(f64, f64)> {
    crate::paired::mean(values).zip(crate::paired::variance(values).map(f64::sqrt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_dropped_unless_asked_for() {
        assert_eq!(OutlierRule::default().dropped(&[Some(1.0), Some(99.0)]), []);
    }

    #[test]
    fn the_blocks_with_the_worst_baseline_go() {
        let maxima = [Some(3.0), None, Some(9.0), Some(1.0), Some(9.0)];
        let drop = |k| OutlierRule::DropWorstByBaselineMaximum(k).dropped(&maxima);
        assert_eq!(drop(0), []);
        assert_eq!(drop(1), [2]);
        assert_eq!(drop(3), [0, 2, 4]);
        assert_eq!(drop(9), [0, 2, 3, 4]);
    }

    #[test]
    fn deviation_divides_by_one_less() {
        assert_eq!(mean_and_deviation(&[2.0, 4.0, 6.0]), Some((4.0, 2.0)));
        assert_eq!(mean_and_deviation(&[2.0]), None);
    }
}
