//! What a protocol is to the event loop: bytes in, bytes out, and what to do next. HTTP/2 goes here.

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
    /// The end of the connection.
    Close,
}

/// Where a connection stands, for an orderly end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Between requests.
    Idle,
    /// Within a request or an answer.
    Busy,
}

/// One connection's protocol, without I/O. After anything but `Next::Read` no input is given until `resume` asks for it.
pub(crate) trait Protocol: Default {
    /// Takes input, whose last byte arrived at the stamp; appends what is to be sent.
    fn receive(
        &mut self,
        input: &[u8],
        arrived_ns: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Next;

    /// Goes on after `Next::Resume` or `Next::Wait`.
    fn resume(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next;

    /// Whether the connection may be closed without breaking an exchange.
    fn standing(&self) -> Standing;
}
