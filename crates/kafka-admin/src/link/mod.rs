//! Blocking Kafka client: TCP, TLS, SASL, version negotiation and retries, all with timeouts.

mod address;
mod cluster;
mod connection;
mod error;
mod sasl;
mod settings;
mod stream;
mod tls;
mod versions;

pub use address::{Address, AddressError, DEFAULT_PORT, list as addresses};
pub use cluster::{Cluster, Patience, RetrySafety};
pub use connection::Connection;
pub use error::LinkError;
pub use settings::{ConnectFn, Dial, Identity, Settings, Tls, Trust};
pub use versions::{NoCommonVersion, Versions};
