//! State of one connection of the TCP client, and of the exchange on it.

use crate::client::Stamp;
use crate::roster::ConnectionState;

/// One connection.
#[derive(Debug, Default)]
pub struct Conn {
    /// Bytes received after the end of a block, which belong to the next one, with the timestamp of the last.
    pub surplus: Option<(u64, Stamp)>,
}

impl ConnectionState for Conn {
    fn reset(&mut self) {
        self.surplus = None;
    }
}

/// Progress of an exchange.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Bytes that the kernel has not accepted yet.
    pub unsent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Offset of the first byte of the response that differs from the pattern.
    pub wrong_at: Option<u64>,
}
