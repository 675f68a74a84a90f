//! Buffers a head or a trailer section that arrives in pieces, and finds its end.

/// Buffer capacity kept between exchanges; more is freed.
const KEEP_BYTES: usize = 4096;

/// The received part of a section, at most up to its empty line.
#[derive(Debug, Default)]
pub(super) struct PartialInput {
    bytes: Vec<u8>,
    line: Line,
}

/// Position of the last byte within its line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Line {
    #[default]
    Inside,
    Start,
    StartCr,
}

/// Why [`PartialInput::gather`] stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gathered {
    /// An empty line: the section may be complete.
    EmptyLine,
    /// No more input.
    NeedMore,
    /// The section reached the limit without an empty line.
    Full,
}

/// How a section begins: a head with a status line; a trailer section may consist of the empty line only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionStart {
    InStatusLine,
    AtLineStart,
}

impl PartialInput {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Consumes input up to the next empty line, the limit or the end of the input.
    pub(super) fn gather(
        &mut self,
        input: &mut &[u8],
        start: SectionStart,
        max_bytes: usize,
    ) -> Gathered {
        if self.bytes.is_empty() {
            self.line = match start {
                SectionStart::InStatusLine => Line::Inside,
                SectionStart::AtLineStart => Line::Start,
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

    /// Clears the section and frees capacity beyond [`KEEP_BYTES`].
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEEP_BYTES);
        self.line = Line::Inside;
    }
}
