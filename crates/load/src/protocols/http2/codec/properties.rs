//! Properties: the split does not matter; arbitrary bytes never panic and always end.

use proptest::prelude::*;

use super::tests::{Decoded, block, raw, settings, tell};
use super::{Limits, fuzz_entry};
use crate::protocols::http1::codec::properties::cut;

fn some_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..40)
}

/// Frames that are valid or nearly so.
fn near_frame() -> impl Strategy<Value = Vec<u8>> {
    let stream = prop::sample::select(vec![0u32, 1, 1, 1, 3, 3, 5, 2]);
    let any_frame = (0u8..11, any::<u8>(), stream.clone(), some_bytes())
        .prop_map(|(kind, flags, stream, payload)| raw(kind, flags, stream, &payload));
    let data = (
        prop::sample::select(vec![0u8, 1]),
        stream.clone(),
        some_bytes(),
    )
        .prop_map(|(flags, stream, payload)| raw(0, flags, stream | 1, &payload));
    let padded = (some_bytes(), 0u8..9).prop_map(|(bytes, padding)| {
        let payload = [&[padding][..], &bytes, &vec![0; usize::from(padding)]].concat();
        raw(0, 8, 1, &payload)
    });
    let headers = (0u8..4, stream).prop_map(|(kind, stream)| {
        let fields = block(&[(":status", "200"), ("server", "x"), ("content-length", "7")]);
        let inserting = [&[0x88, 0x40, 1, b'a', 1, b'b', 0xbe][..], &fields[1..]].concat();
        let (a, b) = fields.split_at(3);
        match kind {
            0 => raw(1, 4, stream | 1, &fields),
            1 => raw(1, 5, stream | 1, &inserting),
            2 => [raw(1, 1, stream | 1, a), raw(9, 4, stream | 1, b)].concat(),
            _ => raw(1, 4, stream | 1, a),
        }
    });
    let control = prop::sample::select(vec![
        raw(6, 0, 0, b"12345678"),
        raw(4, 1, 0, &[]),
        raw(8, 0, 1, &[0, 0, 0, 7]),
        raw(3, 0, 3, &[0, 0, 0, 8]),
        raw(7, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0, b'x']),
        settings(&[(3, 100), (4, 70_000)]),
        raw(2, 0, 1, &[0; 5]),
        raw(0x77, 0, 9, b"unknown"),
    ]);
    prop_oneof![3 => data, 3 => headers, 3 => control, 1 => padded, 1 => any_frame]
}

fn near_http2() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(near_frame(), 0..20)
        .prop_map(|frames| [settings(&[]), frames.concat()].concat())
}

proptest! {
    #[test]
    fn any_split_tells_the_same(
        stream in near_http2(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let limits = Limits { unproductive_max: 8, reply_frames_max: 4, block_bytes_max: 60, ..Limits::default() };
        let whole = tell(limits, [&stream[..]]);
        prop_assert_eq!(tell(limits, cut(&stream, &cuts)), whole.clone());
        prop_assert_eq!(tell(limits, stream.chunks(1)), whole);
    }

    #[test]
    fn data_is_told_byte_for_byte_and_its_window_whole(
        bodies in prop::collection::vec((some_bytes(), 0u8..20), 1..10),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let frames = bodies.iter().map(|(body, padding)| {
            raw(0, 8, 1, &[&[*padding][..], body, &vec![0; usize::from(*padding)]].concat())
        });
        let stream = std::iter::once(settings(&[])).chain(frames).collect::<Vec<_>>().concat();
        let told = tell(Limits::default(), cut(&stream, &cuts));
        let expected: Vec<u8> = bodies.iter().flat_map(|(body, _)| body.clone()).collect();
        let paid: usize = bodies.iter().map(|(body, padding)| body.len() + 1 + usize::from(*padding)).sum();
        let Some(Decoded::Data { bytes, window_bytes, .. }) = told.last() else {
            return Err(TestCaseError::fail(format!("{told:?}")));
        };
        prop_assert_eq!(bytes, &expected);
        prop_assert_eq!(*window_bytes as usize, paid);
    }

    #[test]
    fn malformed_input_never_panics_and_always_ends(data in prop::collection::vec(any::<u8>(), 0..600), near in near_http2()) {
        // Every event consumes at least a frame's head or a byte of data.
        prop_assert!(fuzz_entry(&data) <= data.len() + 1);
        let near = [&data[..data.len().min(1)], &near, &data].concat();
        prop_assert!(fuzz_entry(&near) <= near.len() + 1);
    }
}
