//! The protocol of a connection: the listener's, or detected from the first bytes.

use tare_http2_frames::frame::PREFACE;
use tare_mongo::message::MESSAGE_BYTES_MAX;

use crate::http1::Http1;
use crate::http2::Http2;
use crate::mongodb::Mongodb;
use crate::options::ServerProtocol;
use crate::protocol::{Next, Protocol};
use crate::service::Service;
use crate::tcp::Tcp;

/// First bytes of HTTP/2: the method PRI, which no HTTP/1 request may have (RFC 9113 §11.6).
const DECISIVE: &[u8] = PREFACE.split_at(4).0;

/// A MongoDB message starts with its length in four bytes, little-endian: the last of them is at most this, and a line of HTTP
/// has no such control character.
const LENGTH_TOP_MAX: u8 = (MESSAGE_BYTES_MAX >> 24) as u8;

/// Any of the protocols: one branch per call, so that one event loop serves all of them.
#[derive(Debug)]
pub(crate) enum AnyProtocol {
    /// The first bytes, while they are too few to detect the protocol.
    Detecting(Vec<u8>),
    Http1(Http1),
    Http2(Box<Http2>),
    Tcp(Tcp),
    Mongodb(Mongodb),
}

impl AnyProtocol {
    pub(crate) fn new(protocol: ServerProtocol, service: &Service) -> Self {
        match protocol {
            ServerProtocol::Auto => Self::Detecting(Vec::new()),
            // Connections to a UDP server are those of its control address.
            ServerProtocol::Http1 | ServerProtocol::Udp => Self::Http1(Http1::default()),
            ServerProtocol::Http2 => Self::Http2(Box::new(Http2::new(&service.limits))),
            ServerProtocol::Tcp(mode) => Self::Tcp(Tcp::new(mode)),
            ServerProtocol::Mongodb => Self::Mongodb(Mongodb::new(service)),
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
        let Self::Detecting(first) = self else {
            return Next::Read;
        };
        first.extend_from_slice(input);
        let protocol = match detect(first) {
            Some(protocol) => protocol,
            None => return Next::Read,
        };
        let first = std::mem::take(first);
        *self = Self::new(protocol, service);
        self.receive(&first, arrived_ns, service, out)
    }
}

/// The protocol that starts with these bytes; `None`: they are too few. A complete HTTP request is always long enough.
fn detect(first: &[u8]) -> Option<ServerProtocol> {
    let decisive = first.get(..DECISIVE.len())?;
    Some(if decisive == DECISIVE {
        ServerProtocol::Http2
    } else if decisive[3] <= LENGTH_TOP_MAX {
        ServerProtocol::Mongodb
    } else {
        ServerProtocol::Http1
    })
}

impl Protocol for AnyProtocol {
    fn open(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        match self {
            Self::Tcp(tcp) => tcp.open(service, out),
            Self::Detecting(_) | Self::Http1(_) | Self::Http2(_) | Self::Mongodb(_) => Next::Read,
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
            Self::Detecting(_) => self.decide(input, arrived_ns, service, out),
        }
    }

    #[inline]
    fn resume(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        match self {
            Self::Http1(http1) => http1.resume(service, out),
            Self::Http2(http2) => http2.resume(service, out),
            Self::Tcp(tcp) => tcp.resume(service, out),
            Self::Mongodb(mongodb) => mongodb.resume(service, out),
            Self::Detecting(_) => Next::Read,
        }
    }

    fn ended(&mut self) -> Option<Next> {
        match self {
            Self::Tcp(tcp) => tcp.ended(),
            Self::Detecting(_) | Self::Http1(_) | Self::Http2(_) | Self::Mongodb(_) => None,
        }
    }

    fn is_idle(&self) -> bool {
        match self {
            Self::Detecting(first) => first.is_empty(),
            Self::Http1(http1) => http1.is_idle(),
            Self::Http2(http2) => http2.is_idle(),
            Self::Tcp(tcp) => tcp.is_idle(),
            Self::Mongodb(mongodb) => mongodb.is_idle(),
        }
    }

    #[inline]
    fn held_bytes(&mut self) -> usize {
        match self {
            Self::Detecting(first) => first.capacity(),
            Self::Http1(http1) => http1.held_bytes(),
            Self::Http2(http2) => http2.held_bytes(),
            Self::Tcp(tcp) => tcp.held_bytes(),
            Self::Mongodb(mongodb) => mongodb.held_bytes(),
        }
    }

    fn announce_close(&mut self, out: &mut Vec<u8>) {
        if let Self::Http2(http2) = self {
            http2.announce_close(out);
        }
    }
}
