//! What the caller chooses: address, workers, behaviour, limits.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::behaviour::Change;
use crate::error::OriginError;
use crate::stall::{PlannedStall, STALL_MAX};

/// Bounds on what a client may make the origin keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request's head.
    pub head_bytes_max: usize,
    /// Bytes of a request's body.
    pub body_bytes_max: u64,
    /// Connections open at one time; more are closed at once.
    pub connections_max: usize,
    /// A connection on which nothing moves for so long is closed.
    pub idle_max: Duration,
    /// How long answers under way may take after a stop.
    pub drain_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes_max: 64 * 1024,
            body_bytes_max: 64 << 20,
            connections_max: 20_000,
            idle_max: Duration::from_secs(600),
            drain_max: Duration::from_secs(1),
        }
    }
}

/// Whether the kernel stamps what arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stamps {
    /// It does: answers can tell the truth about arrival.
    #[default]
    Kernel,
    /// It does not: `Tare-Truth` has "-" for the arrival.
    Off,
}

/// How an origin listens and answers.
#[derive(Debug, Clone, PartialEq)]
pub struct OriginOptions {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Event loops, 1 to 64. Connections are dealt to the one that has the fewest.
    pub workers: usize,
    /// Applied to every request in this order, before what the request itself asks for.
    pub changes: Vec<Change>,
    /// Stalls planned from the start of `run`.
    pub stalls: Vec<PlannedStall>,
    /// Receive stamps.
    pub stamps: Stamps,
    /// Seed of all chances.
    pub seed: u64,
    /// Bounds.
    pub limits: Limits,
}

impl Default for OriginOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            workers: 1,
            changes: Vec::new(),
            stalls: Vec::new(),
            stamps: Stamps::default(),
            seed: 1,
            limits: Limits::default(),
        }
    }
}

impl OriginOptions {
    pub(crate) fn check(&self) -> Result<(), OriginError> {
        let refuse = |option, value: String, allowed| {
            Err(OriginError::Option {
                option,
                value,
                allowed,
            })
        };
        if !(1..=64).contains(&self.workers) {
            return refuse("workers", self.workers.to_string(), "1 to 64");
        }
        if self.limits.head_bytes_max < 256 {
            return refuse(
                "head limit",
                self.limits.head_bytes_max.to_string(),
                "at least 256",
            );
        }
        if self.limits.connections_max == 0 {
            return refuse("connection limit", "0".into(), "at least 1");
        }
        if self.limits.idle_max < Duration::from_millis(10) {
            return refuse(
                "idle limit",
                format!("{:?}", self.limits.idle_max),
                "at least 10ms",
            );
        }
        for stall in &self.stalls {
            let longest = stall.after.max(stall.lasts);
            if longest > STALL_MAX {
                return refuse("stall", format!("{longest:?}"), "at most 1h");
            }
        }
        Ok(())
    }
}
