//! Scripted sessions: a [`crate::client::Client`] that sends the requests of a session, one after the other, over another
//! client.
//!
//! The engine schedules the start of a session. The intended start of each later request is the end of the one before plus
//! the thinking time between. The state of a session (variables, cookies, counters) is in slots that later sessions reuse.

mod capture;
mod client;
mod interpreter;
mod jar;
mod json;
mod program;
mod rehearse;
mod scripted;
#[cfg(test)]
mod tests;

pub use client::{SessionTransport, Sessions};
pub use jar::Channel;
pub use program::Program;
pub use rehearse::{Rehearsed, rehearse};
pub use scripted::{Scripted, ScriptedPlan};
