//! Whether what was acknowledged is there, once: numbers in records, the account of those acknowledged, and what is read back.
//!
//! A producer that is to be audited writes a serial into each value and keeps, for each partition, which of them were acknowledged
//! ([`Ranges`]). Afterwards everything is read back ([`Account`]): a number that was acknowledged and is not there is a lost record,
//! one that is there twice a duplicated one. Broker offsets and counts alone cannot tell: a lost and a doubled record even out.

mod account;
mod ranges;
#[cfg(test)]
mod tests;

pub use account::{Account, AccountError, Found};
pub use ranges::{Noted, Ranges};

use crate::stamp::STAMP_BYTES;

/// Where a serial stands in a value: behind the place of the stamp, whether there is one or not.
pub const SERIAL_AT: usize = STAMP_BYTES;

/// Bytes of a serial.
pub const SERIAL_BYTES: usize = 8;

/// The shortest value that has room for a serial.
pub const VALUE_BYTES_MIN: usize = SERIAL_AT + SERIAL_BYTES;

const NUMBER_BITS: u32 = 36;
const WRITER_BITS: u32 = 12;

/// Writers of one run at most: agents × workers.
pub const WRITERS_MAX: u32 = 1 << WRITER_BITS;

/// The serials of one writer of one run: sixteen bits of the run, twelve of the writer, and a number that it counts up in each
/// partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Serials {
    front: u64,
}

/// A serial as it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Serial {
    /// Who wrote the record.
    pub writer: u32,
    /// Its number among those of the writer in the partition.
    pub number: u64,
}

impl Serials {
    /// Those of a writer, by its number in the run.
    #[must_use]
    pub fn of(run: u64, writer: u32) -> Self {
        Self {
            front: folded(run) << (NUMBER_BITS + WRITER_BITS)
                | u64::from(writer % WRITERS_MAX) << NUMBER_BITS,
        }
    }

    /// The writer.
    #[must_use]
    pub fn writer(self) -> u32 {
        (self.front >> NUMBER_BITS) as u32 % WRITERS_MAX
    }

    /// The serial with a number; numbers come round after 68 thousand million.
    #[inline]
    #[must_use]
    pub fn write(self, number: u64) -> u64 {
        self.front | (number & ((1 << NUMBER_BITS) - 1))
    }
}

impl Serial {
    /// The serial in a value; `None`: it has none of this run.
    #[must_use]
    pub fn of_value(run: u64, value: &[u8]) -> Option<Self> {
        let bytes = value.get(SERIAL_AT..)?.first_chunk::<SERIAL_BYTES>()?;
        let serial = u64::from_be_bytes(*bytes);
        if serial >> (NUMBER_BITS + WRITER_BITS) != folded(run) {
            return None;
        }
        Some(Self {
            writer: (serial >> NUMBER_BITS) as u32 % WRITERS_MAX,
            number: serial & ((1 << NUMBER_BITS) - 1),
        })
    }
}

/// Sixteen bits of a run, never none: a value of zeros has no serial.
fn folded(run: u64) -> u64 {
    let run = run ^ (run >> 32);
    ((run ^ (run >> 16)) & 0xffff).max(1)
}
