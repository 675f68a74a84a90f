//! Outlier rules of published studies, to reproduce them: never the default.
//!
//! Without such a rule no trial is excluded for its result, only for a reason that was fixed before (unfit, invalid, failed).

/// The indices of the `count` blocks with the largest maximum of the baseline, ascending, given each block's.
///
/// Among equal maxima the earlier block comes first; a block without a baseline is never among them (it has no pairs anyway).
#[must_use]
pub fn worst_by_baseline_maximum(count: usize, baseline_maxima: &[Option<f64>]) -> Vec<usize> {
    let mut seen: Vec<(usize, f64)> = baseline_maxima
        .iter()
        .enumerate()
        .filter_map(|(block, maximum)| Some((block, (*maximum)?)))
        .collect();
    seen.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let worst = seen.into_iter().take(count);
    let mut worst: Vec<usize> = worst.map(|(block, _)| block).collect();
    worst.sort_unstable();
    worst
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
        assert_eq!(worst_by_baseline_maximum(0, &[Some(1.0), Some(99.0)]), []);
    }

    #[test]
    fn the_blocks_with_the_worst_baseline_go() {
        let maxima = [Some(3.0), None, Some(9.0), Some(1.0), Some(9.0)];
        let drop = |k| worst_by_baseline_maximum(k, &maxima);
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
