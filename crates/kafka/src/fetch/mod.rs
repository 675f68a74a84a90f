//! A fetch codec without copies: the request is built once and patched; the response is parsed as it arrives.
//!
//! Version 12 only (Kafka 2.7 and later): topics by name; later versions add no field that a consumer needs. Every fetch is
//! full (no fetch session): with the few partitions of a load, forty bytes per partition cost both sides less than a session.

mod request;
mod scan;
mod section;
mod stream;
#[cfg(test)]
mod tests;

pub use request::{FetchLimits, FetchRequest, Isolation, PartitionToFetch, TopicToFetch};
pub use scan::{Event, FetchScanner};
pub use section::{AnswerHead, FetchError, PartitionHead};
pub use stream::{BodyMode, CrcCheck, Scanned};

pub const API_KEY: i16 = 1;

/// The version used.
pub const VERSION: i16 = 12;

/// Scans arbitrary bytes as a response frame, in pieces. For fuzzers; must return.
///
/// Returns the number of events, so that the work is not optimised away.
#[must_use]
pub fn fuzz_entry(data: &[u8]) -> usize {
    let (setup, frame) = data.split_at(data.len().min(2));
    let piece_bytes = usize::from(setup.first().copied().unwrap_or(0)).max(1);
    let bodies = match setup.get(1).copied().unwrap_or(0) & 1 {
        0 => BodyMode::Skip,
        _ => BodyMode::Keep,
    };
    let mut scanner = FetchScanner::new(CrcCheck::On, bodies);
    scanner.begin(frame.len());
    let mut found = 0;
    for piece in frame.chunks(piece_bytes) {
        let mut rest = piece;
        loop {
            match scanner.next(&mut rest) {
                Err(_) => return found,
                Ok(None) => break,
                Ok(Some(_)) => found += 1,
            }
        }
    }
    found
}
