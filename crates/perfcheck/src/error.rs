//! Why a check did not come to a result.

use std::io;
use std::path::Path;

use tare_experiment::problem::Problems;
use tare_program::Failed;

/// Why a check did not come to a result.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// Arguments or files are wrong.
    #[error("{0}")]
    Input(String),
    /// Files of Tare's own formats have problems.
    #[error("{0}")]
    Files(#[from] Problems),
    /// A tool is missing or failed, or a file cannot be written.
    #[error("{0}")]
    Environment(String),
    /// A signal asked for the end.
    #[error("interrupted: nothing was written")]
    Interrupted(i32),
}

impl CheckError {
    /// An error of a file.
    pub fn at(path: &Path) -> impl Fn(io::Error) -> CheckError {
        let path = path.display().to_string();
        move |error| CheckError::Environment(format!("{path}: {error}"))
    }
}

impl From<CheckError> for Failed {
    fn from(error: CheckError) -> Failed {
        match error {
            CheckError::Input(_) | CheckError::Files(_) => Failed::bad_input(error),
            CheckError::Environment(_) => Failed::environment(error),
            CheckError::Interrupted(signal) => Failed::interrupted(error, signal),
        }
    }
}
