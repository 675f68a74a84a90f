//! A buffer that checks array lengths against the remaining bytes before a decoder reserves memory.

use std::ops::Range;

use bytes::{Buf, Bytes, TryGetError};
use kafka_protocol::protocol::buf::ByteBuf;

/// Compact numbers up to this are not checked: tags look like lengths, and are small.
const COMPACT_UNCHECKED_MAX: u64 = 64;
/// 32-bit integers up to this are not checked: broker ids, epochs and times look like lengths.
const PLAIN_UNCHECKED_MAX: u64 = 1 << 20;

/// How a message version encodes array lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthFormat {
    /// As 32-bit integers.
    Plain,
    /// As varints; then a 32-bit integer may be anything.
    Compact,
}

/// The decoders of kafka-protocol reserve as many elements as a length says. An element has at least one byte of its own, also within
/// another one: its value, or its number of tags. So a length above the remaining bytes is invalid, and so are lengths that together
/// are more than the whole response: nested arrays reserve no more than one that is as long as the response.
#[derive(Debug)]
pub struct CheckedBuf {
    rest: Bytes,
    lengths: LengthFormat,
    /// The varint that is being read, and how many bytes of it were read.
    number: u64,
    read: u32,
    /// What the sum of further lengths may be.
    left: u64,
}

impl CheckedBuf {
    /// A whole response.
    #[must_use]
    pub fn new(rest: Bytes, lengths: LengthFormat) -> Self {
        Self {
            left: rest.remaining() as u64,
            rest,
            lengths,
            number: 0,
            read: 0,
        }
    }

    fn check(&mut self, number: u64) -> Result<(), TryGetError> {
        let unchecked_max = match self.lengths {
            LengthFormat::Plain => PLAIN_UNCHECKED_MAX,
            LengthFormat::Compact => COMPACT_UNCHECKED_MAX,
        };
        if number <= unchecked_max {
            return Ok(());
        }
        let available = self.rest.remaining();
        // A compact length is encoded plus one.
        if number > (available as u64 + 1).min(self.left) {
            return Err(TryGetError {
                requested: usize::try_from(number).unwrap_or(usize::MAX),
                available,
            });
        }
        self.left -= number;
        Ok(())
    }
}

impl Buf for CheckedBuf {
    fn remaining(&self) -> usize {
        self.rest.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.rest.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.rest.advance(count);
    }

    fn try_get_u8(&mut self) -> Result<u8, TryGetError> {
        let byte = self.rest.try_get_u8()?;
        self.number |= u64::from(byte & 0x7f) << (7 * self.read);
        self.read += 1;
        if byte < 0x80 || self.read == 5 {
            self.read = 0;
            let number = std::mem::take(&mut self.number);
            self.check(number)?;
        }
        Ok(byte)
    }

    fn try_get_i32(&mut self) -> Result<i32, TryGetError> {
        let number = self.rest.try_get_i32()?;
        if self.lengths == LengthFormat::Plain {
            self.check(u64::try_from(number).unwrap_or(0))?;
        }
        Ok(number)
    }

    fn copy_to_bytes(&mut self, count: usize) -> Bytes {
        self.rest.copy_to_bytes(count)
    }
}

impl ByteBuf for CheckedBuf {
    fn peek_bytes(&mut self, range: Range<usize>) -> Bytes {
        self.rest.peek_bytes(range)
    }

    fn get_bytes(&mut self, count: usize) -> Bytes {
        self.rest.get_bytes(count)
    }
}
