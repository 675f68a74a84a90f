//! What a protocol is to the event loop: bytes in, bytes out, and what to do next.

use std::time::Duration;

use crate::service::Service;

/// What a connection needs next, after the bytes written have been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// More input.
    Read,
    /// A call of `resume` as soon as the bytes written are sent.
    Resume,
    /// A call of `resume` after so long.
    Wait(Duration),
    /// Input and output at the same time.
    Serve(Serve),
    /// The end of the connection.
    Close,
    /// The end at once, by a reset: what is unsent is lost.
    Reset,
}

/// What a connection that goes both ways at once needs, beside input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Serve {
    pub more: More,
    /// A call of `resume` at this time of the monotonic clock, in nanoseconds.
    pub wake_ns: Option<u64>,
}

/// Whether there is more to write than was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    Nothing,
    /// A call of `resume` as soon as everything written is sent.
    Waits,
}

/// Where a connection stands, for an orderly end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Between requests.
    Idle,
    /// Within a request or an answer.
    Busy,
}

/// One connection's protocol, without I/O. After anything but `Next::Read` and `Next::Serve` no input is given until
/// `resume` asks for it.
pub(crate) trait Protocol {
    /// The connection is there; some protocols speak first.
    fn open(&mut self, _service: &mut Service, _out: &mut Vec<u8>) -> Next {
        Next::Read
    }

    /// Takes input, whose last byte arrived at the stamp; appends what is to be sent.
    fn receive(
        &mut self,
        input: &[u8],
        arrived_ns: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Next;

    /// Goes on after `Next::Resume`, `Next::Wait` or `Next::Serve`.
    fn resume(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next;

    /// There will be no more input; `None` drops the connection.
    fn ended(&mut self) -> Option<Next> {
        None
    }

    /// Whether the connection may be closed without breaking an exchange.
    fn standing(&self) -> Standing;

    /// Writes what an idle client is told before the connection is closed.
    fn farewell(&mut self, _out: &mut Vec<u8>) {}
}
