//! Something to measure.

/// Doubled by a test: the slowdown that is to be found.
pub const ROUNDS: u32 = 1;

/// A checksum of bytes.
pub fn encode(data: &[u8]) -> u32 {
    let mut hash = 2_166_136_261_u32;
    for _ in 0..ROUNDS {
        for one in data {
            hash = (hash ^ u32::from(*one)).wrapping_mul(16_777_619);
        }
    }
    hash
}
