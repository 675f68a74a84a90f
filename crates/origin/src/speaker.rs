//! The protocol of a connection: the one the listener has, or the one its first bytes show.

use tare_mongo::message::MESSAGE_BYTES_MAX;
use tare_wire::frame::PREFACE;

use crate::http1::Http1;
use crate::http2::Http2;
use crate::mongodb::Mongodb;
use crate::options::Speaks;
use crate::protocol::{Next, Protocol, Standing};
use crate::service::Service;
use crate::tcp::Tcp;

/// First bytes that decide: HTTP/2 starts with the method PRI, which no HTTP/1 request may have (RFC 9113 §11.6).
const DECISIVE: &[u8] = PREFACE.split_at(4).0;

/// A message of MongoDB starts with its length in four bytes, the lowest first: the last of them is no more than this, and a
/// line of HTTP has no such control character.
const LENGTH_TOP_MAX: u8 = (MESSAGE_BYTES_MAX >> 24) as u8;

/// The protocols there are: one branch per call, so that one event loop serves all of them.
#[derive(Debug)]
pub(crate) enum Speaker {
    /// The first bytes, as long as they are too few to decide.
    Undecided(Vec<u8>),
    Http1(Http1),
    Http2(Box<Http2>),
    Tcp(Tcp),
    Mongodb(Mongodb),
}

impl Speaker {
    pub(crate) fn new(speaks: Speaks, service: &Service) -> Self {
        match speaks {
            Speaks::Auto => Self::Undecided(Vec::new()),
            Speaks::Http1 => Self::Http1(Http1::default()),
            Speaks::Http2 => Self::Http2(Box::new(Http2::new(&service.limits))),
            Speaks::Tcp(mode) => Self::Tcp(Tcp::new(mode)),
            Speaks::Mongodb => Self::Mongodb(Mongodb::new(service)),
        }
    }

    #[cold]
    fn decide(
        &mut self,
        input: &[u8],
        arrived_ns: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Next {
        let Self::Undecided(first) = self else {
            return Next::Read;
        };
        first.extend_from_slice(input);
        let speaks = match spoken(first) {
            Some(speaks) => speaks,
            None => return Next::Read,
        };
        let first = std::mem::take(first);
        *self = Self::new(speaks, service);
        self.receive(&first, arrived_ns, service, out)
    }
}

/// What these first bytes are the beginning of; `None`: they are too few. A whole request of HTTP is longer than what decides.
fn spoken(first: &[u8]) -> Option<Speaks> {
    let decisive = first.get(..DECISIVE.len())?;
    Some(if decisive == DECISIVE {
        Speaks::Http2
    } else if decisive[3] <= LENGTH_TOP_MAX {
        Speaks::Mongodb
    } else {
        Speaks::Http1
    })
}

impl Protocol for Speaker {
    fn open(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        match self {
            Self::Tcp(tcp) => tcp.open(service, out),
            Self::Undecided(_) | Self::Http1(_) | Self::Http2(_) | Self::Mongodb(_) => Next::Read,
        }
    }

    #[inline]
    fn receive(
        &mut self,
        input: &[u8],
        arrived_ns: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Next {
        match self {
            Self::Http1(http1) => http1.receive(input, arrived_ns, service, out),
            Self::Http2(http2) => http2.receive(input, arrived_ns, service, out),
            Self::Tcp(tcp) => tcp.receive(input, arrived_ns, service, out),
            Self::Mongodb(mongodb) => mongodb.receive(input, arrived_ns, service, out),
            Self::Undecided(_) => self.decide(input, arrived_ns, service, out),
        }
    }

    #[inline]
    fn resume(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        match self {
            Self::Http1(http1) => http1.resume(service, out),
            Self::Http2(http2) => http2.resume(service, out),
            Self::Tcp(tcp) => tcp.resume(service, out),
            Self::Mongodb(mongodb) => mongodb.resume(service, out),
            Self::Undecided(_) => Next::Read,
        }
    }

    fn ended(&mut self) -> Option<Next> {
        match self {
            Self::Tcp(tcp) => tcp.ended(),
            Self::Undecided(_) | Self::Http1(_) | Self::Http2(_) | Self::Mongodb(_) => None,
        }
    }

    fn standing(&self) -> Standing {
        match self {
            Self::Undecided(first) if first.is_empty() => Standing::Idle,
            Self::Undecided(_) => Standing::Busy,
            Self::Http1(http1) => http1.standing(),
            Self::Http2(http2) => http2.standing(),
            Self::Tcp(tcp) => tcp.standing(),
            Self::Mongodb(mongodb) => mongodb.standing(),
        }
    }

    fn farewell(&mut self, out: &mut Vec<u8>) {
        if let Self::Http2(http2) = self {
            http2.farewell(out);
        }
    }
}
