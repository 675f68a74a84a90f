//! What the TCP client keeps of one connection and of the exchange on it.

use crate::client::Stamp;
use crate::roster::Kept;

/// One connection.
#[derive(Debug, Default)]
pub struct Conn {
    /// Bytes that came behind the end of a block and belong to the next one, with the stamp of the last.
    pub surplus: Option<(u64, Stamp)>,
}

impl Kept for Conn {
    fn reset(&mut self) {
        self.surplus = None;
    }
}

/// How far an exchange has come.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Bytes that are still to be given to the kernel.
    pub unsent_bytes: u64,
    /// Bytes that came.
    pub received_bytes: u64,
    /// Where the answer first was another one than expected.
    pub wrong_at: Option<u64>,
}
