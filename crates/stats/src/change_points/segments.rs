//! The segments between change points, and the removal of points that are not significant or too small.

use super::{ChangePoint, Options};
use crate::distribution::student_cdf;
use crate::median;
use std::collections::{BTreeMap, BTreeSet};

/// Number, mean and sum of squared deviations of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub(super) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self {
            count,
            mean,
            squares,
        }
    }

    fn merged(&self, other: &Self) -> Self {
        let count = self.count + other.count;
        let apart = other.mean - self.mean;
        Self {
            count,
            mean: self.mean + apart * other.count / count,
            squares: self.squares
                + other.squares
                + apart * apart * self.count * other.count / count,
        }
    }
}

/// Student's two-sided test of equal means, with pooled variance; 1 where there is nothing to test.
pub(super) fn p_value(before: &Moments, after: &Moments) -> f64 {
    let degrees = before.count + after.count - 2.0;
    let apart = (after.mean - before.mean).abs();
    if degrees < 1.0 || apart == 0.0 {
        return 1.0;
    }
    let variance = (before.squares + after.squares) / degrees;
    let error = (variance * (1.0 / before.count + 1.0 / after.count)).sqrt();
    // Constant segments: the statistic is infinite and p is 0.
    2.0 * student_cdf(-apart / error, degrees)
}

/// The smallest share of a change of the mean that the median must show, on the log scale.
const MEDIAN_SHARE_MIN: f64 = 0.5;

/// Which point is removed first. The order of bits of floats that are not negative is their own.
type Weakness = (u8, u64, usize);

/// A series cut into segments.
pub(super) struct Segments {
    /// By the index of their first value.
    segments: BTreeMap<usize, Moments>,
}

impl Segments {
    /// Cuts a series at these indices, which are ascending and inside it.
    pub(super) fn new(values: &[f64], splits: &[usize]) -> Self {
        let starts = std::iter::once(0).chain(splits.iter().copied());
        let ends = splits.iter().copied().chain([values.len()]);
        let segments = starts
            .zip(ends)
            .map(|(start, end)| (start, Moments::of(&values[start..end])))
            .collect();
        Self { segments }
    }

    /// The change point at the start of a segment; none at the start of the series.
    fn change_point(&self, index: usize) -> Option<ChangePoint> {
        let (_, before) = self.segments.range(..index).next_back()?;
        let after = self.segments.get(&index)?;
        Some(ChangePoint {
            index,
            before: before.mean,
            after: after.mean,
            p: p_value(before, after),
        })
    }

    pub(super) fn change_points(&self) -> Vec<ChangePoint> {
        let starts = self.segments.keys();
        starts
            .filter_map(|&start| self.change_point(start))
            .collect()
    }

    /// Removes points one by one, the least significant first; when all are significant, the smallest change first.
    pub(super) fn remove_weak(&mut self, options: &Options) {
        let weakness = |point: ChangePoint| -> Option<Weakness> {
            let ratio = point.ratio();
            let change = ratio.max(1.0 / ratio) - 1.0;
            if point.p >= options.max_p {
                Some((0, !point.p.to_bits(), point.index))
            } else if change <= options.min_change {
                Some((1, change.to_bits(), point.index))
            } else {
                None
            }
        };
        let all = self.change_points();
        let mut weak: BTreeSet<Weakness> = all.into_iter().filter_map(weakness).collect();
        while let Some((_, _, index)) = weak.pop_first() {
            let next = self.segments.range(index + 1..).next().map(|(&at, _)| at);
            let previous = self.segments.range(..index).next_back().map(|(&at, _)| at);
            let neighbours = || [previous, next].into_iter().flatten();
            for known in neighbours().filter_map(|at| self.change_point(at)) {
                weakness(known).map(|known| weak.remove(&known));
            }
            self.remove(index);
            let changed = neighbours().filter_map(|at| self.change_point(at));
            weak.extend(changed.filter_map(weakness));
        }
    }

    /// Removes the points at which the mean changed and the median hardly did: that is an outlier in one of the segments.
    /// Says whether there were any.
    pub(super) fn remove_outliers(&mut self, values: &[f64]) -> bool {
        let points = self.change_points();
        let starts = self.segments.keys().copied();
        let bounds: Vec<usize> = starts.chain([values.len()]).collect();
        let medians: Vec<f64> = bounds
            .windows(2)
            .map(|bounds| median(&values[bounds[0]..bounds[1]]).unwrap_or(f64::NAN))
            .collect();
        let steps = points.iter().zip(medians.windows(2));
        let outliers = steps.filter(|(point, medians)| {
            let (mean, median) = (point.ratio().ln(), (medians[1] / medians[0]).ln());
            median * mean.signum() < MEDIAN_SHARE_MIN * mean.abs()
        });
        let outliers: Vec<usize> = outliers.map(|(point, _)| point.index).collect();
        outliers.iter().for_each(|&index| self.remove(index));
        !outliers.is_empty()
    }

    /// Joins the segment that starts here to the one before it.
    fn remove(&mut self, index: usize) {
        if let Some(removed) = self.segments.remove(&index)
            && let Some((_, before)) = self.segments.range_mut(..index).next_back()
        {
            *before = before.merged(&removed);
        }
    }
}
