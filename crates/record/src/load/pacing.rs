//! Pacing of a load: when exchanges start.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Stop;
use super::profile::RateProfile;

/// Pacing: when exchanges start.
///
/// Open loops (all but `closed` and `max`) fix every start in advance, as a function of this plan, its seed and the number of
/// the exchange: neither responses nor the number of workers change it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pacing {
    /// Open loop at a constant rate.
    Constant {
        /// Exchanges per second, all workers together.
        rate_per_s: f64,
    },
    /// Open loop with exponential inter-arrival times (a Poisson process): many independent users.
    Poisson {
        /// Mean of exchanges per second, all workers together.
        rate_per_s: f64,
    },
    /// Open loop whose rate changes linearly and then stays. Warm-up has the first rate.
    Ramp {
        /// Exchanges per second at the start of the window.
        from_per_s: f64,
        /// Exchanges per second at the end of the ramp and from then on.
        to_per_s: f64,
        /// Duration of the ramp.
        ramp_ns: u64,
        /// Inter-arrival times at a given rate.
        #[serde(default)]
        interarrival: Interarrival,
    },
    /// Open loop at one rate after the other; the last one stays. Warm-up has the first rate.
    Steps {
        /// The rates, at least one.
        steps: Vec<RateStep>,
        /// Inter-arrival times at a given rate.
        #[serde(default)]
        interarrival: Interarrival,
    },
    /// Open loop that replays recorded starts, from the start of the warm-up on.
    Replay {
        /// Path of the recording.
        file: String,
        /// Speed: 2 is twice as fast as recorded.
        speed: f64,
        /// What follows the last recorded start.
        at_end: AtEnd,
        /// Which of the starts this agent takes.
        shard: Shard,
    },
    /// Closed loop: each client starts its next exchange when its last one ended.
    Closed {
        /// Clients, each with at most one exchange in flight.
        clients: u32,
        /// Mean thinking time of a client between a response and its next request.
        think_time_ns: u64,
        /// Distribution of thinking times.
        #[serde(default)]
        think_distribution: ThinkDistribution,
    },
    /// As fast as the connections allow.
    Max,
}

/// Distribution of inter-arrival times at a given rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interarrival {
    /// Constant.
    #[default]
    Constant,
    /// Exponential: a Poisson process.
    Exponential,
}

/// A rate for some time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Exchanges per second, all workers together; 0 is a pause.
    pub rate_per_s: f64,
    /// How long the rate is held.
    pub length_ns: u64,
}

/// What follows the last start of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtEnd {
    /// Nothing: the window ends with the recording.
    Stop,
    /// The recording again, one mean gap later.
    Repeat,
}

/// Share of one of several agents that replay a recording together: every `count`-th start, beginning with number `index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Number of agents.
    pub count: u32,
    /// Number of this agent, from 0.
    pub index: u32,
}

impl Shard {
    /// All starts, for a single agent.
    pub const ALL: Shard = Shard { count: 1, index: 0 };
}

/// Distribution of the thinking times of a closed loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThinkDistribution {
    /// Constant.
    #[default]
    None,
    /// Uniform, from 0 to twice the mean.
    Uniform,
    /// Exponential.
    Exponential,
}

impl Pacing {
    /// Rate over time, where the plan fixes one; `None` for recordings, closed loops and maximum rate.
    #[must_use]
    pub fn profile(&self, warmup_ns: u64) -> Option<RateProfile> {
        match self {
            Pacing::Constant { rate_per_s } | Pacing::Poisson { rate_per_s } => {
                Some(RateProfile::steady(*rate_per_s))
            }
            Pacing::Ramp {
                from_per_s,
                to_per_s,
                ramp_ns,
                ..
            } => Some(
                RateProfile::steady(*from_per_s)
                    .hold(warmup_ns)
                    .ramp(*to_per_s, *ramp_ns),
            ),
            Pacing::Steps { steps, .. } => {
                let first = steps.first().map_or(0.0, |step| step.rate_per_s);
                let warm = RateProfile::steady(first).hold(warmup_ns);
                Some(steps.iter().fold(warm, |profile, step| {
                    profile.jump(step.rate_per_s).hold(step.length_ns)
                }))
            }
            Pacing::Replay { .. } | Pacing::Closed { .. } | Pacing::Max => None,
        }
    }

    /// Whether starts are fixed in advance, independent of responses.
    #[must_use]
    pub fn is_open_loop(&self) -> bool {
        !matches!(self, Pacing::Closed { .. } | Pacing::Max)
    }

    /// Length of the window, if the plan alone determines it.
    #[must_use]
    pub fn window_ns(&self, stop: Stop) -> Option<u64> {
        match stop {
            Stop::Duration { window_ns } => Some(window_ns),
            Stop::Count { exchanges } => {
                let end_ns = self.profile(0)?.time_of(exchanges as f64)?;
                Some(end_ns.round() as u64)
            }
            Stop::Interrupted => None,
        }
    }

    /// Mean rate of the window, if the plan alone determines it.
    #[must_use]
    pub fn planned_per_s(&self, stop: Stop) -> Option<f64> {
        let profile = self.profile(0)?;
        let window_ns = self.window_ns(stop).filter(|&window_ns| window_ns > 0)?;
        Some(profile.count_until(window_ns) * 1e9 / window_ns as f64)
    }

    /// Offered rate, given the starts intended in the window: as planned where it is constant, else as the schedule came out.
    /// `None` for closed loops and maximum rate, and for a window without length.
    #[must_use]
    pub fn offered_per_s(&self, intended: u64, window_ns: u64) -> Option<f64> {
        match self {
            Pacing::Constant { rate_per_s } => Some(*rate_per_s),
            Pacing::Closed { .. } | Pacing::Max => None,
            Pacing::Poisson { .. }
            | Pacing::Ramp { .. }
            | Pacing::Steps { .. }
            | Pacing::Replay { .. } => {
                (window_ns > 0).then(|| intended as f64 * 1e9 / window_ns as f64)
            }
        }
    }

    /// The share of one of several agents that generate this load together. It is exact for random gaps too: the superposition
    /// of independent Poisson processes is one.
    #[must_use]
    pub fn share(&self, shard: Shard) -> Pacing {
        let agents = shard.count.max(1);
        let parts = f64::from(agents);
        let mut own = self.clone();
        match &mut own {
            Pacing::Constant { rate_per_s } | Pacing::Poisson { rate_per_s } => {
                *rate_per_s /= parts
            }
            Pacing::Ramp {
                from_per_s,
                to_per_s,
                ..
            } => {
                *from_per_s /= parts;
                *to_per_s /= parts;
            }
            Pacing::Steps { steps, .. } => {
                for step in steps {
                    step.rate_per_s /= parts;
                }
            }
            Pacing::Replay { shard: part, .. } => *part = shard,
            Pacing::Closed { clients, .. } => *clients = clients.div_ceil(agents),
            Pacing::Max => {}
        }
        own
    }
}
