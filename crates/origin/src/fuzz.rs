//! Entry point for fuzzing: one connection of the origin with arbitrary input.

use std::sync::Arc;

use crate::any_protocol::AnyProtocol;
use crate::counters::{AllCounters, Counters};
use crate::delay::Rng;
use crate::mongodb::SharedDatabase;
use crate::options::{Limits, ServerProtocol, TcpMode, TcpSizes};
use crate::protocol::{Next, Protocol};
use crate::service::Service;
use crate::stall::Stalls;

/// Limit of consecutive calls of `resume`.
const RESUMES_MAX: u32 = 64;
/// Limit of output for one input.
const OUTPUT_BYTES_MAX: usize = 64 << 20;

/// Feeds arbitrary bytes as a client would send them: the first two select the protocol and the size of pieces. Must return.
///
/// Returns the number of bytes of output, so that the work is not optimised away.
#[must_use]
pub fn fuzz_entry(data: &[u8]) -> usize {
    let (setup, stream) = data.split_at(data.len().min(2));
    let protocol = match setup.first().copied().unwrap_or(0) % 7 {
        0 | 1 => ServerProtocol::Auto,
        2 => ServerProtocol::Http1,
        3 => ServerProtocol::Http2,
        4 => ServerProtocol::Tcp(TcpMode::Echo),
        5 => ServerProtocol::Mongodb,
        _ => ServerProtocol::Tcp(TcpMode::Sized(TcpSizes {
            request_bytes: 3,
            answer_bytes: 5,
        })),
    };
    let piece_bytes = usize::from(setup.get(1).copied().unwrap_or(0)).max(1);
    let counters = Arc::new(Counters::default());
    let mut service = Service {
        limits: Limits::default(),
        overrides: Vec::new(),
        rng: Rng::new(1, 0),
        counters: Arc::clone(&counters),
        all: AllCounters(vec![counters]),
        stalls: Arc::new(Stalls::new()),
        database: SharedDatabase::new(),
        held_bytes: 0,
        is_ending: false,
    };
    let mut any_protocol = AnyProtocol::new(protocol, &service);
    let mut out = Vec::new();
    let mut answered = 0;
    let mut next = any_protocol.open(&mut service, &mut out);
    for piece in stream.chunks(piece_bytes) {
        for _ in 0..RESUMES_MAX {
            answered += out.len();
            out.clear();
            match next {
                Next::Resume | Next::Wait(_) => next = any_protocol.resume(&mut service, &mut out),
                Next::Serve(_) => {
                    next = any_protocol.resume(&mut service, &mut out);
                    break;
                }
                Next::Read => break,
                Next::Close | Next::Reset => return answered,
            }
        }
        if answered > OUTPUT_BYTES_MAX || matches!(next, Next::Resume | Next::Wait(_)) {
            return answered;
        }
        next = any_protocol.receive(piece, Some(77), &mut service, &mut out);
    }
    let _ = any_protocol.ended();
    any_protocol.announce_close(&mut out);
    answered + out.len()
}
