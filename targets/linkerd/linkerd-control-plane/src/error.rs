//! Why the control plane could not start.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use serving::ServingError;

/// A fatal error outside of requests.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A file cannot be read or written.
    #[error("cannot {action} {}: {error}; choose another file or folder", file.display())]
    File {
        action: &'static str,
        file: PathBuf,
        error: std::io::Error,
    },
    /// The content of a file cannot be used.
    #[error("{}: {problem}", file.display())]
    Content { file: PathBuf, problem: String },
    /// A key or a request for a certificate cannot be made.
    #[error("cannot make a key and a certificate signing request for {name:?}: {error}")]
    Request { name: String, error: rcgen::Error },
    /// An error common to all services.
    #[error(transparent)]
    Serving(#[from] ServingError),
}

impl StartError {
    /// For `map_err` of what is done with a file.
    pub fn file(action: &'static str, file: &Path) -> impl Fn(std::io::Error) -> StartError {
        move |error| StartError::File {
            action,
            file: file.to_owned(),
            error,
        }
    }

    /// The content of a file cannot be used.
    pub fn content(file: &Path, problem: impl Display) -> StartError {
        StartError::Content {
            file: file.to_owned(),
            problem: problem.to_string(),
        }
    }
}
