//! Entry point of the fuzz target and of the property tests.

use super::{Codec, Limits};

/// Feeds arbitrary bytes as a server's frames. The first byte chooses the split. Must return.
///
/// Returns the number of events, so that the work is not optimised away.
#[must_use]
pub fn fuzz_entry(data: &[u8]) -> usize {
    let (setup, stream) = data.split_at(data.len().min(1));
    let piece_bytes = usize::from(setup.first().copied().unwrap_or(0)).max(1);
    let mut codec = Codec::new(Limits::default());
    let mut events = 0;
    for piece in stream.chunks(piece_bytes) {
        let mut input = piece;
        while let Ok(Some(_)) = codec.next(&mut input) {
            events += 1;
        }
    }
    events
}
