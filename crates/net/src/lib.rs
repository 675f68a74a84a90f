//! The network of one machine's test beds: network namespaces, the way between them, what captures their traffic.

pub mod capture;
pub mod enclosure;
mod error;
pub mod link;
pub mod namespace;
mod netlink;
pub mod site;
mod switch;
mod sys;

pub use error::NetError;
pub use switch::{PREFIX_BITS, Switch};
