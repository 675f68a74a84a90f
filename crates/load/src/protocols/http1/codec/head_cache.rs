//! Cache of the last response head: under load a server sends the same bytes again and again, and comparing them costs a
//! tenth of parsing.

use super::head::HeadFacts;

/// Longest head in the cache: for longer ones, comparing and copying cost as much as they save.
const HEAD_BYTES_MAX: usize = 1024;

/// The last head that was parsed, with the result, for all connections of a client. The result depends only on the bytes up
/// to the empty line.
#[derive(Debug)]
pub struct HeadCache {
    bytes: Vec<u8>,
    facts: Option<HeadFacts>,
}

impl HeadCache {
    /// An empty cache; allocates its memory at once.
    #[must_use]
    pub fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(HEAD_BYTES_MAX),
            facts: None,
        }
    }

    /// The parsed head, if the input begins with the cached one.
    #[inline]
    pub(super) fn lookup(&self, input: &[u8]) -> Option<HeadFacts> {
        let facts = self.facts?;
        input.starts_with(&self.bytes).then_some(facts)
    }

    /// Stores a head that was parsed from the beginning of the input.
    pub(super) fn keep(&mut self, input: &[u8], facts: HeadFacts) {
        self.facts = None;
        if facts.head_bytes > HEAD_BYTES_MAX {
            return;
        }
        if let Some(head) = input.get(..facts.head_bytes) {
            self.bytes.clear();
            self.bytes.extend_from_slice(head);
            self.facts = Some(facts);
        }
    }
}

impl Default for HeadCache {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::protocols::http1::codec::{Codec, CodecError, End, Keep, Limits, RequestKind};

    const ANSWERS: [&[u8]; 10] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n X: y\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nContent-Length: 2\r\nSet-Cookie: b=2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nSet-Cookie: a=3\r\nContent-Length: 2\r\n\r\nok",
    ];

    /// The end of a response on a new connection, and the cookies it sets.
    fn read(
        pieces: &[&[u8]],
        head_cache: Option<&mut HeadCache>,
    ) -> Result<Option<End>, CodecError> {
        read_keeping(Keep::Nothing, pieces, head_cache).map(|(end, _)| end)
    }

    fn read_keeping(
        keep: Keep,
        pieces: &[&[u8]],
        mut head_cache: Option<&mut HeadCache>,
    ) -> Result<(Option<End>, Vec<u8>), CodecError> {
        let mut codec = Codec::new(Limits::default());
        codec.keep(keep);
        codec.begin(RequestKind::Ordinary).unwrap();
        let mut end = None;
        let mut cookies = Vec::new();
        for piece in pieces {
            let mut feed = match head_cache.as_deref_mut() {
                Some(head_cache) => codec.feed_cached(piece, head_cache),
                None => codec.feed(piece),
            };
            while let Some(event) = feed.next() {
                match event? {
                    crate::protocols::http1::codec::Event::Head(_) => {
                        cookies = feed.watched().to_vec()
                    }
                    crate::protocols::http1::codec::Event::End(ended) => end = Some(ended),
                    _ => {}
                }
            }
        }
        Ok((end, cookies))
    }

    proptest! {
        #[test]
        fn answers_read_the_same_with_and_without_memory(
            order in prop::collection::vec((0..ANSWERS.len(), 0..80_usize), 1..30),
        ) {
            let mut head_cache = HeadCache::new();
            for (which, cut) in order {
                let (front, back) = ANSWERS[which].split_at(cut.min(ANSWERS[which].len()));
                let pieces = [front, back];
                for keep in [Keep::Nothing, Keep::Cookies] {
                    prop_assert_eq!(
                        read_keeping(keep, &pieces, Some(&mut head_cache)),
                        read_keeping(keep, &pieces, None)
                    );
                }
            }
        }
    }

    #[test]
    fn the_same_head_is_recalled_and_the_begin_of_another_is_not() {
        let mut head_cache = HeadCache::new();
        assert!(read(&[ANSWERS[0]], Some(&mut head_cache)).is_ok());
        let recalled = head_cache.lookup(ANSWERS[1]).unwrap();
        assert_eq!(recalled.head_bytes, ANSWERS[0].len() - 2);
        assert_eq!(head_cache.lookup(ANSWERS[2]), None);
        assert_eq!(
            head_cache.lookup(&ANSWERS[0][..20]),
            None,
            "a part of it is not it"
        );
    }
}
