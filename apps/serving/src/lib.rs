//! Common serving code of the reference applications: listeners, threads, connection limits, shutdown, metrics.

pub mod admin;
mod error;
mod limited;
mod listening;
pub mod metrics;
mod serve;

pub use error::ServingError;
pub use limited::LimitedListener;
pub use listening::ListenArgs;
pub use serve::{say, serve_until_signal};
