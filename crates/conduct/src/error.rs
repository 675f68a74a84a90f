//! Errors that end a run, and errors that end a trial.

use std::path::{Path, PathBuf};

use tare_lab::LabError;
use tare_lab::environment::{TestBed, UnexpectedExit};
use tare_record::record::TrialStatus;

/// Why a run could not start or continue.
#[derive(Debug, thiserror::Error)]
pub enum ConductError {
    /// The environment cannot do what the plan asks.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A file of the run folder could not be written or read.
    #[error("cannot {what} {}: {source} (check that the disk has room and the folder is yours, or name another with --out)", path.display())]
    File {
        /// The operation: `write`, `read`, `create`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A file of the run folder cannot be parsed.
    #[error("{} is not readable as {kind}: {source} (was the run made by another version of tare?)", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The expected kind of content.
        kind: &'static str,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// Another process holds the lock of the run folder.
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

/// Why a trial could not be completed.
#[derive(Debug)]
pub(crate) enum TrialError {
    /// The user interrupted the run: the trial leaves no record.
    Interrupted,
    /// An instance exited.
    Exited(UnexpectedExit),
    /// Any other reason, as text.
    Failed(String),
    /// An error of the test environment.
    Lab(LabError),
    /// The whole run cannot continue.
    Run(ConductError),
}

impl TrialError {
    /// The status of the trial in its record.
    pub fn into_status(self) -> TrialStatus {
        let (reason, log_tail) = match self {
            TrialError::Interrupted => ("it was interrupted".to_owned(), Vec::new()),
            TrialError::Exited(death) => (
                format!("{} ended during the trial: {}", death.instance, death.how),
                death.log_tail,
            ),
            TrialError::Failed(reason) => (reason, Vec::new()),
            TrialError::Lab(error) => (error.to_string(), Vec::new()),
            TrialError::Run(error) => (error.to_string(), Vec::new()),
        };
        TrialStatus::Failed { reason, log_tail }
    }
}

impl From<LabError> for TrialError {
    fn from(error: LabError) -> Self {
        TrialError::Lab(error)
    }
}

impl From<ConductError> for TrialError {
    fn from(error: ConductError) -> Self {
        TrialError::Run(error)
    }
}

/// Checks that no instance has exited.
pub(crate) fn check_running(bed: &mut dyn TestBed) -> Result<(), TrialError> {
    match bed.unexpected_exits().into_iter().next() {
        Some(death) => Err(TrialError::Exited(death)),
        None => Ok(()),
    }
}
