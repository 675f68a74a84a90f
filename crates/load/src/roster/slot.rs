//! State of one connection and of the exchange on it.

use crate::client::{Due, Stamp, WaitCause};

/// A client's own state of a connection.
pub(crate) trait ConnectionState {
    /// Resets to a connection that was just opened.
    fn reset(&mut self);
}

/// One connection: `C` is the client's state of it, `X` that of an exchange.
#[derive(Debug)]
pub(crate) struct Slot<C, X> {
    /// What it is doing.
    pub state: State<X>,
    /// State of the client.
    pub conn: C,
    /// Responses since it was opened.
    pub answers: u64,
    /// Whether it is in the queue of free connections (perhaps from before it was reopened).
    pub(super) queued: bool,
}

/// State of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum State<X> {
    /// Not open.
    Closed,
    /// Being opened.
    Connecting {
        /// When the attempt times out.
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
    /// The exchange.
    pub due: Due,
    /// When the connection took it: the timeout counts from here.
    pub begun_ns: u64,
    /// When its first byte was sent.
    pub sent_ns: Option<u64>,
    /// Why it was not sent immediately.
    pub waited: Option<WaitCause>,
    /// Receive timestamp of the last bytes.
    pub last: Option<Stamp>,
    /// State of the client.
    pub own: X,
}

impl<C, X> Slot<C, X> {
    /// Not opened yet.
    pub(super) fn new(conn: C) -> Self {
        Self {
            state: State::Closed,
            conn,
            answers: 0,
            queued: false,
        }
    }

    /// The exchange in flight.
    #[inline]
    pub fn exchange(&mut self) -> Option<&mut Exchange<X>> {
        match &mut self.state {
            State::Busy(exchange) => Some(exchange),
            State::Closed | State::Connecting { .. } | State::Idle => None,
        }
    }
}
