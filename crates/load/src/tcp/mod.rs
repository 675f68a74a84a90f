//! Plain TCP: echo with given sizes, half-closed connections, and throughput.

mod client;
mod conn;
mod exchange;
mod spec;
#[cfg(test)]
mod tests;

pub use client::Tcp;

/// Bytes of one write at most.
const PIECE_BYTES: usize = 128 * 1024;

/// The byte pattern that is sent and expected. Every exchange begins with its first byte. It is longer than
/// [`PIECE_BYTES`] by one period, so that a piece can begin at any byte of the period.
pub(crate) fn pattern() -> Vec<u8> {
    (b'a'..=b'z')
        .cycle()
        .take(PIECE_BYTES + PATTERN_PERIOD)
        .collect()
}

/// Bytes after which the pattern repeats.
const PATTERN_PERIOD: usize = 26;
