//! Delivery audit: whether every acknowledged record is in the log exactly once.
//!
//! An audited producer writes a serial into each value and records which serials were acknowledged in each partition
//! ([`Ranges`]). Afterwards all records are read back ([`DeliveryAudit`]): a serial that was acknowledged and is missing is a lost
//! record, one that occurs twice a duplicate. Offsets and counts alone cannot tell: a lost and a duplicated record cancel out.

mod delivery;
mod ranges;
#[cfg(test)]
mod tests;

pub use delivery::{AuditError, DeliveryAudit, DeliveryReport};
pub use ranges::{Insertion, Ranges};

use crate::send_time::SEND_TIME_BYTES;

/// Position of the serial in a value: after the bytes of the send timestamp, whether there is one or not.
pub const SERIAL_AT: usize = SEND_TIME_BYTES;

/// Length of a serial.
pub const SERIAL_BYTES: usize = 8;

/// The shortest value with room for a serial.
pub const VALUE_BYTES_MIN: usize = SERIAL_AT + SERIAL_BYTES;

const NUMBER_BITS: u32 = 36;
const WRITER_BITS: u32 = 12;

/// Most writers (agents × workers) of one run.
pub const WRITERS_MAX: u32 = 1 << WRITER_BITS;

/// The serials of one writer of a run: 16 bits of the run, 12 bits of the writer, and a number that counts up in each
/// partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Serials {
    front: u64,
}

/// A decoded serial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Serial {
    /// The writer of the record.
    pub writer: u32,
    /// Its sequence number from this writer in the partition.
    pub number: u64,
}

impl Serials {
    /// The serials of a writer, by its index in the run.
    #[must_use]
    pub fn of(run: u64, writer: u32) -> Self {
        Self {
            front: folded(run) << (NUMBER_BITS + WRITER_BITS)
                | u64::from(writer % WRITERS_MAX) << NUMBER_BITS,
        }
    }

    #[must_use]
    pub fn writer(self) -> u32 {
        (self.front >> NUMBER_BITS) as u32 % WRITERS_MAX
    }

    /// The serial with this number; numbers have 36 bits and wrap after 68 thousand million.
    #[inline]
    #[must_use]
    pub fn write(self, number: u64) -> u64 {
        self.front | (number & ((1 << NUMBER_BITS) - 1))
    }
}

impl Serial {
    /// Decodes the serial of a value; `None` if it has none of this run.
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

/// The run folded to 16 bits, never 0: a value of zeros has no serial.
fn folded(run: u64) -> u64 {
    let run = run ^ (run >> 32);
    ((run ^ (run >> 16)) & 0xffff).max(1)
}
