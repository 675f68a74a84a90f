//! Decodes the chunk framing of a body (RFC 9112 §7.1), byte by byte outside the data.

use super::error::CodecError;

/// Where in the chunk framing the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the first digit of a size.
    SizeStart,
    /// Behind at least one digit.
    Size,
    /// Behind blanks that follow the size.
    Blank,
    /// Within an extension.
    Extension,
    /// Behind the carriage return of a size line.
    SizeLf,
    /// Within data.
    Data,
    /// Behind the data, before its carriage return.
    DataCr,
    /// Behind the carriage return that follows the data.
    DataLf,
    /// Behind the size line of the last chunk.
    Trailers,
}

/// What one step over the input gave.
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
    place: Place,
    left: u64,
    padding_bytes: usize,
}

impl Chunks {
    pub(super) fn new() -> Self {
        Self {
            place: Place::SizeStart,
            left: 0,
            padding_bytes: 0,
        }
    }

    /// Reads on; `padding_max` bounds zeros, blanks and extensions of all size lines of one answer together.
    pub(super) fn step<'b>(
        &mut self,
        input: &mut &'b [u8],
        padding_max: usize,
    ) -> Result<Piece<'b>, CodecError> {
        loop {
            if self.place == Place::Trailers {
                return Ok(Piece::Trailers);
            }
            if self.place == Place::Data {
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
                    self.place = Place::DataCr;
                }
                return Ok(Piece::Data(data));
            }
            let Some((&byte, rest)) = input.split_first() else {
                return Ok(Piece::NeedMore);
            };
            *input = rest;
            self.place = self.next_place(byte, padding_max)?;
        }
    }

    fn next_place(&mut self, byte: u8, padding_max: usize) -> Result<Place, CodecError> {
        match (self.place, byte) {
            (Place::SizeStart | Place::Size, _) if byte.is_ascii_hexdigit() => {
                if self.left == 0 && self.place == Place::Size {
                    self.pad(padding_max)?;
                }
                let digit = (byte as char).to_digit(16).map_or(0, u64::from);
                if self.left >> 60 != 0 {
                    return Err(CodecError::ChunkSizeOverflow);
                }
                self.left = (self.left << 4) | digit;
                Ok(Place::Size)
            }
            (Place::Size | Place::Blank | Place::Extension, b'\r') => Ok(Place::SizeLf),
            (Place::Size | Place::Blank, b' ' | b'\t') => {
                self.pad(padding_max)?;
                Ok(Place::Blank)
            }
            (Place::Size | Place::Blank, b';') => {
                self.pad(padding_max)?;
                Ok(Place::Extension)
            }
            (Place::Extension, byte) if byte != b'\t' && (byte < b' ' || byte == 0x7f) => {
                Err(CodecError::BadChunkExtension { byte })
            }
            (Place::Extension, _) => {
                self.pad(padding_max)?;
                Ok(Place::Extension)
            }
            (Place::SizeLf, b'\n') if self.left == 0 => Ok(Place::Trailers),
            (Place::SizeLf, b'\n') => Ok(Place::Data),
            (Place::DataCr, b'\r') => Ok(Place::DataLf),
            (Place::DataLf, b'\n') => Ok(Place::SizeStart),
            (Place::DataCr | Place::DataLf, _) => Err(CodecError::BadChunkEnd { byte }),
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
