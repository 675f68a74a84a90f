//! Configuration of a client's connections.

use std::net::SocketAddr;
use std::sync::Arc;

use super::Opening;

/// Configuration of a client's connections.
#[derive(Debug, Clone)]
pub struct Connections {
    /// Addresses, used in turn.
    pub addresses: Arc<[SocketAddr]>,
    /// Index of the first one in the whole load: addresses are used in turn over all workers.
    pub first: usize,
    /// Number of connections.
    pub count: usize,
    /// A connection is reopened after this many exchanges.
    pub exchanges_max: u64,
    /// When they are opened.
    pub opening: Opening,
    /// Timeout of an exchange and of a connection attempt.
    pub timeout_ns: u64,
    /// Most exchanges in the wait queue.
    pub waiting_max: usize,
}
