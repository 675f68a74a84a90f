//! What clients of Kafka share: frames, record batches, compression, administration.

pub mod batch;
pub mod compress;
pub mod frame;
pub mod records;

pub use bytes;
pub use kafka_protocol;
