//! Experiments: the definitions of experiments, workloads and targets, read from YAML, checked with places, and resolved into plans.
//!
//! The crate reads files and computes plans and estimates; it starts and measures nothing.

pub mod benchmarks;
pub mod catalog;
pub mod clusters;
pub mod def;
pub mod document;
pub mod estimate;
pub mod find;
pub mod formats;
pub mod problem;
pub mod resolve;
pub mod script;
pub mod sizing;
pub mod structure;
pub mod suite;
pub mod target;
pub mod versions;
pub mod yaml;
