//! The TCP client against rubbish: every exchange ends once.

use crate::drive::drive;
use crate::plans;
use tare_load::tcp::Tcp;
use tare_schema::load::{TcpContent, TcpExchange};

/// One input.
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
    drive(Tcp::new(exchange, &plans::connections()), script);
}
