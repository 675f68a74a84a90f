//! History: an index over the runs of a directory, series of their values, and where those changed.
//!
//! Run folders are the truth; the index can be deleted and is made again from them.

pub mod acknowledged;
pub mod chart;
pub mod csv;
mod database;
pub mod error;
mod filter;
pub mod index;
pub mod series;
pub mod sizing;
pub mod suite;
pub mod text;
mod values;

pub use error::HistoryError;
pub use index::{History, Index, IndexUpdate};
