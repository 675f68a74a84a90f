//! Registry of the protocols of edges.

use serde_json::{Map, Value};

use crate::load::{
    Body, CallSpec, ClientSpec, ExpectBody, FetchSpec, MongoData, RequestSpec, TcpContent,
    TcpExchange,
};

struct Protocol {
    name: &'static str,
    over_tcp: OverTcp,
}

/// Whether proxies without support for a protocol may forward it as TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverTcp {
    /// Yes: usual for this protocol.
    Usual,
    /// Only if the arm asks for it (`as: tcp`), because that is another question.
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

/// Names of all protocols.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROTOCOLS.iter().map(|protocol| protocol.name)
}

/// Whether a protocol of this name exists.
#[must_use]
pub fn exists(name: &str) -> bool {
    names().any(|known| known == name)
}

/// Whether its servers are Kafka brokers: they advertise each other's addresses, and may require a login.
#[must_use]
pub fn is_of_brokers(name: &str) -> bool {
    let ours = ["kafka", "kafka-produce", "kafka-fetch", "kafka-end-to-end"];
    ours.contains(&name)
}

/// What proxies count of a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Requests.
    Requests,
    /// Connections and bytes, not requests.
    Connections,
}

/// What proxies on an edge count, by the protocol that they see.
#[must_use]
pub fn counted(protocol: &str) -> Counted {
    match protocol {
        "tcp" => Counted::Connections,
        _ => Counted::Requests,
    }
}

/// Concurrent exchanges per connection.
const STREAMS: u16 = 8;

/// Default size of an exchange over TCP.
const ECHO_BYTES: u64 = 100;

/// Default client of a protocol. Over TCP an exchange is an echo of the size of the first request's body.
#[must_use]
pub fn client(protocol: &str, connections: u32, requests: &[RequestSpec]) -> ClientSpec {
    match protocol {
        "tcp" => ClientSpec::Tcp {
            connections,
            exchange: echo(requests.first()),
        },
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
        "kafka-produce" => ClientSpec::KafkaProduce {
            connections,
            produce: Box::default(),
        },
        "kafka-fetch" => ClientSpec::KafkaFetch {
            connections,
            fetch: Box::new(FetchSpec {
                topics: requests.iter().map(|one| one.path.clone()).collect(),
                ..FetchSpec::default()
            }),
        },
        // Requests of another protocol cannot be sent by this client.
        "mongodb" if requests.iter().all(is_mongodb_operation) && !requests.is_empty() => {
            ClientSpec::Mongodb {
                connections,
                data: MongoData::default(),
            }
        }
        other => ClientSpec::Planned {
            name: other.to_owned(),
            connections,
        },
    }
}

/// Methods of requests that are operations on documents.
pub const MONGODB_OPERATIONS: [&str; 4] = ["find", "insert", "update", "delete"];

fn is_mongodb_operation(request: &RequestSpec) -> bool {
    MONGODB_OPERATIONS.contains(&request.method.as_str())
}

/// Merges keys into a client's plan: into its inner part (`produce`, `fetch`) if it has one, else into its own keys.
///
/// # Errors
/// An unknown key, or an invalid value.
pub fn with_keys(client: ClientSpec, keys: &Map<String, Value>) -> Result<ClientSpec, String> {
    if keys.is_empty() {
        return Ok(client);
    }
    let wrong = |error: serde_json::Error| error.to_string();
    let mut text = serde_json::to_value(client).map_err(wrong)?;
    let own = text.as_object_mut().and_then(|own| {
        let inner = own.iter().find(|(_, value)| value.is_object());
        let inner = inner.map(|(name, _)| name.clone());
        match inner {
            Some(name) => own.get_mut(&name).and_then(Value::as_object_mut),
            None => Some(own),
        }
    });
    if let Some(own) = own {
        own.extend(keys.clone());
    }
    serde_json::from_value(text).map_err(wrong)
}

/// An echo returns the bytes that were sent; a response of another size may have any content.
fn echo(request: Option<&RequestSpec>) -> TcpExchange {
    let send_bytes = request.map_or(0, |request| match &request.body {
        Body::Text { text } | Body::Json { text } => text.len() as u64,
        Body::Filler { bytes } => *bytes,
        Body::Base64 { base64 } => base64_bytes(base64),
        Body::None | Body::Messages { .. } | Body::Form { .. } => 0,
    });
    let send_bytes = match send_bytes {
        0 => ECHO_BYTES,
        given => given,
    };
    let expected = request.and_then(|request| match &request.expect.body {
        ExpectBody::Length(bytes) => Some(*bytes),
        ExpectBody::Text(text) => Some(text.len() as u64),
        _ => None,
    });
    TcpExchange::Echo {
        send_bytes,
        expect_bytes: expected.unwrap_or(send_bytes),
        content: match expected {
            Some(bytes) if bytes != send_bytes => TcpContent::Any,
            _ => TcpContent::Pattern,
        },
    }
}

/// Decoded length of a text in base64.
fn base64_bytes(text: &str) -> u64 {
    let letters = text.trim_end_matches('=').len() as u64;
    letters * 3 / 4
}

/// Whether proxies without support for this protocol may forward it as TCP.
#[must_use]
pub fn over_tcp(name: &str) -> OverTcp {
    PROTOCOLS
        .iter()
        .find(|protocol| protocol.name == name)
        .map_or(OverTcp::OnRequest, |protocol| protocol.over_tcp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Expect, ExpectStatus};

    fn request(body: Body, expected: ExpectBody) -> RequestSpec {
        RequestSpec {
            name: "request".into(),
            weight: 1.0,
            method: "GET".into(),
            path: "/".into(),
            headers: Vec::new(),
            body,
            expect: Expect {
                status: ExpectStatus::Success,
                body: expected,
            },
            parts: Default::default(),
        }
    }

    fn sizes(requests: &[RequestSpec]) -> (u64, u64, TcpContent) {
        match client("tcp", 4, requests) {
            ClientSpec::Tcp {
                connections: 4,
                exchange:
                    TcpExchange::Echo {
                        send_bytes,
                        expect_bytes,
                        content,
                    },
            } => (send_bytes, expect_bytes, content),
            other => panic!("{other:?} is no echo"),
        }
    }

    #[test]
    fn load_over_tcp_is_an_echo_as_long_as_the_body_unless_the_answer_has_a_length_of_its_own() {
        let filler = Body::Filler { bytes: 4096 };
        let any = || ExpectBody::Any;
        assert_eq!(sizes(&[]), (100, 100, TcpContent::Pattern));
        let echo = request(filler.clone(), any());
        assert_eq!(sizes(&[echo]), (4096, 4096, TcpContent::Pattern));
        let sized = request(filler, ExpectBody::Length(10));
        assert_eq!(sizes(&[sized]), (4096, 10, TcpContent::Any));
        let bytes = request(
            Body::Base64 {
                base64: "YWI=".into(),
            },
            any(),
        );
        assert_eq!(sizes(&[bytes]), (2, 2, TcpContent::Pattern));
    }
}
