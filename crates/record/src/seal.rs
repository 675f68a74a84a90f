//! Where a run was begun, `seal.json` of its folder: only what this user's Tare began here is resumed.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the file.
pub const SEAL: &str = "seal.json";

/// Origin of a run's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSeal {
    /// [`crate::FORMAT_VERSION`] of the writer.
    pub version: u32,
    /// Where it is from.
    pub origin: RunOrigin,
    /// HMAC-SHA256 of `plan.json` and `environment.json`, hexadecimal, with a key that only the user has who began the run;
    /// `None`: it was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hmac_sha256: Option<String>,
}

/// Where a run is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunOrigin {
    /// Begun in this folder.
    Begun,
    /// Received as an archive: it can be shown and compared, not resumed.
    Imported,
}
