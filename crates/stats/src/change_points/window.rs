//! The weak change points: splits inside sliding windows.

use super::Options;
use super::segments::{Moments, p_value};

/// The indices of all weak change points, ascending and unique.
pub(super) fn splits(values: &[f64], options: &Options) -> Vec<usize> {
    let mut found = Vec::new();
    let mut start = 0;
    while start < values.len() {
        let end = values.len().min(start + options.window);
        let here = splits_of(&values[start..end], options);
        let last = here.last().map_or(0, |last| start + last);
        found.extend(here.into_iter().map(|split| start + split));
        // Overlapping, so that a change next to a window's end is well inside another.
        start = last.max(start + options.window / 2);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Splits one window at its best place, and again, until the best place of all parts is not significant.
fn splits_of(values: &[f64], options: &Options) -> Vec<usize> {
    let (distances, min) = (Distances::of(values), options.min_segment);
    let mut bounds = vec![0, values.len()];
    let mut best: Vec<Option<Split>> = vec![distances.best_split(0, values.len(), min)];
    // The part with the largest statistic; of equal ones the first.
    while let Some((part, split)) = best
        .iter()
        .enumerate()
        .filter_map(|(part, split)| Some((part, (*split)?)))
        .reduce(|a, b| if b.1.statistic > a.1.statistic { b } else { a })
    {
        let (low, high) = (bounds[part], bounds[part + 1]);
        let before = Moments::of(&values[low..split.at]);
        let after = Moments::of(&values[split.at..high]);
        if p_value(&before, &after) > options.weak_p() {
            break;
        }
        bounds.insert(part + 1, split.at);
        best[part] = distances.best_split(low, split.at, min);
        best.insert(part + 1, distances.best_split(split.at, high, min));
    }
    bounds[1..bounds.len() - 1].to_vec()
}

/// A possible change point.
#[derive(Clone, Copy)]
struct Split {
    /// The first value after it.
    at: usize,
    /// The energy statistic.
    statistic: f64,
}

/// For all ranges of a window the sum of the distances between its values.
struct Distances {
    len: usize,
    /// At `a × (len + 1) + b` the sum of |xᵢ − xⱼ| over a ≤ i < j < b.
    within: Vec<f64>,
}

impl Distances {
    fn of(values: &[f64]) -> Self {
        let len = values.len();
        let mut within = vec![0.0; (len + 1) * (len + 1)];
        for b in 1..=len {
            let mut to_last = 0.0;
            for a in (0..b).rev() {
                to_last += (values[a] - values[b - 1]).abs();
                within[a * (len + 1) + b] = within[a * (len + 1) + b - 1] + to_last;
            }
        }
        Self { len, within }
    }

    fn within(&self, a: usize, b: usize) -> f64 {
        self.within[a * (self.len + 1) + b]
    }

    /// The split of `low..high` with the largest statistic (Matteson and James, equation 7); of equal ones the first.
    ///
    /// The second part may end before `high`: otherwise a change would hide behind a later one in the other direction.
    fn best_split(&self, low: usize, high: usize, min: usize) -> Option<Split> {
        let mut best: Option<Split> = None;
        for at in low + min..=high.saturating_sub(min) {
            let n = (at - low) as f64;
            let left = self.within(low, at);
            // 0 pairs: 0 / 0 would not be a number.
            let left_mean = if at - low > 1 { left / (n - 1.0) } else { 0.0 };
            for end in at + min..=high {
                let m = (end - at) as f64;
                let right = self.within(at, end);
                let right_mean = if end - at > 1 { right / (m - 1.0) } else { 0.0 };
                let across = self.within(low, end) - left - right;
                let statistic = 2.0 / (n + m) * (across - m * left_mean - n * right_mean);
                if best.is_none_or(|best| statistic > best.statistic) {
                    best = Some(Split { at, statistic });
                }
            }
        }
        best
    }
}
