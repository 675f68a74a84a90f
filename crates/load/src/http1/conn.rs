//! What the pool keeps of one connection.

use super::codec::{Codec, Limits};
use crate::client::{Due, Stamp, WaitCause};

/// One connection.
#[derive(Debug)]
pub struct Conn<P> {
    /// What it is doing.
    pub state: State,
    /// Its answers.
    pub codec: Codec,
    /// How far the answer under way was looked at.
    pub progress: P,
    /// Answers this connection has brought since it was opened.
    pub answers: u64,
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
    /// When it was given to the wire.
    pub begun_ns: u64,
    /// When its first byte went to the kernel.
    pub sent_ns: Option<u64>,
    /// Why it was not sent at once.
    pub waited: Option<WaitCause>,
    /// Of the last bytes: the arrival of an answer that only the connection's end completes.
    pub last: Option<Stamp>,
}

impl<P: Default> Conn<P> {
    /// A connection that was never opened.
    #[must_use]
    pub fn new() -> Self {
        let limits = Limits {
            pipeline_max: 1,
            ..Limits::default()
        };
        Self {
            state: State::Closed,
            codec: Codec::new(limits),
            progress: P::default(),
            answers: 0,
            queued: false,
        }
    }
}
