//! Network traffic of pods and resource usage of the machine, medians over the trials of a cell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Network traffic between a pod and other pods.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PodView {
    /// Pod.
    pub pod: String,
    /// Packets received per 1000 exchanges.
    pub packets_in_per_1000: Option<f64>,
    /// Packets sent per 1000 exchanges.
    pub packets_out_per_1000: Option<f64>,
    /// Bytes received per exchange, headers included.
    pub bytes_in_per_exchange: Option<f64>,
    /// Bytes sent per exchange, headers included.
    pub bytes_out_per_exchange: Option<f64>,
    /// TCP connections opened and accepted per window.
    pub tcp_connections: Option<f64>,
    /// TCP segments retransmitted per window.
    pub tcp_retransmits: Option<f64>,
    /// Columns as texts, in this order; `–` where unknown.
    pub texts: Vec<String>,
}

/// Resource usage of the machine within the windows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MachineView {
    /// Share of all cores' time in softirq (receiving packets).
    pub softirq_share: Option<f64>,
    /// Share of all cores' time stolen by the hypervisor.
    pub steal_share: Option<f64>,
    /// Busy share of the parts' cores, background load and other arms included.
    pub part_cores_busy: Option<f64>,
    /// Share of the parts' cores used by background load; of all cores where agents have none of their own.
    pub background_part_share: Option<f64>,
    /// Share of the agents' cores used by background load.
    pub background_agent_share: Option<f64>,
    /// Share of the parts' cores used by instances of other arms; of all cores where agents have none of their own.
    pub other_arms_share: Option<f64>,
    /// Busy share of the busiest core.
    pub busiest_core: Option<f64>,
    /// Share of the window in which a part was throttled by a CPU limit, worst part.
    pub throttled_share: Option<f64>,
    /// Columns as texts, in this order; `–` where unknown.
    pub texts: Vec<String>,
}
