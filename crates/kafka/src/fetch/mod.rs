//! A lean codec for fetches: the request is built once and only patched, the answer read as it arrives, nothing copied.
//!
//! One version is spoken, 12 (Kafka 2.7 and later): topics by name, and no field that a consumer needs was added since.
//! Each fetch is full (no fetch session): with the few partitions of a load, forty bytes a partition are cheaper on both sides
//! than keeping a session.

mod request;
mod scan;
mod section;
mod stream;
#[cfg(test)]
mod tests;

pub use request::{FetchLimits, FetchRequest, Isolation, PartitionToFetch, TopicToFetch};
pub use scan::{Event, FetchScanner};
pub use section::{AnswerHead, FetchError, PartitionHead};
pub use stream::{Bodies, CrcCheck, Scanned};

/// The number of the request.
pub const API_KEY: i16 = 1;

/// The version that is spoken.
pub const VERSION: i16 = 12;

/// Scans whatever is given as the frame of an answer, in pieces: for fuzzers; must return.
///
/// Gives the number of things found, so that the work is not optimised away.
#[must_use]
pub fn fuzz_entry(data: &[u8]) -> usize {
    let (setup, frame) = data.split_at(data.len().min(2));
    let piece_bytes = usize::from(setup.first().copied().unwrap_or(0)).max(1);
    let bodies = match setup.get(1).copied().unwrap_or(0) & 1 {
        0 => Bodies::Pass,
        _ => Bodies::Keep,
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
