//! Links between sites and their traffic: medians over the trials of a cell, unless a field says otherwise.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link with its configured and its measured round-trip time, before the first block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkRttView {
    /// Name of the link, `east-west`.
    pub link: String,
    /// Configuration, as text.
    pub configured: String,
    /// Configured round-trip time, without jitter.
    pub configured_ns: u64,
    /// Median measured round-trip time.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the measured round-trip time.
    pub p99_ns: Option<u64>,
    /// Columns as texts: configured, median, p99, answered; `–` where unknown.
    pub texts: Vec<String>,
}

/// Traffic in one direction of a link.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkDirectionView {
    /// Sending site.
    pub from: String,
    /// Receiving site.
    pub to: String,
    /// Packets delivered per 1000 exchanges, in wire-size packets.
    pub packets_per_1000: Option<f64>,
    /// Bytes delivered per exchange, IP headers included.
    pub bytes_per_exchange: Option<f64>,
    /// Share of packets lost as configured.
    pub lost_share: Option<f64>,
    /// Packets dropped per window because the queue of the configured rate was full.
    pub queue_full_packets: Option<f64>,
    /// Drops beyond the configured loss (no buffer, kernel); maximum over trials.
    pub unintended_drops: Option<u64>,
    /// Writes more than 200 µs late per window: the delay was longer than configured.
    pub late_writes: Option<f64>,
    /// Columns as texts, in this order; `–` where unknown.
    pub texts: Vec<String>,
}
