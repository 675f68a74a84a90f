//! The network of one machine's test beds: network namespaces, the way between them, what captures their traffic.

mod error;
pub mod namespace;
mod sys;

pub use error::NetError;
