//! Sparse histograms: only buckets that occurred.

use crate::tally::value_of;

/// Least observations beyond a quantile, as everywhere.
use tare_stats::BEYOND_MIN;

/// Buckets in order, with their counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SparseCounts {
    counts: Vec<(u16, u64)>,
}

impl SparseCounts {
    /// Adds counts that are sorted by bucket.
    pub fn add_sorted(&mut self, other: &[(u16, u64)]) {
        if self.counts.is_empty() {
            self.counts.extend_from_slice(other);
            return;
        }
        let mine = std::mem::take(&mut self.counts);
        self.counts.reserve(mine.len() + other.len());
        let (mut a, mut b) = (mine.iter().peekable(), other.iter().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (None, None) => return,
                (Some(_), None) => a.next(),
                (None, Some(_)) => b.next(),
                (Some(x), Some(y)) if x.0 < y.0 => a.next(),
                (Some(x), Some(y)) if x.0 > y.0 => b.next(),
                (Some(x), Some(y)) => {
                    self.counts.push((x.0, x.1 + y.1));
                    a.next();
                    b.next();
                    continue;
                }
            };
            self.counts.extend(next);
        }
    }

    /// Bucket and count, in order.
    #[must_use]
    pub fn counts(&self) -> &[(u16, u64)] {
        &self.counts
    }

    /// Number of observations.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&(_, count)| count).sum()
    }

    /// A quantile, if at least ten observations lie beyond it.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let total = self.total();
        let rank = ((q * total as f64).ceil() as u64).max(1);
        if total < rank + BEYOND_MIN {
            return None;
        }
        let mut below = 0;
        self.counts.iter().find_map(|&(bucket, count)| {
            below += count;
            (below >= rank).then(|| value_of(bucket))
        })
    }

    /// The largest observation, to three digits.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        self.counts.last().map(|&(bucket, _)| value_of(bucket))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn counts() -> impl Strategy<Value = Vec<(u16, u64)>> {
        prop::collection::btree_map(0..50_u16, 1..20_u64, 0..40)
            .prop_map(|m| m.into_iter().collect())
    }

    proptest! {
        #[test]
        fn adding_is_adding_bucket_by_bucket(a in counts(), b in counts()) {
            let mut sum = SparseCounts::default();
            sum.add_sorted(&a);
            sum.add_sorted(&b);
            let mut expected = BTreeMap::new();
            for (bucket, count) in a.into_iter().chain(b) {
                *expected.entry(bucket).or_insert(0) += count;
            }
            prop_assert_eq!(sum.counts(), expected.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_quantile_needs_ten_observations_beyond_it() {
        let mut sparse = SparseCounts::default();
        sparse.add_sorted(&[(10, 990), (500, 9)]);
        assert_eq!(sparse.quantile_ns(0.99), None);
        assert_eq!(sparse.quantile_ns(0.5), Some(10));
        sparse.add_sorted(&[(600, 1)]);
        assert_eq!(sparse.quantile_ns(0.99), Some(10));
        assert_eq!(sparse.max_ns(), Some(600));
    }
}
