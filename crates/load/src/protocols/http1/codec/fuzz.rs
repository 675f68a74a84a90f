//! Entry point of the fuzz target and of the property tests.

use super::{Codec, Limits, RequestKind};

/// Feeds arbitrary bytes as a server's responses. The first two bytes choose the request kinds and the split. Must return.
///
/// Returns the number of events, so that the work is not optimised away.
#[must_use]
pub fn fuzz_entry(data: &[u8]) -> usize {
    let (setup, stream) = data.split_at(data.len().min(2));
    let kinds = setup.first().copied().unwrap_or(0);
    let piece_bytes = usize::from(setup.get(1).copied().unwrap_or(0)).max(1);
    let mut codec = Codec::new(Limits {
        head_bytes_max: 256,
        ..Limits::default()
    });
    for shift in 0..4 {
        let kind = match (kinds >> (2 * shift)) & 3 {
            0 | 1 => RequestKind::Ordinary,
            2 => RequestKind::Head,
            _ => RequestKind::Connect,
        };
        if codec.begin(kind).is_err() {
            break;
        }
    }
    let fed: usize = stream
        .chunks(piece_bytes)
        .map(|piece| codec.feed(piece).count())
        .sum();
    fed + usize::from(codec.eof().is_ok())
}
