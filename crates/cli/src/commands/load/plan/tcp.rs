//! The TCP exchange of the arguments.

use anyhow::bail;
use tare_load::protocols::tcp::{TcpContent, TcpExchange};

use super::super::args::{Args, TcpArgs};
use super::super::target::LoadUrl;

/// Default bytes of an exchange.
const SEND_BYTES: u64 = 100;
/// Default bytes of a block: small enough for many per second, large enough that the bytes dominate the cost.
const BLOCK_BYTES: u64 = 1 << 20;

/// The exchange of the URL and the arguments; `None` for another protocol.
pub(super) fn exchange(args: &Args, target: &LoadUrl) -> anyhow::Result<Option<TcpExchange>> {
    if args.protocol.connect_only || args.protocol.handshakes {
        return Ok(None);
    }
    if target.is("tcp") {
        return Ok(Some(of(&args.tcp)));
    }
    match args.tcp.given() {
        Some(flag) => bail!(
            "{flag} is for TCP alone: write tcp://{0} or tls://{0}",
            target.host
        ),
        None => Ok(None),
    }
}

fn of(args: &TcpArgs) -> TcpExchange {
    let content = match args.any_content {
        true => TcpContent::Any,
        false => TcpContent::Pattern,
    };
    let send_bytes = args.send.map(|size| size.0);
    let expect_bytes = args.expect_size.map(|size| size.0);
    match (args.throughput, args.half_close) {
        (Some(direction), _) => TcpExchange::Throughput {
            direction: direction.into(),
            block_bytes: send_bytes.unwrap_or(BLOCK_BYTES),
        },
        (None, true) => TcpExchange::HalfClose {
            send_bytes: send_bytes.unwrap_or(SEND_BYTES),
            expect_bytes,
            content,
        },
        (None, false) => {
            let send_bytes = send_bytes.unwrap_or(SEND_BYTES);
            TcpExchange::Echo {
                send_bytes,
                expect_bytes: expect_bytes.unwrap_or(send_bytes),
                content,
            }
        }
    }
}
