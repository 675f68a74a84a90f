//! What a server sends between two responses: one line end, or the refusal of an idle connection.

/// Beginning of a response with status 408; `?` is any digit.
const IDLE_TIMEOUT: &[u8] = b"HTTP/1.? 408";

/// State of the bytes since the last response.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Interlude {
    line_end: LineEnd,
    /// Bytes of [`IDLE_TIMEOUT`] that were read while no request was waiting.
    unasked_bytes: usize,
}

/// Of the line end that old servers send behind a body, beyond its length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LineEnd {
    /// None is skipped: there was no response yet, or one line end was skipped.
    #[default]
    Done,
    Possible,
    /// Its carriage return was read.
    AfterCr,
}

/// What unsolicited bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unasked {
    NeedMore,
    /// A response with status 408.
    IdleTimeout,
    Other,
}

impl Interlude {
    /// Behind a response.
    pub(super) fn after_answer() -> Self {
        Self {
            line_end: LineEnd::Possible,
            unasked_bytes: 0,
        }
    }

    /// Removes a line end, or a part of one, from the front of the input; false if there is none.
    #[inline]
    pub(super) fn skip_line_end(&mut self, input: &mut &[u8]) -> bool {
        let (&byte, rest) = match (self.line_end, input.split_first()) {
            (LineEnd::Done, _) | (_, None) => return false,
            (_, Some(first)) => first,
        };
        self.line_end = match (self.line_end, byte) {
            (LineEnd::Possible, b'\r') => LineEnd::AfterCr,
            (LineEnd::AfterCr, b'\n') => LineEnd::Done,
            _ => {
                self.line_end = LineEnd::Done;
                return false;
            }
        };
        *input = rest;
        true
    }

    /// Whether unsolicited bytes were read whose kind is not known yet.
    #[inline]
    pub(super) fn is_read_on(&self) -> bool {
        self.unasked_bytes > 0
    }

    /// Reads unsolicited bytes as far as needed to tell what they are.
    #[cold]
    pub(super) fn read_unasked(&mut self, input: &mut &[u8]) -> Unasked {
        while let Some((&byte, rest)) = input.split_first() {
            match IDLE_TIMEOUT.get(self.unasked_bytes) {
                Some(b'?') if byte.is_ascii_digit() => {}
                Some(&expected) if expected == byte => {}
                _ => return Unasked::Other,
            }
            self.unasked_bytes += 1;
            if self.unasked_bytes == IDLE_TIMEOUT.len() {
                return Unasked::IdleTimeout;
            }
            *input = rest;
        }
        Unasked::NeedMore
    }
}
