//! Properties: the split does not matter; arbitrary bytes never panic and always end.

use proptest::prelude::*;

use super::tests::{Decoded, tell};
use super::{Limits, RequestKind, fuzz_entry};

/// Cuts a stream at the given positions (taken modulo its length).
pub(crate) fn cut<'a>(stream: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
    at.sort_unstable();
    let mut pieces = Vec::new();
    let mut start = 0;
    for position in at {
        pieces.push(&stream[start..position]);
        start = position;
    }
    pieces.push(&stream[start..]);
    pieces
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..200)
}

/// A valid response with a known body, in one of the framings.
fn answer() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let length = body().prop_map(|body| {
        let mut bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        (
            std::mem::take(&mut bytes)
                .into_bytes()
                .into_iter()
                .chain(body.clone())
                .collect(),
            body,
        )
    });
    let chunked = prop::collection::vec(body(), 0..4).prop_map(|chunks| {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
            bytes.extend_from_slice(format!("{:x};ext\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\nT: x\r\n\r\n");
        (bytes, chunks.concat())
    });
    let interim = Just((
        b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 204 None\r\n\r\n".to_vec(),
        vec![],
    ));
    prop_oneof![length, chunked, interim]
}

/// Streams of elements that the codec knows, in any order, with arbitrary bytes between.
fn near_http() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(vec![
        &b"HTTP/1.1 200 OK\r\n"[..],
        b"HTTP/1.0 200 OK\r\n",
        b"HTTP/1.1 100 C\r\n\r\n",
        b"HTTP/2 200\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: 6\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b" ",
        b":",
        b"hello",
        b"5\r\nhello\r\n",
        b"0\r\n\r\n",
        b"0;x\r\nA: b\r\n",
        b"fffffffff\r\n",
    ])
    .prop_map(<[u8]>::to_vec);
    let any_bytes = prop::collection::vec(any::<u8>(), 0..6);
    prop::collection::vec(prop_oneof![8 => token, 1 => any_bytes], 0..16)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_split_of_right_answers_tells_the_same(
        answers in prop::collection::vec(answer(), 1..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let stream: Vec<u8> = answers.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let kinds = vec![RequestKind::Ordinary; answers.len()];
        let whole = tell(Limits::default(), &kinds, [&stream[..]]);
        prop_assert_eq!(&tell(Limits::default(), &kinds, cut(&stream, &cuts)), &whole);
        let mut told = whole.into_iter();
        for (_, body) in &answers {
            prop_assert!(matches!(told.next(), Some(Decoded::Head(_))));
            if !body.is_empty() {
                prop_assert_eq!(told.next(), Some(Decoded::Body(body.clone())));
            }
            match told.next() {
                Some(Decoded::End(end)) => prop_assert_eq!(end.body_bytes, body.len() as u64),
                other => prop_assert!(false, "{:?} instead of the end", other),
            }
        }
        prop_assert_eq!(told.next(), None);
    }

    #[test]
    fn any_split_of_wrong_answers_tells_the_same_fault(
        stream in near_http(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let kinds = [RequestKind::Ordinary, RequestKind::Head, RequestKind::Ordinary];
        let limits = Limits { head_bytes_max: 64, interim_max: 2, ..Limits::default() };
        let whole = tell(limits, &kinds, [&stream[..]]);
        prop_assert_eq!(tell(limits, &kinds, cut(&stream, &cuts)), whole);
    }

    #[test]
    fn malformed_input_never_panics_and_always_ends(
        data in prop::collection::vec(any::<u8>(), 0..600),
        near in near_http(),
    ) {
        // Every event but the ends of bodiless answers consumes a byte.
        prop_assert!(fuzz_entry(&data) <= 2 * data.len() + 5);
        let near = [&data[..data.len().min(2)], &near].concat();
        prop_assert!(fuzz_entry(&near) <= 2 * near.len() + 5);
    }
}
