//! A list of paths in a file: more requests than a plan can hold.

use std::path::PathBuf;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// The paths of a load, one sent per exchange, in the order of the list, which is repeated. The requests of the plan are its routes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathList {
    /// The file that the user gave, or `standard input`.
    pub name: String,
    /// SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
    /// Where the generator reads the paths: lines `ROUTE PATH`, with the number of the request in the plan and what is sent.
    pub file: PathBuf,
    /// Lines of that file.
    pub lines: u64,
}
