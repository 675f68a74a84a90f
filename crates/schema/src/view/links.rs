//! What lies between sites, and what crossed it: medians over the trials of a cell where nothing else is said.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The distance between two sites, as it was asked for and as it was found before the first block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DistanceView {
    /// `east-west`.
    pub link: String,
    /// What was asked for, in words.
    pub asked: String,
    /// Round trip asked for, without jitter.
    pub asked_ns: u64,
    /// Half of the round trips were shorter.
    pub p50_ns: Option<u64>,
    /// One in a hundred was longer.
    pub p99_ns: Option<u64>,
    /// What was asked for and what was found as people read it: asked, median, p99, answered; `–` where it is not known.
    pub texts: Vec<String>,
}

/// What crossed one way of a link between two sites.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WayView {
    /// Site that sent.
    pub from: String,
    /// Site that was sent to.
    pub to: String,
    /// Packets handed over at the other end per 1000 exchanges, as they would be on a wire.
    pub packets_per_1000: Option<f64>,
    /// Bytes of them per exchange, IP headers included.
    pub bytes_per_exchange: Option<f64>,
    /// Share of the packets that entered which were lost as asked for.
    pub lost_share: Option<f64>,
    /// Packets that found the queue before the rate asked for full, in a window.
    pub queue_full_packets: Option<f64>,
    /// Packets dropped for want of a buffer or by the kernel, which nobody asked for: of the worst trial.
    pub unasked_packets: Option<u64>,
    /// Writes over 200 µs late in a window: the distance was longer than asked for.
    pub late_pieces: Option<f64>,
    /// The figures as people read them, in this order; `–` where they are not known.
    pub texts: Vec<String>,
}
