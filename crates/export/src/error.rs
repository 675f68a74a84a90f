//! Why something could not be exported.

use std::io;
use std::path::PathBuf;

use tare_report::ReadError;
use tare_report::loads::LoadReadError;

/// Why something could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] ReadError),
    /// The load cannot be read.
    #[error("{path}: {error}")]
    Load { path: PathBuf, error: LoadReadError },
    /// What is asked for does not go together, or is not there.
    #[error("{0}")]
    Input(String),
    /// A value cannot be written as JSON.
    #[error("the result cannot be written: {0}")]
    Json(#[from] serde_json::Error),
    /// A file of the run cannot be read.
    #[error("{path}: {error}")]
    File { path: PathBuf, error: io::Error },
    /// The collector cannot be reached, or refuses.
    #[error("the metrics were not taken: {0}")]
    Endpoint(String),
}

impl ExportError {
    /// Whether the arguments or files are wrong, and not the machine or the collector.
    #[must_use]
    pub fn is_input(&self) -> bool {
        !matches!(self, ExportError::Endpoint(_) | ExportError::File { .. })
    }
}
