//! When exchanges start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When exchanges start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pacing {
    /// Open loop at a constant rate: start times are fixed in advance.
    Constant {
        /// Exchanges per second over all workers.
        rate_per_s: f64,
    },
    /// Closed loop: each client starts its next exchange when the last one ended.
    Closed {
        /// Clients, each with at most one exchange under way.
        clients: u32,
        /// Pause of a client between an answer and its next request.
        think_ns: u64,
    },
    /// As fast as the connections carry it.
    Max,
}
