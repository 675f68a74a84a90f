//! Resolved links between sites, a part of plans.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{BitRate, Period, Share};

/// A link between two sites, the same in both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteLink {
    /// Names of the two sites, sorted.
    pub between: [String; 2],
    /// Delay of each direction: half of the round-trip time.
    pub one_way_ns: u64,
    /// Jitter: the delay varies by up to this, up and down.
    pub jitter_ns: u64,
    /// Rate of each direction, bits of IP packets per second; `None`: no limit.
    pub rate_bits_per_s: Option<u64>,
    /// Queue at that rate, in bytes; 0 without a rate.
    pub queue_bytes: u64,
    /// Share of packets lost in each direction (0 to 1).
    pub loss: f64,
}

impl SiteLink {
    /// Name of the link, `east-west`.
    #[must_use]
    pub fn name(&self) -> String {
        self.between.join("-")
    }

    /// Description: `east–west 24ms, 1Gbit/s, 0.1% lost`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let [one, other] = &self.between;
        let period = |ns| Period(Duration::from_nanos(ns));
        let mut words = format!("{one}–{other} {}", period(self.round_trip_ns()));
        if self.jitter_ns > 0 {
            words += &format!(" ± {} each way", period(self.jitter_ns));
        }
        if let Some(rate) = self.rate_bits_per_s {
            words += &format!(", {}", BitRate(rate));
        }
        if self.loss > 0.0 {
            words += &format!(", {} lost", Share(self.loss));
        }
        words
    }

    /// Round-trip time without jitter.
    #[must_use]
    pub fn round_trip_ns(&self) -> u64 {
        self.one_way_ns.saturating_mul(2)
    }
}
