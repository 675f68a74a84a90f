//! Sizes and end of an exchange over TCP.

use super::{Direction, TcpContent, TcpExchange};

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
