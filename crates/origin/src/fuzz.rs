//! The entry point for fuzzers: one connection of the origin against a client that sends rubbish.

use std::sync::Arc;

use crate::chance::Chance;
use crate::counters::{AllCounters, Counters};
use crate::mongodb::SharedDatabase;
use crate::options::{Limits, Speaks, TcpMode, TcpSizes};
use crate::protocol::{Next, Protocol};
use crate::service::{Life, Service};
use crate::speaker::Speaker;
use crate::stall::Stalls;

/// Calls of `resume` in a row that are followed.
const RESUMES_MAX: u32 = 64;
/// What one connection may make the origin send for one script.
const OUTPUT_BYTES_MAX: usize = 64 << 20;

/// Feeds rubbish as a client would: the first two bytes choose the protocol and the split. Must return.
///
/// Gives the number of bytes answered, so that the work is not optimised away.
#[must_use]
pub fn fuzz_entry(data: &[u8]) -> usize {
    let (setup, stream) = data.split_at(data.len().min(2));
    let speaks = match setup.first().copied().unwrap_or(0) % 7 {
        0 | 1 => Speaks::Auto,
        2 => Speaks::Http1,
        3 => Speaks::Http2,
        4 => Speaks::Tcp(TcpMode::Echo),
        5 => Speaks::Mongodb,
        _ => Speaks::Tcp(TcpMode::Sized(TcpSizes {
            request_bytes: 3,
            answer_bytes: 5,
        })),
    };
    let piece_bytes = usize::from(setup.get(1).copied().unwrap_or(0)).max(1);
    let counters = Arc::new(Counters::new());
    let mut service = Service {
        limits: Limits::default(),
        changes: Vec::new(),
        chance: Chance::new(1, 0),
        counters: Arc::clone(&counters),
        all: AllCounters(vec![counters]),
        stalls: Arc::new(Stalls::new()),
        database: SharedDatabase::new(1),
        life: Life::Serving,
    };
    let mut speaker = Speaker::new(speaks, &service);
    let mut out = Vec::new();
    let mut answered = 0;
    let mut next = speaker.open(&mut service, &mut out);
    for piece in stream.chunks(piece_bytes) {
        for _ in 0..RESUMES_MAX {
            answered += out.len();
            out.clear();
            match next {
                Next::Resume | Next::Wait(_) => next = speaker.resume(&mut service, &mut out),
                Next::Serve(_) => {
                    next = speaker.resume(&mut service, &mut out);
                    break;
                }
                Next::Read => break,
                Next::Close | Next::Reset => return answered,
            }
        }
        if answered > OUTPUT_BYTES_MAX || matches!(next, Next::Resume | Next::Wait(_)) {
            return answered;
        }
        next = speaker.receive(piece, Some(77), &mut service, &mut out);
    }
    let _ = speaker.ended();
    speaker.farewell(&mut out);
    answered + out.len()
}
