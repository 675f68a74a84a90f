//! Who asks the server, and who changed what.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Caller {
    /// A browser that opened the page by a link.
    Session {
        /// Identity of the session: a hash, which opens nothing.
        id: String,
    },
    /// The token of scripts.
    Token,
    /// The password.
    Password,
    /// Nobody whom the server knows.
    Unknown,
}

/// `GET /api/v1/audit`: what was changed by requests, and attempts to get in that failed, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditList {
    /// File of the entries, a JSON object a line; older ones are in the one with `.1` at its end.
    pub file: String,
    /// The last entries.
    pub entries: Vec<AuditEntry>,
}

/// A request that changes something, or an attempt to get in that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// When it came, µs since the epoch.
    pub at_unix_us: u64,
    /// Address that it came from.
    pub address: String,
    /// Who sent it.
    pub caller: Caller,
    /// HTTP method.
    pub method: String,
    /// Path, which names what it is about.
    pub path: String,
    /// Status of the answer; `None`: the server ended before there was one.
    pub status: Option<u16>,
    /// What it is about, where the path does not say it.
    pub subject: Option<String>,
    /// Why it was refused.
    pub problem: Option<String>,
}

/// Reply of `POST /api/v1/links`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkReply {
    /// A link that opens the page once.
    pub link: String,
    /// Time within which it does.
    pub expires_s: u64,
}
