//! What a pool is made of.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::opening::Opening;

/// What a pool is made of.
#[derive(Debug, Clone)]
pub struct PoolPlan<R> {
    /// What is sent, and what a right answer is.
    pub requests: R,
    /// Where to, in turn.
    pub addresses: Arc<[SocketAddr]>,
    /// Number of the first connection among those of the whole load.
    pub first: usize,
    /// Connections.
    pub connections: usize,
    /// Limit of an exchange and of an attempt to connect.
    pub timeout_ns: u64,
    /// Exchanges that may wait for a connection.
    pub waiting_max: usize,
    /// A connection is opened anew after so many answers.
    pub exchanges_max: u64,
    /// When connections are opened.
    pub opening: Opening,
}
