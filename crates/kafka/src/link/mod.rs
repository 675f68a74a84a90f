//! Blocking connections to the brokers of a cluster: TCP, TLS, SASL, versions, and other tries, all with limits.

mod address;
mod cluster;
mod connection;
mod error;
mod sasl;
mod settings;
mod stream;
mod tls;
mod versions;

pub use address::{Address, AddressError, PORT_USUAL, list as addresses};
pub use cluster::{Cluster, Patience, Repeat};
pub use connection::Connection;
pub use error::LinkError;
pub use settings::{Dial, Dialler, Identity, Settings, Tls, Trust};
pub use versions::Versions;
