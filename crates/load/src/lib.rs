//! The generator of load.

pub mod http1;
