//! Reading record batches (format v2) in place, without copies or allocations.
//!
//! Three levels, each on demand: [`BatchHeader`] has the number of records and the last offset; [`RecordBatch::check`] runs CRC32C
//! over the rest; [`Records`] iterates over the records. Format: Kafka's documentation, "Record Batch".

mod batches;
mod header;
mod record;
#[cfg(test)]
mod tests;

pub use batches::{BatchDecompressor, Batches, RecordBatch, UNPACKED_MAX_BYTES};
pub use header::{
    Attributes, BatchError, BatchHeader, CRC_FROM, HEADER_BYTES, PREFIX_BYTES, Prefix, RecordError,
    Timestamps,
};
pub use record::{Control, HeaderError, Headers, Record, RecordHeaderRef, Records};

/// Parses arbitrary bytes as a partition's records. For fuzzers; must return.
///
/// Returns the number of items found, so that the work is not optimised away.
#[must_use]
pub fn fuzz_entry(data: &[u8]) -> usize {
    let mut found = 0;
    let mut unpacker = BatchDecompressor::new(1 << 20);
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
