//! Histograms, quantiles and comparisons: all statistics of Tare. Nothing is measured here.
//!
//! Pure: no clock, no files, no randomness without a seed. The same records give the same figures on every machine.
//!
//! - [`Latencies`] and [`hlog`]: latency histograms in memory and on disk.
//! - [`paired`]: the arms of a run against their baseline, within blocks; [`unpaired`]: two runs.
//! - [`sessions`]: one new session against earlier ones.
//! - [`change_points`]: when a series of runs changed.
//! - [`outcome`]: the decision: differs, same, undecided, or too few blocks.
//! - [`power`]: the smallest difference that a planned run detects; [`stopping`]: when a run may stop.
//! - [`random`]: the seeded generator that orders the blocks.
//! - [`outliers`]: a published outlier rule, to reproduce studies; [`knee`]: whether a level lies beyond the knee.
//! - [`waterfall`]: the difference between two arms as a sum over the arms between them.
//! - [`distribution`]: the functions underneath, tested against SciPy.

pub mod change_points;
pub mod distribution;
pub mod hlog;
mod interval;
pub mod knee;
mod latencies;
pub mod outcome;
pub mod outliers;
pub mod paired;
pub mod power;
pub mod random;
pub mod sessions;
pub mod stopping;
pub mod unpaired;
pub mod waterfall;

pub use interval::{Difference, RatioInterval};
pub use latencies::{
    BEYOND_MIN, COUNT_MAX, Latencies, LatenciesError, Quantile, QuantilePoint, Range,
    SparseHistogram,
};
pub use paired::median;
