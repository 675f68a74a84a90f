//! The interface of protocols to the event loop: bytes in, bytes out, and what to do next.

use std::time::Duration;

use crate::service::Service;

/// What a connection needs next, once the bytes written have been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// More input.
    Read,
    /// A call of `resume` as soon as the bytes written are sent.
    Resume,
    /// A call of `resume` after this time.
    Wait(Duration),
    /// Concurrent input and output.
    Serve(Serve),
    /// The end of the connection.
    Close,
    /// An immediate end by a reset: unsent bytes are lost.
    Reset,
}

/// What a bidirectional connection needs, apart from input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Serve {
    /// There is more to write: a call of `resume` as soon as everything written is sent.
    pub has_more: bool,
    /// A call of `resume` at this time of the monotonic clock, in nanoseconds.
    pub wake_ns: Option<u64>,
}

impl Serve {
    /// There is more to write, and no time to wait for.
    pub(crate) const MORE: Serve = Serve {
        has_more: true,
        wake_ns: None,
    };
}

/// One connection's protocol, without I/O. After anything but `Next::Read` and `Next::Serve` no input is given until
/// `resume` asks for it.
pub(crate) trait Protocol {
    /// The connection is established; some protocols send first.
    fn open(&mut self, _service: &mut Service, _out: &mut Vec<u8>) -> Next {
        Next::Read
    }

    /// Takes input, whose last byte arrived at `arrived_ns`; appends output to `out`.
    fn receive(
        &mut self,
        input: &[u8],
        arrived_ns: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Next;

    /// Continues after `Next::Resume`, `Next::Wait` or `Next::Serve`.
    fn resume(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next;

    /// The client has closed its side; `None` drops the connection.
    fn ended(&mut self) -> Option<Next> {
        None
    }

    /// Whether the connection is between exchanges, so that closing it breaks none.
    fn is_idle(&self) -> bool;

    /// Capacity of its buffers.
    fn held_bytes(&mut self) -> usize;

    /// Writes the message that announces the close to an idle client, if the protocol has one (GOAWAY).
    fn announce_close(&mut self, _out: &mut Vec<u8>) {}
}
