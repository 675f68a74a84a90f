//! What is kept of one connection and of the exchange on it.

use crate::client::{Due, Stamp, WaitCause};

/// What a client keeps of each connection beside what every client does.
pub(crate) trait Kept {
    /// Back to a connection that has just been opened.
    fn reset(&mut self);
}

/// One connection: `C` is what its client keeps of it, `X` what it keeps of the exchange.
#[derive(Debug)]
pub(crate) struct Slot<C, X> {
    /// What it is doing.
    pub state: State<X>,
    /// The client's own.
    pub conn: C,
    /// Answers it has brought since it was opened.
    pub answers: u64,
    /// Whether it stands in the queue of free connections (perhaps from an earlier life).
    pub(super) queued: bool,
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy)]
pub(crate) enum State<X> {
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
    Busy(Exchange<X>),
}

/// The exchange on a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange<X> {
    /// Which one.
    pub due: Due,
    /// When it was given to the connection: its limit counts from here.
    pub begun_ns: u64,
    /// When its first byte went to the kernel.
    pub sent_ns: Option<u64>,
    /// Why it was not sent at once.
    pub waited: Option<WaitCause>,
    /// Of the last bytes that came.
    pub last: Option<Stamp>,
    /// The client's own.
    pub own: X,
}

impl<C, X> Slot<C, X> {
    /// One that was never opened.
    pub(super) fn new(conn: C) -> Self {
        Self {
            state: State::Closed,
            conn,
            answers: 0,
            queued: false,
        }
    }

    /// The exchange under way.
    #[inline]
    pub fn exchange(&mut self) -> Option<&mut Exchange<X>> {
        match &mut self.state {
            State::Busy(exchange) => Some(exchange),
            State::Closed | State::Connecting { .. } | State::Idle => None,
        }
    }
}
