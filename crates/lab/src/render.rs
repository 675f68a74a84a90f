//! Turns a target folder and an instance's place into files, a command, a probe and counters.

mod context;

pub use context::{Context, Identity, Listen, Peer, RouteContext, Upstream, edge_id};
