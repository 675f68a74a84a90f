//! Kafka client building blocks: frames, record batches, compression, group membership, administration.

pub mod admin;
pub mod assign;
pub mod audit;
pub mod batch;
mod checked_buf;
pub mod compress;
pub mod fetch;
pub mod frame;
pub mod group;
pub mod link;
pub mod records;
pub mod sasl;
pub mod stamp;
mod varint;

pub use bytes;
pub use kafka_protocol;
