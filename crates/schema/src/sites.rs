//! What is between two sites, resolved: part of a plan.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{BitRate, Period, Share};

/// What is between two sites, both ways alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteLink {
    /// The two sites.
    pub between: [String; 2],
    /// Delay of each way: half the round trip.
    pub one_way_ns: u64,
    /// It differs by up to this to either side.
    pub jitter_ns: u64,
    /// Bits of IP packets per second; `None`: no limit.
    pub rate_bits_per_s: Option<u64>,
    /// What may wait for its turn at that rate; 0 without a rate.
    pub queue_bytes: u64,
    /// Share of packets lost on each way.
    pub loss: f64,
}

impl SiteLink {
    /// `east-west`.
    #[must_use]
    pub fn name(&self) -> String {
        self.between.join("-")
    }

    /// In words: `east–west 24ms, 1Gbit/s, 0.1% lost`.
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

    /// There and back again, without jitter.
    #[must_use]
    pub fn round_trip_ns(&self) -> u64 {
        self.one_way_ns.saturating_mul(2)
    }
}
