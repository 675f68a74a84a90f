//! Decodes the chunk framing of a body (RFC 9112 §7.1), byte by byte outside the data.

use super::error::CodecError;

/// Which element of the chunk framing comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkState {
    /// Before the first digit of a size.
    SizeStart,
    /// After at least one digit.
    Size,
    /// After spaces or tabs that follow the size.
    SizeSpace,
    /// Within an extension.
    Extension,
    /// After the carriage return of a size line.
    SizeLf,
    /// Within data.
    Data,
    /// After the data, before its carriage return.
    DataCr,
    /// After the carriage return that follows the data.
    DataLf,
    /// After the size line of the last chunk.
    Trailers,
}

/// Result of one step over the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'b> {
    /// A slice of the body, never empty.
    Data(&'b [u8]),
    /// The last chunk was read; trailers follow.
    Trailers,
    /// No more input.
    NeedMore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunks {
    state: ChunkState,
    left: u64,
    padding_bytes: usize,
}

impl Chunks {
    pub(super) fn new() -> Self {
        Self {
            state: ChunkState::SizeStart,
            left: 0,
            padding_bytes: 0,
        }
    }

    /// Reads on. `padding_max` limits leading zeros, spaces and extensions of all size lines of one response together.
    pub(super) fn step<'b>(
        &mut self,
        input: &mut &'b [u8],
        padding_max: usize,
    ) -> Result<Piece<'b>, CodecError> {
        loop {
            if self.state == ChunkState::Trailers {
                return Ok(Piece::Trailers);
            }
            if self.state == ChunkState::Data {
                if input.is_empty() {
                    return Ok(Piece::NeedMore);
                }
                let take = usize::try_from(self.left)
                    .unwrap_or(usize::MAX)
                    .min(input.len());
                let (data, rest) = input.split_at(take);
                *input = rest;
                self.left -= take as u64;
                if self.left == 0 {
                    self.state = ChunkState::DataCr;
                }
                return Ok(Piece::Data(data));
            }
            let Some((&byte, rest)) = input.split_first() else {
                return Ok(Piece::NeedMore);
            };
            *input = rest;
            self.state = self.next_state(byte, padding_max)?;
        }
    }

    fn next_state(&mut self, byte: u8, padding_max: usize) -> Result<ChunkState, CodecError> {
        match (self.state, byte) {
            (ChunkState::SizeStart | ChunkState::Size, _) if byte.is_ascii_hexdigit() => {
                if self.left == 0 && self.state == ChunkState::Size {
                    self.pad(padding_max)?;
                }
                let digit = (byte as char).to_digit(16).map_or(0, u64::from);
                if self.left >> 60 != 0 {
                    return Err(CodecError::ChunkSizeOverflow);
                }
                self.left = (self.left << 4) | digit;
                Ok(ChunkState::Size)
            }
            (ChunkState::Size | ChunkState::SizeSpace | ChunkState::Extension, b'\r') => {
                Ok(ChunkState::SizeLf)
            }
            (ChunkState::Size | ChunkState::SizeSpace, b' ' | b'\t') => {
                self.pad(padding_max)?;
                Ok(ChunkState::SizeSpace)
            }
            (ChunkState::Size | ChunkState::SizeSpace, b';') => {
                self.pad(padding_max)?;
                Ok(ChunkState::Extension)
            }
            (ChunkState::Extension, byte) if byte != b'\t' && (byte < b' ' || byte == 0x7f) => {
                Err(CodecError::BadChunkExtension { byte })
            }
            (ChunkState::Extension, _) => {
                self.pad(padding_max)?;
                Ok(ChunkState::Extension)
            }
            (ChunkState::SizeLf, b'\n') if self.left == 0 => Ok(ChunkState::Trailers),
            (ChunkState::SizeLf, b'\n') => Ok(ChunkState::Data),
            (ChunkState::DataCr, b'\r') => Ok(ChunkState::DataLf),
            (ChunkState::DataLf, b'\n') => Ok(ChunkState::SizeStart),
            (ChunkState::DataCr | ChunkState::DataLf, _) => Err(CodecError::BadChunkEnd { byte }),
            (_, _) => Err(CodecError::BadChunkSize { byte }),
        }
    }

    fn pad(&mut self, max_bytes: usize) -> Result<(), CodecError> {
        self.padding_bytes += 1;
        if self.padding_bytes > max_bytes {
            return Err(CodecError::ChunkLinesTooLong { max_bytes });
        }
        Ok(())
    }
}
