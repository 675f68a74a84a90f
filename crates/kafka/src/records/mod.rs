//! Reading record batches (format v2) in place: nothing is copied and nothing allocated, also not per record.
//!
//! Three levels, each only as far as somebody asks: the [`BatchHeader`] says how many records there are and where they end;
//! [`Batch::check`] runs CRC32C over the rest; [`Records`] walks the records. Format: Kafka's documentation, "Record Batch".

mod batches;
mod error;
mod header;
mod record;
#[cfg(test)]
mod tests;
mod unpack;
mod walk;

pub use batches::{Batch, Batches};
pub use error::{BatchError, RecordError};
pub use header::{
    Attributes, BatchHeader, CRC_FROM, HEADER_BYTES, PREFIX_BYTES, Prefix, Timestamps,
};
pub use record::{Control, Header, HeaderError, Headers, Record};
pub use unpack::{UNPACKED_MAX_BYTES, Unpacker};
pub use walk::Records;

/// Walks whatever is given as a fetch answer's records: for fuzzers; must return.
///
/// Gives the number of things found, so that the work is not optimised away.
#[must_use]
pub fn fuzz_entry(data: &[u8]) -> usize {
    let mut found = 0;
    let mut unpacker = Unpacker::new(1 << 20);
    for batch in Batches::new(data) {
        let Ok(batch) = batch else { break };
        found += usize::from(batch.check().is_ok());
        let Ok(body) = unpacker.unpack(&batch.header, batch.body()) else {
            continue;
        };
        for record in batch.header.records(body) {
            let Ok(record) = record else { break };
            found += 1 + record.headers().filter(Result::is_ok).count();
            found += usize::from(record.control().is_some());
        }
    }
    found
}
