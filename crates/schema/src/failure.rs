//! What a command prints on standard output when it fails and `--json` or `--json-lines` was given.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The only object, or the last line, of a command that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureReport {
    /// The error.
    pub error: Failure,
}

/// An error with its exit code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The error, as text.
    pub message: String,
    /// Exit code of the command.
    pub exit_code: u8,
    /// Causes, the nearest first, as text.
    pub causes: Vec<String>,
}
