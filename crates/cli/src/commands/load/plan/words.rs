//! A load in words.

use std::time::Duration;

use tare_schema::load::{Pacing, Stop};
use tare_schema::units::Period;

/// The pace in words.
pub(super) fn pacing(pacing: Pacing) -> String {
    match pacing {
        Pacing::Constant { rate_per_s } => format!("{rate_per_s}/s"),
        Pacing::Closed {
            clients,
            think_ns: 0,
        } => format!("{clients} clients in a closed loop"),
        Pacing::Closed { clients, think_ns } => {
            let think = Period(Duration::from_nanos(think_ns));
            format!("{clients} clients in a closed loop, pausing {think}")
        }
        Pacing::Max => "as fast as possible".into(),
    }
}

/// The stop in words.
pub(super) fn stop(stop: Stop) -> String {
    match stop {
        Stop::Duration { window_ns } => Period(Duration::from_nanos(window_ns)).to_string(),
        Stop::Count { exchanges } => format!("{exchanges} requests"),
        Stop::Interrupted => "until Ctrl-C".into(),
    }
}
