//! Latency histograms in nanoseconds that keep count of censored observations.

use hdrhistogram::Histogram;

/// A quantile is given only when at least this many observations lie beyond it.
pub const BEYOND_MIN: u64 = 10;

/// Upper limit of a histogram's count: every count is exact in JSON and as a double.
pub const COUNT_MAX: u64 = 1 << 53;

/// The values a histogram can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Lowest discernible value (as in HdrHistogram): smaller ones share its bucket. At least 1.
    pub lowest_ns: u64,
    /// Largest value; larger ones are counted as out of range.
    pub highest_ns: u64,
}

impl Default for Range {
    /// 1 ns … 1 hour.
    fn default() -> Self {
        Self {
            lowest_ns: 1,
            highest_ns: 3_600_000_000_000,
        }
    }
}

/// A quantile, if there are enough observations for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantile {
    /// The value, to the histogram's three digits.
    Exact(u64),
    /// A lower bound: the quantile lies among censored observations.
    Above(u64),
    /// Fewer than ten observations lie beyond it.
    TooFew,
}

/// A point of the percentile curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantilePoint {
    /// The quantile, 0.5 … 1; the last point, 1, is the maximum.
    pub quantile: f64,
    /// Its value; never [`Quantile::TooFew`].
    pub value: Quantile,
}

/// Why two histograms do not merge, or one cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LatenciesError {
    /// The range is empty or starts at 0.
    #[error(
        "no histogram from {lowest_ns} to {highest_ns} ns: the lowest value must be at least 1 and the highest at least twice that"
    )]
    Range {
        /// Lowest value given.
        lowest_ns: u64,
        /// Highest value given.
        highest_ns: u64,
    },
    /// Merging would round or clip.
    #[error(
        "histograms of different range or precision do not merge exactly: record them with the same settings"
    )]
    Shape,
    /// More than [`COUNT_MAX`] observations.
    #[error("more than 2^53 observations: split the log")]
    Count,
}

/// A histogram of latencies (HdrHistogram, three digits) that tracks censored observations.
///
/// An observation is *censored* if it is known only to be larger than its recorded value: unfinished exchanges, recorded at
/// their age when the drain ended, and values out of range, recorded at the top of the range. Both are in the count. A
/// quantile below the smallest censored value is exact; one at or above it is a lower bound.
#[derive(Debug, Clone)]
pub struct Latencies {
    histogram: Histogram<u64>,
    out_of_range: u64,
    unfinished: u64,
    /// The smallest age among the unfinished; undefined while there is none.
    youngest_ns: u64,
}

impl Latencies {
    /// Significant decimal digits kept.
    pub const DIGITS: u8 = 3;

    /// The largest relative step between neighbouring values (2048 sub-buckets, half of them in use).
    pub const RESOLUTION: f64 = 1.0 / 1024.0;

    /// An empty histogram.
    ///
    /// # Errors
    /// When the range is empty.
    pub fn new(range: Range) -> Result<Self, LatenciesError> {
        let Range {
            lowest_ns,
            highest_ns,
        } = range;
        Histogram::new_with_bounds(lowest_ns, highest_ns, Self::DIGITS)
            .map(|histogram| Self::from_parts(histogram, Censored::default()))
            .map_err(|_| LatenciesError::Range {
                lowest_ns,
                highest_ns,
            })
    }

    pub(crate) fn from_parts(histogram: Histogram<u64>, censored: Censored) -> Self {
        Self {
            histogram,
            out_of_range: censored.out_of_range,
            unfinished: censored.unfinished,
            youngest_ns: censored.youngest_ns,
        }
    }

    /// Records a finished exchange: an array increment, without allocation.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        if value_ns > self.histogram.high() {
            self.out_of_range += 1;
        }
        self.histogram.saturating_record(value_ns);
    }

    /// Records `count` finished exchanges of one value.
    pub fn record_many(&mut self, value_ns: u64, count: u64) {
        if value_ns > self.histogram.high() {
            self.out_of_range += count;
        }
        self.histogram.saturating_record_n(value_ns, count);
    }

    /// Records an unfinished exchange at its age.
    pub fn record_unfinished(&mut self, age_ns: u64) {
        self.record_many_unfinished(age_ns, 1);
    }

    /// Records `count` unfinished exchanges of one age.
    pub fn record_many_unfinished(&mut self, age_ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        let age_ns = age_ns.min(self.histogram.high());
        self.youngest_ns = if self.unfinished == 0 {
            age_ns
        } else {
            self.youngest_ns.min(age_ns)
        };
        self.unfinished += count;
        self.histogram.saturating_record_n(age_ns, count);
    }

    /// Adds the observations of another histogram; the result is the same as if all had been recorded here.
    ///
    /// # Errors
    /// When range or precision differ, or the count would exceed [`COUNT_MAX`]; nothing is added then.
    pub fn merge(&mut self, other: &Self) -> Result<(), LatenciesError> {
        self.check_merge(other.shape(), other.count())?;
        self.histogram
            .add(&other.histogram)
            .map_err(|_| LatenciesError::Shape)?;
        self.add_censored(other.censored());
        Ok(())
    }

    /// The same observations without the empty buckets.
    #[must_use]
    pub fn sparse(&self) -> SparseHistogram {
        SparseHistogram {
            shape: self.shape(),
            buckets: self.buckets().map(|(low, _, count)| (low, count)).collect(),
            censored: self.censored(),
        }
    }

    /// Adds the observations of a sparse histogram.
    ///
    /// # Errors
    /// As for [`Latencies::merge`].
    pub fn merge_sparse(&mut self, other: &SparseHistogram) -> Result<(), LatenciesError> {
        let count = other.buckets.iter().map(|(_, count)| count).sum();
        self.check_merge(other.shape, count)?;
        for &(value_ns, count) in &other.buckets {
            self.histogram.saturating_record_n(value_ns, count);
        }
        self.add_censored(other.censored);
        Ok(())
    }

    fn check_merge(&self, shape: Shape, count: u64) -> Result<(), LatenciesError> {
        if self.shape() != shape {
            return Err(LatenciesError::Shape);
        }
        if self.count().saturating_add(count) > COUNT_MAX {
            return Err(LatenciesError::Count);
        }
        Ok(())
    }

    fn shape(&self) -> Shape {
        let histogram = &self.histogram;
        (histogram.low(), histogram.high(), histogram.sigfig())
    }

    fn censored(&self) -> Censored {
        Censored {
            out_of_range: self.out_of_range,
            unfinished: self.unfinished,
            youngest_ns: self.youngest_ns,
        }
    }

    fn add_censored(&mut self, other: Censored) {
        if other.unfinished > 0 {
            self.youngest_ns = if self.unfinished == 0 {
                other.youngest_ns
            } else {
                self.youngest_ns.min(other.youngest_ns)
            };
        }
        self.unfinished += other.unfinished;
        self.out_of_range += other.out_of_range;
    }

    /// Removes all observations and keeps the allocation.
    pub fn clear(&mut self) {
        self.histogram.reset();
        (self.out_of_range, self.unfinished, self.youngest_ns) = (0, 0, 0);
    }

    /// Number of observations, censored ones included.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// Number of observations out of range.
    #[must_use]
    pub fn out_of_range(&self) -> u64 {
        self.out_of_range
    }

    /// Number of unfinished observations.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// The smallest age among the unfinished.
    #[must_use]
    pub fn youngest_unfinished_ns(&self) -> Option<u64> {
        (self.unfinished > 0).then_some(self.youngest_ns)
    }

    /// The smallest observation, to three digits.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.histogram.min())
    }

    /// The largest observation, to three digits, or a lower bound if it is censored; `None` when empty.
    #[must_use]
    pub fn max(&self) -> Option<Quantile> {
        (!self.is_empty()).then(|| self.bounded(self.histogram.max()))
    }

    /// The mean, to three digits; a lower bound when observations are censored.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.histogram.mean())
    }

    /// The smallest value that at least the share `q` of the observations do not exceed.
    ///
    /// At least [`BEYOND_MIN`] observations must lie beyond it, in the nearer tail: above for `q` ≥ 0.5, below otherwise.
    /// The value is the upper end of its bucket, as in every HdrHistogram tool; a bound is the lower end ("more than").
    #[must_use]
    pub fn quantile(&self, q: f64) -> Quantile {
        let count = self.count();
        if count == 0 || !(0.0..=1.0).contains(&q) {
            return Quantile::TooFew;
        }
        let rank = rank(q, count);
        let beyond = if q >= 0.5 { count - rank } else { rank - 1 };
        if beyond < BEYOND_MIN {
            return Quantile::TooFew;
        }
        self.bounded(self.at_rank(rank))
    }

    /// The percentile curve from the median up: `steps_per_halving` points each time the share beyond halves, as long
    /// as ten observations lie beyond, then the maximum. Empty for an empty histogram.
    #[must_use]
    pub fn curve(&self, steps_per_halving: u32) -> Vec<QuantilePoint> {
        let steps = f64::from(steps_per_halving.clamp(1, 100));
        let mut points = Vec::new();
        // 53 halvings reach 1 in doubles; the counts end long before.
        for step in 0..(53 * steps as u32) {
            let quantile = 1.0 - 0.5 * (-f64::from(step) / steps).exp2();
            match self.quantile(quantile) {
                Quantile::TooFew => break,
                value => points.push(QuantilePoint { quantile, value }),
            }
        }
        points.extend(self.max().map(|value| QuantilePoint {
            quantile: 1.0,
            value,
        }));
        points
    }

    /// The occupied buckets: lowest value, highest value (both included) and count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let histogram = &self.histogram;
        histogram.iter_recorded().map(|step| {
            let value = step.value_iterated_to();
            (
                histogram.lowest_equivalent(value),
                histogram.highest_equivalent(value),
                step.count_at_value(),
            )
        })
    }

    pub(crate) fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// The value at a rank, from 1; the offset of one half keeps the division from rounding to a neighbour.
    fn at_rank(&self, rank: u64) -> u64 {
        self.histogram
            .value_at_quantile((rank as f64 - 0.5) / self.count() as f64)
    }

    fn bounded(&self, value_ns: u64) -> Quantile {
        let top = (self.out_of_range > 0).then_some(self.histogram.high());
        let smallest_censored = match (self.youngest_unfinished_ns(), top) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let bound = self.histogram.lowest_equivalent(value_ns);
        match smallest_censored {
            Some(censored) if self.histogram.lowest_equivalent(censored) <= bound => {
                Quantile::Above(bound)
            }
            _ => Quantile::Exact(value_ns),
        }
    }
}

impl PartialEq for Latencies {
    fn eq(&self, other: &Self) -> bool {
        self.histogram == other.histogram
            && self.out_of_range == other.out_of_range
            && self.unfinished == other.unfinished
            && self.youngest_unfinished_ns() == other.youngest_unfinished_ns()
    }
}

/// Lowest and highest value, and digits: two histograms merge exactly if these are equal.
type Shape = (u64, u64, u8);

/// A histogram without its empty buckets: few observations take some bytes instead of hundreds of kilobytes.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseHistogram {
    shape: Shape,
    /// Lowest value and count.
    buckets: Vec<(u64, u64)>,
    censored: Censored,
}

impl SparseHistogram {
    /// Number of occupied buckets.
    #[must_use]
    pub fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Number of observations, censored ones included.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// The same observations with all buckets.
    ///
    /// # Errors
    /// Never: its range is that of a histogram.
    pub fn latencies(&self) -> Result<Latencies, LatenciesError> {
        let (lowest_ns, highest_ns, _) = self.shape;
        let mut all = Latencies::new(Range {
            lowest_ns,
            highest_ns,
        })?;
        all.merge_sparse(self)?;
        Ok(all)
    }
}

/// Counts of censored observations, and the smallest age among the unfinished.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Censored {
    pub out_of_range: u64,
    pub unfinished: u64,
    pub youngest_ns: u64,
}

/// ⌈q·count⌉, at least 1, where rounding in `q` (0.07 × 100 = 7.000000000000001) does not add one.
fn rank(q: f64, count: u64) -> u64 {
    let exact = q * count as f64;
    let rank = (exact - exact * 4.0 * f64::EPSILON).ceil() as u64;
    rank.clamp(1, count)
}

#[cfg(test)]
mod tests;
