//! The search for the highest rate that meets an objective, and the curve of latency over load.
//!
//! Everything here is pure: results of probes in, the next rate or a drawing out. The caller generates the load.

pub mod condition;
pub mod curve;
pub mod objective;
pub mod search;
