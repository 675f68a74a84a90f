//! Scripted sessions: a [`crate::client::Client`] over a client, which sends a session's requests one after the other.
//!
//! A session's start is what the driver schedules; the later requests' intended starts are the end of the one before plus
//! the pause between. What a session has (variables, cookies, counters) lives in places that later sessions use again.

mod capture;
mod client;
mod jar;
mod json;
mod machine;
mod program;
mod rehearse;
mod scripted;
#[cfg(test)]
mod tests;

pub use client::{Carrier, Sessions};
pub use jar::Channel;
pub use program::Program;
pub use rehearse::{Rehearsed, rehearse};
pub use scripted::{Scripted, ScriptedPlan};
