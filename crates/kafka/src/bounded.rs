//! Bytes of an answer whose lengths are held against what is there before anybody reserves memory for them.

use std::ops::Range;

use bytes::{Buf, Bytes, TryGetError};
use kafka_protocol::protocol::buf::ByteBuf;

/// Up to this many elements nothing is asked: the numbers of brokers and tags look like lengths, and are small.
const ELEMENTS_FREE: u64 = 1 << 20;

/// How a version writes the lengths of its arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// As numbers of 32 bits.
    Plain,
    /// As numbers of variable length; then one of 32 bits may be anything.
    Compact,
}

/// The decoders of kafka-protocol reserve as many elements as a length says. An element has a byte at least, so more of them
/// than bytes left is no answer.
#[derive(Debug)]
pub struct Bounded {
    rest: Bytes,
    lengths: Lengths,
    /// The number of variable length that is being read, and how many bytes of it were.
    number: u64,
    read: u32,
}

impl Bounded {
    /// A whole answer.
    #[must_use]
    pub fn new(rest: Bytes, lengths: Lengths) -> Self {
        Self {
            rest,
            lengths,
            number: 0,
            read: 0,
        }
    }

    fn check(&self, number: u64) -> Result<(), TryGetError> {
        let available = self.rest.remaining();
        // A compact length is one more than it says.
        if number > ELEMENTS_FREE && number > available as u64 + 1 {
            return Err(TryGetError {
                requested: usize::try_from(number).unwrap_or(usize::MAX),
                available,
            });
        }
        Ok(())
    }
}

impl Buf for Bounded {
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
        if self.lengths == Lengths::Plain {
            self.check(u64::try_from(number).unwrap_or(0))?;
        }
        Ok(number)
    }

    fn copy_to_bytes(&mut self, count: usize) -> Bytes {
        self.rest.copy_to_bytes(count)
    }
}

impl ByteBuf for Bounded {
    fn peek_bytes(&mut self, range: Range<usize>) -> Bytes {
        self.rest.peek_bytes(range)
    }

    fn get_bytes(&mut self, count: usize) -> Bytes {
        self.rest.get_bytes(count)
    }
}
