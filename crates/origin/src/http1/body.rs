//! Reads the body of a request: a known length, or chunks (RFC 9112 §7.1).

use super::head::{Malformed, RequestFraming};

/// Size-line padding plus trailers of one chunked body.
const OVERHEAD_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Data,
    SizeStart,
    Size,
    Extension,
    SizeLf,
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    LastLf,
}

/// The result of one step over the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<'b> {
    Data(&'b [u8]),
    NeedMore,
    End,
}

/// Progress within one body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyReader {
    place: Place,
    chunked: bool,
    left: u64,
    total_bytes: u64,
    overhead_bytes: usize,
    body_bytes_max: u64,
}

impl BodyReader {
    pub(crate) fn new(framing: RequestFraming, body_bytes_max: u64) -> Result<Self, Malformed> {
        let (place, chunked, left) = match framing {
            RequestFraming::Length(length) if length > body_bytes_max => {
                return Err(Malformed::BodyTooLarge);
            }
            RequestFraming::Length(length) => (Place::Data, false, length),
            RequestFraming::Chunked => (Place::SizeStart, true, 0),
        };
        Ok(Self {
            place,
            chunked,
            left,
            total_bytes: 0,
            overhead_bytes: 0,
            body_bytes_max,
        })
    }

    pub(crate) fn step<'b>(&mut self, input: &mut &'b [u8]) -> Result<Step<'b>, Malformed> {
        loop {
            if self.place == Place::Data {
                if self.left == 0 && !self.chunked {
                    return Ok(Step::End);
                }
                return Ok(self.data(input));
            }
            let Some((&byte, rest)) = input.split_first() else {
                return Ok(Step::NeedMore);
            };
            *input = rest;
            if self.place == Place::LastLf {
                return if byte == b'\n' {
                    Ok(Step::End)
                } else {
                    Err(Malformed::Chunk)
                };
            }
            self.place = self.next_place(byte)?;
            if self.place == Place::Data {
                self.total_bytes = self.total_bytes.saturating_add(self.left);
                if self.total_bytes > self.body_bytes_max {
                    return Err(Malformed::BodyTooLarge);
                }
            }
        }
    }

    fn data<'b>(&mut self, input: &mut &'b [u8]) -> Step<'b> {
        if input.is_empty() {
            return Step::NeedMore;
        }
        let take = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(input.len());
        let (data, rest) = input.split_at(take);
        *input = rest;
        self.left -= take as u64;
        if self.left == 0 && self.chunked {
            self.place = Place::DataCr;
        }
        Step::Data(data)
    }

    fn next_place(&mut self, byte: u8) -> Result<Place, Malformed> {
        match (self.place, byte) {
            (Place::SizeStart | Place::Size, _) if byte.is_ascii_hexdigit() => {
                self.overhead()?;
                let digit = (byte as char).to_digit(16).map_or(0, u64::from);
                if self.left >> 60 != 0 {
                    return Err(Malformed::BodyTooLarge);
                }
                self.left = (self.left << 4) | digit;
                Ok(Place::Size)
            }
            (Place::Size | Place::Extension, b'\r') => Ok(Place::SizeLf),
            (Place::Size, b';' | b' ' | b'\t') => Ok(Place::Extension),
            (Place::Extension | Place::Trailer | Place::TrailerStart, b'\n' | 0) => {
                Err(Malformed::Chunk)
            }
            (Place::Extension, _) => self.overhead().map(|()| Place::Extension),
            (Place::SizeLf, b'\n') if self.left == 0 => Ok(Place::TrailerStart),
            (Place::SizeLf, b'\n') => Ok(Place::Data),
            (Place::DataCr, b'\r') => Ok(Place::DataLf),
            (Place::DataLf, b'\n') => Ok(Place::SizeStart),
            (Place::TrailerStart, b'\r') => Ok(Place::LastLf),
            (Place::Trailer, b'\r') => Ok(Place::TrailerLf),
            (Place::TrailerStart | Place::Trailer, _) => self.overhead().map(|()| Place::Trailer),
            (Place::TrailerLf, b'\n') => Ok(Place::TrailerStart),
            _ => Err(Malformed::Chunk),
        }
    }

    fn overhead(&mut self) -> Result<(), Malformed> {
        self.overhead_bytes += 1;
        // The allowance grows with the data: many small chunks are slow, not malformed.
        let paid = usize::try_from(self.total_bytes)
            .unwrap_or(usize::MAX)
            .saturating_mul(16);
        if self.overhead_bytes > OVERHEAD_BYTES_MAX.saturating_add(paid) {
            return Err(Malformed::Chunk);
        }
        Ok(())
    }
}
