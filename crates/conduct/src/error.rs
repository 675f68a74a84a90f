//! What can end a run before its plan does.

use std::path::{Path, PathBuf};

use tare_lab::LabError;

/// Why a run could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ConductError {
    /// The environment cannot do what the plan asks.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A file of the run folder could not be written or read.
    #[error("cannot {what} {}: {source} (check that the disk has room and the folder is yours, or name another with --out)", path.display())]
    File {
        /// What was tried: `write`, `read`, `create`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file of the run folder holds something else than expected.
    #[error("{} is not readable as {kind}: {source} (was the run made by another version of tare?)", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What it should be.
        kind: &'static str,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// Another process is measuring into this folder.
    #[error("{} is being measured by another tare right now: wait for it, or end it", path.display())]
    Busy {
        /// The run folder.
        path: PathBuf,
    },
    /// The plan asks for something that the conductor cannot do.
    #[error("{0}")]
    Plan(String),
}

impl ConductError {
    /// A file error, for `map_err`.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| ConductError::File { what, path, source }
    }
}
