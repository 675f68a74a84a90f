//! Gathers a head or a trailer section that arrived in pieces, and knows where it ends.

/// Capacity kept between exchanges; a larger carry buffer is given back.
const KEEP_BYTES: usize = 4096;

/// The pieces of a split section, up to and including its empty line.
#[derive(Debug, Default)]
pub(super) struct Carry {
    bytes: Vec<u8>,
    line: Line,
}

/// Where in a line the last byte stood.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Line {
    #[default]
    Inside,
    Start,
    StartCr,
}

/// What gathering came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gathered {
    /// An empty line: the section may be complete.
    EmptyLine,
    /// No more input.
    NeedMore,
    /// The section reached the limit without an empty line.
    Full,
}

/// Where a section begins: a trailer section may be just the empty line, a head has a status line first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begins {
    InStatusLine,
    AtLineStart,
}

impl Carry {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes input up to the next empty line, the limit or its end.
    pub(super) fn gather(
        &mut self,
        input: &mut &[u8],
        begins: Begins,
        max_bytes: usize,
    ) -> Gathered {
        if self.bytes.is_empty() {
            self.line = match begins {
                Begins::InStatusLine => Line::Inside,
                Begins::AtLineStart => Line::Start,
            };
        }
        let room = max_bytes.saturating_sub(self.bytes.len());
        let window = &input[..input.len().min(room)];
        let mut ended = None;
        for (index, &byte) in window.iter().enumerate() {
            let empty_line = byte == b'\n' && self.line != Line::Inside;
            self.line = match (byte, self.line) {
                (b'\n', _) => Line::Start,
                (b'\r', Line::Start) => Line::StartCr,
                _ => Line::Inside,
            };
            if empty_line {
                ended = Some(index + 1);
                break;
            }
        }
        let taken = ended.unwrap_or(window.len());
        self.bytes.extend_from_slice(&window[..taken]);
        *input = &input[taken..];
        match ended {
            Some(_) => Gathered::EmptyLine,
            None if self.bytes.len() >= max_bytes => Gathered::Full,
            None => Gathered::NeedMore,
        }
    }

    /// Forgets the section; keeps a small buffer for the next one.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEEP_BYTES);
        self.line = Line::Inside;
    }
}
