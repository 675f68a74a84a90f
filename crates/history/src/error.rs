//! What can go wrong with a history, and the next step.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use tare_program::Failed;

/// An error of the history.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The directory of runs cannot be read.
    #[error("the directory of runs {path} cannot be read ({error}): name it with --out")]
    Runs {
        path: PathBuf,
        error: std::io::Error,
    },
    /// There is no space for the index.
    #[error("there is no space for the index {0}: free some, then ask again")]
    DiskFull(PathBuf),
    /// Another process makes the index, and does not end.
    #[error(
        "another process has been writing the index {0} for a minute: ask again when it has ended"
    )]
    Busy(PathBuf),
    /// The index cannot be used, and not be made again either.
    #[error("the index {path} cannot be used ({error}): remove it, it will be made again")]
    Index {
        path: PathBuf,
        error: rusqlite::Error,
    },
    /// The file is no index of this Tare.
    #[error("the index {path} is made again: {reason}")]
    Foreign { path: PathBuf, reason: String },
    /// The filter matches nothing.
    #[error("{0}")]
    NoSeries(String),
}

impl HistoryError {
    /// The error of a use of the index at this path.
    pub(crate) fn of_index(path: &Path, error: rusqlite::Error) -> HistoryError {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => HistoryError::DiskFull(path),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => HistoryError::Busy(path),
            _ => HistoryError::Index { path, error },
        }
    }

    /// Whether the file of the index is damaged, or none of Tare.
    pub(crate) fn is_damaged(&self) -> bool {
        let HistoryError::Index { error, .. } = self else {
            return matches!(self, HistoryError::Foreign { .. });
        };
        match error.sqlite_error_code() {
            Some(code) => matches!(
                code,
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown
            ),
            // What was read is no value of its column.
            None => true,
        }
    }

    /// Whether the question is wrong, and not the machine.
    #[must_use]
    pub fn is_input(&self) -> bool {
        matches!(self, HistoryError::NoSeries(_) | HistoryError::Runs { .. })
    }
}

impl From<HistoryError> for Failed {
    fn from(error: HistoryError) -> Failed {
        match error.is_input() {
            true => Failed::bad_input(error),
            false => Failed::environment(error),
        }
    }
}
