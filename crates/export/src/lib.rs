//! Exports: runs and loads in the formats that other programs read, and what is measured now as metrics.
//!
//! A [`ExportSubject`] is a run or a load as one view; each module of [`formats`] makes a document of views.

pub mod error;
pub mod follow;
pub mod formats;
mod http;
pub mod live;
mod load_view;
pub mod lock;
pub mod metrics;
pub mod run_metrics;
pub mod send;
pub mod subject;

pub use error::ExportError;
pub use subject::ExportSubject;
