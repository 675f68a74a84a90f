//! An exchange over TCP in numbers.

use tare_schema::load::{Direction, TcpContent, TcpExchange};

/// An exchange in numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Bytes there.
    pub send_bytes: u64,
    /// What ends it.
    pub answer: Answer,
    /// What the answer must hold.
    pub content: TcpContent,
    /// Whether blocks follow each other without a border that the other side knows.
    pub flows: bool,
}

/// What ends an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// So many bytes.
    Bytes(u64),
    /// The end of the stream, behind so many bytes if that is known; ours ends behind what was sent.
    ToEnd(Option<u64>),
}

impl From<TcpExchange> for Shape {
    fn from(exchange: TcpExchange) -> Self {
        match exchange {
            TcpExchange::Echo {
                send_bytes,
                expect_bytes,
                content,
            } => Shape {
                send_bytes,
                answer: Answer::Bytes(expect_bytes),
                content,
                flows: false,
            },
            TcpExchange::HalfClose {
                send_bytes,
                expect_bytes,
                content,
            } => Shape {
                send_bytes,
                answer: Answer::ToEnd(expect_bytes),
                content,
                flows: false,
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
                Shape {
                    send_bytes: up,
                    answer: Answer::Bytes(down),
                    content: TcpContent::Any,
                    flows: true,
                }
            }
        }
    }
}
