//! Profiles: stacks of an instance, sampled over a window that is not judged. `profiles/NNNN.json` of a run.

use std::collections::BTreeMap;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// Folder of the profiles in a run's folder.
pub const PROFILES: &str = "profiles";

/// Stacks of one instance in one cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Name of the arm.
    pub arm: String,
    /// Name of the level.
    pub level: String,
    /// Name of the instance.
    pub instance: String,
    /// Target with version, `envoy 1.40.0`.
    pub software: String,
    /// Length of the window.
    pub window_ns: u64,
    /// Samples per second of CPU time.
    pub hertz: u32,
    /// Number of samples.
    pub samples: u64,
    /// Samples by stack: functions from the outermost to the innermost, separated by `;`. A function of the kernel ends in `_[k]`.
    pub stacks: BTreeMap<String, u64>,
}
