//! TCP without a protocol above it: sizes there and back, half-closed connections, and as many bytes as go through.

mod client;
mod conn;
mod exchange;
mod shape;
#[cfg(test)]
mod tests;

pub use client::Tcp;

/// Longest piece that is written at once.
const PIECE_BYTES: usize = 128 * 1024;

/// The letters that are sent, and that are expected: every exchange begins with the first of them. The piece is longer by one
/// round, so that it can begin at any letter.
pub(crate) fn pattern() -> Vec<u8> {
    (b'a'..=b'z').cycle().take(PIECE_BYTES + LETTERS).collect()
}

/// Letters of the pattern.
const LETTERS: usize = 26;
