//! Kafka client building blocks, without I/O: frames, record batches, compression, SASL, group membership, delivery audit.

pub mod audit;
pub mod batch;
mod checked_buf;
pub mod compress;
pub mod fetch;
pub mod frame;
pub mod group;
pub mod records;
pub mod sasl;
pub mod send_time;
mod varint;

pub use bytes;
pub use kafka_protocol;
