//! Lists of paths: an access log or a file of URLs, of any length, that is sent line by line.
//!
//! [`collect`] reads the user's file once and writes what is to be sent into another one; [`PathIndex`] finds lines in that.

mod collect;
mod index;
mod line;
mod names;

pub use collect::{Collected, LeftOut, PathRoute, ROUTES_MAX, collect};
pub use index::{PathIndex, PathReader};
pub use line::percent_encoded;
pub use names::RequestNames;
