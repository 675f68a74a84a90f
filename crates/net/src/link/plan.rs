//! The plan of a link: delay, jitter, rate and loss of each direction.

use serde::{Deserialize, Serialize};

use super::LinkError;
use super::offload::Offload;

/// Longest one-way delay: a satellite takes 300 ms, a minute is a mistake of unit.
const DELAY_NS_MAX: u64 = 10_000_000_000;
/// `IFNAMSIZ` − 1.
const DEVICE_BYTES_MAX: usize = 15;

/// A link between two namespaces, a and b.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkPlan {
    /// Names of the devices at a and at b, at most 15 bytes each.
    pub devices: [String; 2],
    /// From a to b, and from b to a.
    pub ways: [DirectionPlan; 2],
    /// Seed of jitter and loss; each direction draws its own.
    pub seed: u64,
    /// Scheduling of its threads.
    pub scheduling: Scheduling,
}

/// One direction of a link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionPlan {
    /// From the last bit sent to the last bit received.
    pub delay_ns: u64,
    /// Each packet's delay varies by up to this much to either side, uniformly distributed; order is kept,
    /// so packets in close succession share the delay of the slowest before them.
    pub jitter_ns: u64,
    /// Bits of IP packets per second; `None`: no limit.
    pub rate_bits_per_s: Option<u64>,
    /// Bytes that may queue for that rate; packets beyond are dropped.
    pub queue_bytes: u64,
    /// Share of packets lost, independently of each other.
    pub loss: f64,
}

/// Scheduling of the threads of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// Real-time where permitted, else a lower nice value: the delay does not depend on how busy the parts are.
    #[default]
    RealTime,
    /// Default scheduling.
    Default,
}

impl LinkPlan {
    /// Both directions alike.
    #[must_use]
    pub fn symmetric(devices: [&str; 2], way: &DirectionPlan, seed: u64) -> Self {
        Self {
            devices: devices.map(str::to_owned),
            ways: [way.clone(), way.clone()],
            seed,
            scheduling: Scheduling::RealTime,
        }
    }

    /// Segmentation offload, unless packets are to be lost: a wire loses single packets.
    pub(super) fn offload(&self) -> Offload {
        if self.ways.iter().any(|way| way.loss > 0.0) {
            Offload::Off
        } else {
            Offload::On
        }
    }

    pub(super) fn check(&self) -> Result<(), LinkError> {
        for name in &self.devices {
            if name.is_empty() || name.len() > DEVICE_BYTES_MAX || name.contains(['/', ' ', '%']) {
                return Err(LinkError::Plan(format!(
                    "\"{name}\" cannot name a device: take 1 to {DEVICE_BYTES_MAX} letters and digits"
                )));
            }
        }
        self.ways.iter().try_for_each(DirectionPlan::check)
    }
}

impl DirectionPlan {
    fn check(&self) -> Result<(), LinkError> {
        let wrong = |said: String| Err(LinkError::Plan(said));
        if self.delay_ns > DELAY_NS_MAX {
            return wrong(format!(
                "a delay of {} s is too long: at most {} s",
                self.delay_ns / 1_000_000_000,
                DELAY_NS_MAX / 1_000_000_000
            ));
        }
        if self.jitter_ns > self.delay_ns {
            return wrong(String::from(
                "the jitter is larger than the delay: nothing arrives before it is sent",
            ));
        }
        if !(0.0..1.0).contains(&self.loss) {
            return wrong(format!(
                "a loss of {} leaves nothing: take 0 or more, below 1",
                self.loss
            ));
        }
        if self.rate_bits_per_s == Some(0) {
            return wrong(String::from(
                "a rate must be more than 0: leave it out for no limit",
            ));
        }
        if self.rate_bits_per_s.is_some() && self.queue_bytes == 0 {
            return wrong(String::from(
                "a rate needs a queue: say how many bytes may wait",
            ));
        }
        Ok(())
    }
}
