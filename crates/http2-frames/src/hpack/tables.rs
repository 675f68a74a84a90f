//! The static table of RFC 7541 appendix A and the dynamic table of section 2.3.2.

use std::collections::VecDeque;

/// The static table; index 1 is its first entry.
pub static STATIC: [(&[u8], &[u8]); 61] = [
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
];

/// Size of an entry in addition to its name and value (RFC 7541 §4.1).
pub const ENTRY_OVERHEAD_BYTES: usize = 32;

/// The dynamic table. Entries are stored one after another in one buffer, which is compacted now and then: no entry has an
/// allocation of its own.
#[derive(Debug)]
pub struct Dynamic {
    /// Newest first.
    entries: VecDeque<Entry>,
    arena: Vec<u8>,
    /// Sum over the entries, with overhead.
    size_bytes: usize,
    max_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: usize,
    name_bytes: usize,
    value_bytes: usize,
}

impl Entry {
    fn size_bytes(self) -> usize {
        self.name_bytes + self.value_bytes + ENTRY_OVERHEAD_BYTES
    }
}

impl Dynamic {
    /// An empty table of at most this size.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            arena: Vec::new(),
            size_bytes: 0,
            max_bytes,
        }
    }

    /// Empty again, of at most this size.
    pub fn reset(&mut self, max_bytes: usize) {
        self.entries.clear();
        self.arena.clear();
        self.size_bytes = 0;
        self.max_bytes = max_bytes;
    }

    /// The entry at an index counted from the newest, 0.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entries.get(index)?;
        let bytes = self.arena.get(entry.start..)?;
        let (name, rest) = bytes.split_at_checked(entry.name_bytes)?;
        Some((name, rest.get(..entry.value_bytes)?))
    }

    /// Changes the size, evicting what no longer fits.
    pub fn resize(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
        self.evict_to(max_bytes);
    }

    /// Adds an entry; one larger than the table empties it and is not added (RFC 7541 §4.4).
    pub fn add(&mut self, name: &[u8], value: &[u8]) {
        let new_bytes = name.len() + value.len() + ENTRY_OVERHEAD_BYTES;
        if new_bytes > self.max_bytes {
            self.evict_to(0);
            return;
        }
        self.evict_to(self.max_bytes - new_bytes);
        self.compact();
        self.entries.push_front(Entry {
            start: self.arena.len(),
            name_bytes: name.len(),
            value_bytes: value.len(),
        });
        self.arena.extend_from_slice(name);
        self.arena.extend_from_slice(value);
        self.size_bytes += new_bytes;
    }

    /// Sum over the entries, with overhead.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    fn evict_to(&mut self, bytes: usize) {
        while self.size_bytes > bytes {
            let Some(entry) = self.entries.pop_back() else {
                return;
            };
            self.size_bytes -= entry.size_bytes();
        }
    }

    /// Moves the live entries to the front once the evicted bytes before them exceed the size of the table.
    fn compact(&mut self) {
        let oldest = self
            .entries
            .back()
            .map_or(self.arena.len(), |entry| entry.start);
        if oldest <= self.max_bytes {
            return;
        }
        self.arena.copy_within(oldest.., 0);
        self.arena.truncate(self.arena.len() - oldest);
        for entry in &mut self.entries {
            entry.start -= oldest;
        }
    }
}
