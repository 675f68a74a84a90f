//! Histograms, quantiles and comparisons: everything Tare computes from what it measured, and nothing it measures.
//!
//! Pure: no clock, no files, no randomness without a seed. The same records give the same figures on every machine.
//!
//! - [`Latencies`] and [`hlog`]: what was observed, in memory and on disk.
//! - [`paired`]: the arms of a run against their baseline, within blocks; [`unpaired`]: two runs.
//! - [`outcome`]: differs, same, undecided, or no verdict.
//! - [`power`]: what a planned run can detect; [`enough`]: when a run may stop.
//! - [`random`]: the seeded generator that orders the blocks.
//! - [`outliers`], [`knee`]: a published rule for reproducing studies, and where a level of load lies.
//! - [`telescope`]: a sum taken apart into the steps of a sequence of arms.
//! - [`distribution`]: the functions underneath, tested against SciPy.

pub mod distribution;
pub mod enough;
pub mod hlog;
mod interval;
pub mod knee;
mod latencies;
pub mod outcome;
pub mod outliers;
pub mod paired;
pub mod power;
pub mod random;
pub mod telescope;
pub mod unpaired;

pub use interval::{Difference, Interval};
pub use latencies::{
    BEYOND_MIN, COUNT_MAX, CurvePoint, Latencies, LatenciesError, Quantile, Range, Sparse,
};
