//! The connections of a client as they are planned.

use std::net::SocketAddr;
use std::sync::Arc;

use super::Opening;

/// The connections of a client as they are planned.
#[derive(Debug, Clone)]
pub struct Connections {
    /// Where to, in turn.
    pub addresses: Arc<[SocketAddr]>,
    /// Number of the first among those of the whole load: addresses are used in turn over all.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// Each is opened anew after so many answers.
    pub exchanges_max: u64,
    /// When they are opened.
    pub opening: Opening,
    /// Limit of an exchange and of an attempt to connect.
    pub timeout_ns: u64,
    /// Exchanges that may wait for one.
    pub waiting_max: usize,
}
