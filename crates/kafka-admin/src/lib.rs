//! Administration of Kafka clusters over blocking connections: `tare kafka`, the lab's requests to brokers, the pages of
//! `tare serve`, tests.

pub mod admin;
pub mod api;
pub mod client;
pub mod metrics;
pub mod reading;
pub mod reassignment;
