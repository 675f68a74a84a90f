//! The network of test beds on one machine: network namespaces, links between them, redirection of their traffic to sidecars.

pub mod enclosure;
mod error;
pub mod link;
pub mod namespace;
mod netlink;
pub mod redirect;
pub mod site;
mod switch;
mod sys;

pub use error::NetError;
pub use switch::{PREFIX_BITS, Switch};
