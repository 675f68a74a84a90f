//! What can end a run before its plan does, and a trial before its load.

use std::path::{Path, PathBuf};

use tare_lab::LabError;
use tare_lab::environment::{Bed, Death};
use tare_schema::record::TrialStatus;

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

/// Why a trial does not come to its end.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// The user wants to stop: nothing of it is kept.
    Interrupted,
    /// A part ended.
    Died(Death),
    /// Something else, in words.
    Failed(String),
    /// The laboratory says so.
    Lab(LabError),
    /// The run itself cannot go on.
    Run(ConductError),
}

impl Stopped {
    /// The status of the trial.
    pub fn into_status(self) -> TrialStatus {
        let (reason, log_tail) = match self {
            Stopped::Interrupted => ("it was interrupted".to_owned(), Vec::new()),
            Stopped::Died(death) => (
                format!("{} ended during the trial: {}", death.instance, death.how),
                death.log_tail,
            ),
            Stopped::Failed(reason) => (reason, Vec::new()),
            Stopped::Lab(error) => (error.to_string(), Vec::new()),
            Stopped::Run(error) => (error.to_string(), Vec::new()),
        };
        TrialStatus::Failed { reason, log_tail }
    }
}

impl From<LabError> for Stopped {
    fn from(error: LabError) -> Self {
        Stopped::Lab(error)
    }
}

impl From<ConductError> for Stopped {
    fn from(error: ConductError) -> Self {
        Stopped::Run(error)
    }
}

/// Whether an error is the laboratory's own and not a part's: no later trial would fare better.
pub(crate) fn is_ours(error: &LabError) -> bool {
    matches!(
        error,
        LabError::KeeperDied { .. } | LabError::Keeper(_) | LabError::Io { .. }
    )
}

/// That no part has ended.
pub(crate) fn alive(bed: &mut dyn Bed) -> Result<(), Stopped> {
    match bed.deaths().into_iter().next() {
        Some(death) => Err(Stopped::Died(death)),
        None => Ok(()),
    }
}
