//! What clients of Kafka share: frames, record batches, compression, administration.

pub mod admin;
pub mod assign;
pub mod audit;
pub mod batch;
mod bounded;
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
