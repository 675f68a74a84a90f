//! The TCP client against malformed input: every exchange ends once.

use crate::fixtures;
use crate::script::run_script;
use tare_load::protocols::tcp::{Tcp, TcpContent, TcpExchange};

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((&kind, script)) = data.split_first() else {
        return;
    };
    let exchange = match kind % 3 {
        0 => TcpExchange::Echo {
            send_bytes: 3,
            expect_bytes: 200,
            content: TcpContent::Pattern,
        },
        1 => TcpExchange::Echo {
            send_bytes: 300_000,
            expect_bytes: 4,
            content: TcpContent::Any,
        },
        _ => TcpExchange::HalfClose {
            send_bytes: 10,
            expect_bytes: Some(10),
            content: TcpContent::Pattern,
        },
    };
    run_script(Tcp::new(exchange, &fixtures::connections()), script);
}
