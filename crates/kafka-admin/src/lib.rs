//! Administration of Kafka clusters over blocking connections: `tare kafka`, the lab's requests to brokers, tests.

pub mod admin;
pub mod client;
pub mod reassignment;
