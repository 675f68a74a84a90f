//! What the TCP client keeps of one connection.

use crate::client::{Due, Stamp, WaitCause};

/// One connection.
#[derive(Debug)]
pub struct Conn {
    /// What it is doing.
    pub state: State,
    /// Exchanges ended since it was opened.
    pub ended: u64,
    /// Bytes that came behind the end of a block and belong to the next one, with the stamp of the last.
    pub surplus: Option<(u64, Stamp)>,
    /// Whether it stands in the queue of free connections (perhaps from an earlier life).
    pub queued: bool,
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy)]
pub enum State {
    /// Not open.
    Closed,
    /// Being opened, until this time at most.
    Connecting {
        /// When the attempt is given up.
        deadline_ns: u64,
    },
    /// Open without an exchange.
    Idle,
    /// Open with an exchange.
    Busy(Busy),
}

/// The exchange on a connection.
#[derive(Debug, Clone, Copy)]
pub struct Busy {
    /// Which one.
    pub due: Due,
    /// When it was given to the connection.
    pub begun_ns: u64,
    /// When its first byte went to the kernel.
    pub sent_ns: Option<u64>,
    /// Why it was not sent at once.
    pub waited: Option<WaitCause>,
    /// Bytes that are still to be given to the kernel.
    pub unsent_bytes: u64,
    /// Bytes that came.
    pub received_bytes: u64,
    /// Of the last bytes.
    pub last: Option<Stamp>,
    /// Where the answer first was another one than expected.
    pub wrong_at: Option<u64>,
}

impl Conn {
    /// A connection that was never opened.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: State::Closed,
            ended: 0,
            surplus: None,
            queued: false,
        }
    }
}
