//! Options of a load over TCP: what is exchanged.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tare_record::load::{Body, ClientOptions, ExpectBody, RequestSpec};
use tare_record::schemas::JsonSchema;

/// Default size of an exchange.
const ECHO_BYTES: u64 = 100;
/// Largest exchange.
const BYTES_MAX: u64 = 1 << 40;

/// An exchange over TCP. The bytes sent repeat the letters a to z, starting anew with every exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "exchange", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TcpExchange {
    /// Sends `send_bytes`, expects `expect_bytes`.
    Echo {
        /// Bytes to send.
        send_bytes: u64,
        /// Bytes to receive.
        expect_bytes: u64,
        /// Which bytes to receive.
        content: TcpContent,
    },
    /// Sends `send_bytes` and FIN, then reads to the server's FIN; one connection per exchange.
    HalfClose {
        /// Bytes to send.
        send_bytes: u64,
        /// Bytes to receive; `None`: any number.
        expect_bytes: Option<u64>,
        /// Which bytes to receive.
        content: TcpContent,
    },
    /// Unlimited transfer; an exchange is one block.
    Throughput {
        /// Direction of the transfer.
        direction: Direction,
        /// Length of a block.
        block_bytes: u64,
    },
}

/// Which bytes of a response are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpContent {
    /// The letters a to z, repeated.
    Pattern,
    /// Any bytes.
    Any,
}

/// Direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
    /// Both at the same time, on each connection.
    Both,
}

impl ClientOptions for TcpExchange {
    const PROTOCOL: &'static str = "tcp";
}

/// An echo of the size of a request's body. A response of another size may have any content.
pub(super) fn echo(request: Option<&RequestSpec>) -> TcpExchange {
    let send_bytes = match request.map_or(0, |request| body_bytes(&request.body)) {
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

/// Length of a body; 0 for one that only HTTP has.
pub(crate) fn body_bytes(body: &Body) -> u64 {
    match body {
        Body::Text { text } | Body::Json { text } => text.len() as u64,
        Body::Filler { bytes } => *bytes,
        Body::Base64 { base64 } => STANDARD
            .decode(base64)
            .map_or(0, |bytes| bytes.len() as u64),
        Body::None | Body::Messages { .. } | Body::Form { .. } => 0,
    }
}

/// Checks sizes.
pub(super) fn check(exchange: TcpExchange) -> Result<(), String> {
    let (sent, expected) = match exchange {
        TcpExchange::Echo {
            send_bytes,
            expect_bytes,
            ..
        } => (send_bytes, expect_bytes),
        TcpExchange::HalfClose {
            send_bytes,
            expect_bytes,
            ..
        } => (send_bytes, expect_bytes.unwrap_or(1)),
        TcpExchange::Throughput { block_bytes, .. } => (block_bytes, block_bytes.min(1)),
    };
    for bytes in [sent, expected] {
        if bytes > BYTES_MAX {
            return Err(format!(
                "a size in bytes is {bytes}, but must be at most 1 TiB"
            ));
        }
    }
    match (exchange, sent, expected) {
        (TcpExchange::HalfClose { .. }, ..) => Ok(()),
        // An exchange must send something to begin, and expect something to end.
        (TcpExchange::Echo { .. }, 0, _) => {
            Err("the number of bytes to send is 0, but must be at least 1".into())
        }
        (_, _, 0) => Err("the number of bytes of an exchange is 0, but must be at least 1".into()),
        _ => Ok(()),
    }
}

/// Sizes and end of an exchange.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExchangeSpec {
    /// Bytes to send.
    pub send_bytes: u64,
    /// What ends the response.
    pub answer: ResponseEnd,
    /// Expected content of the response.
    pub content: TcpContent,
    /// Throughput: blocks follow each other as one stream; the peer does not know their boundaries.
    pub is_throughput: bool,
}

/// What ends the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseEnd {
    /// A number of bytes.
    Bytes(u64),
    /// The end of the stream, after a number of bytes if that is known. The client half-closes after sending.
    UntilEof(Option<u64>),
}

impl From<TcpExchange> for ExchangeSpec {
    fn from(exchange: TcpExchange) -> Self {
        match exchange {
            TcpExchange::Echo {
                send_bytes,
                expect_bytes,
                content,
            } => ExchangeSpec {
                send_bytes,
                answer: ResponseEnd::Bytes(expect_bytes),
                content,
                is_throughput: false,
            },
            TcpExchange::HalfClose {
                send_bytes,
                expect_bytes,
                content,
            } => ExchangeSpec {
                send_bytes,
                answer: ResponseEnd::UntilEof(expect_bytes),
                content,
                is_throughput: false,
            },
            TcpExchange::Throughput {
                direction,
                block_bytes,
            } => {
                let (up, down) = match direction {
                    Direction::Up => (block_bytes, 0),
                    Direction::Down => (0, block_bytes),
                    Direction::Both => (block_bytes, block_bytes),
                };
                ExchangeSpec {
                    send_bytes: up,
                    answer: ResponseEnd::Bytes(down),
                    content: TcpContent::Any,
                    is_throughput: true,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(body: Body, expected: ExpectBody) -> (u64, u64, TcpContent) {
        let mut load = crate::Load::get("http://127.0.0.1/").unwrap();
        let request = &mut load.plan_mut().load.requests[0];
        (request.body, request.expect.body) = (body, expected);
        match echo(Some(request)) {
            TcpExchange::Echo {
                send_bytes,
                expect_bytes,
                content,
            } => (send_bytes, expect_bytes, content),
            other => panic!("{other:?} is no echo"),
        }
    }

    #[test]
    fn load_over_tcp_is_an_echo_as_long_as_the_body_unless_the_answer_has_a_length_of_its_own() {
        let filler = || Body::Filler { bytes: 4096 };
        let any = || ExpectBody::Any;
        assert_eq!(sizes(Body::None, any()), (100, 100, TcpContent::Pattern));
        assert_eq!(sizes(filler(), any()), (4096, 4096, TcpContent::Pattern));
        let sized = sizes(filler(), ExpectBody::Length(10));
        assert_eq!(sized, (4096, 10, TcpContent::Any));
        let base64 = "YWI=".into();
        assert_eq!(
            sizes(Body::Base64 { base64 }, any()),
            (2, 2, TcpContent::Pattern)
        );
    }
}
