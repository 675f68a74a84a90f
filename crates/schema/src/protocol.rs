//! The protocols an edge can have: one registry line each.

use crate::load::{CallSpec, ClientSpec};

/// A protocol and whether a proxy that only knows TCP can carry it in an experiment.
struct Protocol {
    name: &'static str,
    over_tcp: OverTcp,
}

/// What a proxy that does not speak a protocol does with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverTcp {
    /// It carries the bytes: usual for this protocol.
    Usual,
    /// It could carry the bytes, but that would be another question: the arm must ask for it (`as: tcp`).
    OnRequest,
}

const PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "tcp",
        over_tcp: OverTcp::Usual,
    },
    Protocol {
        name: "http1",
        over_tcp: OverTcp::OnRequest,
    },
    Protocol {
        name: "http2",
        over_tcp: OverTcp::OnRequest,
    },
    Protocol {
        name: "grpc",
        over_tcp: OverTcp::OnRequest,
    },
    Protocol {
        name: "kafka",
        over_tcp: OverTcp::Usual,
    },
    Protocol {
        name: "kafka-produce",
        over_tcp: OverTcp::Usual,
    },
    Protocol {
        name: "kafka-fetch",
        over_tcp: OverTcp::Usual,
    },
    Protocol {
        name: "kafka-end-to-end",
        over_tcp: OverTcp::Usual,
    },
    Protocol {
        name: "mongodb",
        over_tcp: OverTcp::Usual,
    },
];

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROTOCOLS.iter().map(|protocol| protocol.name)
}

/// Whether there is one of this name.
#[must_use]
pub fn exists(name: &str) -> bool {
    names().any(|known| known == name)
}

/// What a proxy that speaks a protocol counts one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Requests.
    Requests,
    /// Connections and bytes: it does not look inside.
    Connections,
}

/// What proxies on an edge count, by the protocol that they see there.
#[must_use]
pub fn counted(protocol: &str) -> Counted {
    match protocol {
        "tcp" => Counted::Connections,
        _ => Counted::Requests,
    }
}

/// Exchanges that share a connection where an experiment does not say how many.
const STREAMS: u16 = 8;

/// The client that generates load in it.
#[must_use]
pub fn client(protocol: &str, connections: u32) -> ClientSpec {
    match protocol {
        "http1" => ClientSpec::Http1 { connections },
        "http2" => ClientSpec::Http2 {
            connections,
            streams: STREAMS,
        },
        "grpc" => ClientSpec::Grpc {
            connections,
            streams: STREAMS,
            calls: CallSpec::default(),
        },
        other => ClientSpec::Planned {
            name: other.to_owned(),
            connections,
        },
    }
}

/// What a proxy that does not speak it does with it.
#[must_use]
pub fn over_tcp(name: &str) -> OverTcp {
    PROTOCOLS
        .iter()
        .find(|protocol| protocol.name == name)
        .map_or(OverTcp::OnRequest, |protocol| protocol.over_tcp)
}
