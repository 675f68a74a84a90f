//! Blocking Kafka client: TCP, TLS, SASL, version negotiation and retries, all with timeouts.

mod cluster;
mod connection;
mod definition;
mod error;
mod sasl;
mod settings;
mod stream;
mod tls;
mod versions;

pub use cluster::{Cluster, RetryBackoff, RetrySafety};
pub use connection::Connection;
pub use definition::bootstrap;
pub use error::ClientError;
pub use settings::{ClientSettings, ConnectFn, Connector, NameResolution, Tls};
pub use tare_record::broker_address::{Address, AddressError, DEFAULT_PORT, list as addresses};
pub use versions::{NoCommonVersion, Versions};
