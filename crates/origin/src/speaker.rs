//! The protocol of a connection.

use crate::http1::Http1;
use crate::options::Speaks;
use crate::protocol::{Next, Protocol, Standing};
use crate::service::Service;
use crate::tcp::Tcp;

/// The protocols there are: one branch per call, so that one event loop serves all of them.
#[derive(Debug)]
pub(crate) enum Speaker {
    Http1(Http1),
    Tcp(Tcp),
}

macro_rules! each {
    ($speaker:expr, $protocol:ident => $call:expr) => {
        match $speaker {
            Speaker::Http1($protocol) => $call,
            Speaker::Tcp($protocol) => $call,
        }
    };
}

impl Speaker {
    pub(crate) fn new(speaks: Speaks) -> Self {
        match speaks {
            Speaks::Http1 => Self::Http1(Http1::default()),
            Speaks::Tcp(mode) => Self::Tcp(Tcp::new(mode)),
        }
    }
}

impl Protocol for Speaker {
    fn open(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        each!(self, protocol => protocol.open(service, out))
    }

    #[inline]
    fn receive(
        &mut self,
        input: &[u8],
        arrived_ns: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Next {
        each!(self, protocol => protocol.receive(input, arrived_ns, service, out))
    }

    #[inline]
    fn resume(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        each!(self, protocol => protocol.resume(service, out))
    }

    fn ended(&mut self) -> Option<Next> {
        each!(self, protocol => protocol.ended())
    }

    fn standing(&self) -> Standing {
        each!(self, protocol => protocol.standing())
    }
}
