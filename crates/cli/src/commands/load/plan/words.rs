//! Descriptions of a load.

use std::time::Duration;

use tare_schema::load::{Pacing, Stop};
use tare_schema::units::Period;

/// The stop rule as text.
pub(super) fn stop(pacing: &Pacing, stop: Stop) -> String {
    match (stop, pacing) {
        (Stop::Duration { window_ns }, _) => Period(Duration::from_nanos(window_ns)).to_string(),
        (Stop::Count { exchanges }, _) => format!("{exchanges} requests"),
        (Stop::Interrupted, Pacing::Replay { .. }) => "to its end".into(),
        (Stop::Interrupted, _) => "until Ctrl-C".into(),
    }
}
