//! What passed through pods and what the machine did meanwhile, medians over the trials of a cell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What passed through the network of a pod, from or to other pods.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PodView {
    /// Pod.
    pub pod: String,
    /// Packets that came in per 1000 exchanges.
    pub packets_in_per_1000: Option<f64>,
    /// Packets that went out per 1000 exchanges.
    pub packets_out_per_1000: Option<f64>,
    /// Bytes that came in per exchange, headers included.
    pub bytes_in_per_exchange: Option<f64>,
    /// Bytes that went out per exchange, headers included.
    pub bytes_out_per_exchange: Option<f64>,
    /// TCP connections opened and accepted in a window.
    pub tcp_connections: Option<f64>,
    /// TCP segments sent again in a window.
    pub tcp_retransmits: Option<f64>,
    /// The figures as people read them, in this order; `–` where they are not known.
    pub texts: Vec<String>,
}

/// What the machine as a whole did within the windows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MachineView {
    /// Share of all cores' time that went into receiving packets (softirq).
    pub softirq_share: Option<f64>,
    /// Share of all cores' time that the hypervisor took.
    pub steal_share: Option<f64>,
    /// Busy share of the parts' cores, other programs included.
    pub part_cores_busy: Option<f64>,
    /// Share of the parts' cores that other programs used; of all cores where the agents have none of their own.
    pub foreign_part_share: Option<f64>,
    /// Share of the agents' cores that other programs used.
    pub foreign_agent_share: Option<f64>,
    /// Busy share of the busiest core.
    pub busiest_core: Option<f64>,
    /// Share of the window in which a limit held a part back, the worst part's.
    pub throttled_share: Option<f64>,
    /// The figures as people read them, in this order; `–` where they are not known.
    pub texts: Vec<String>,
}
