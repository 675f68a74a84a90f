//! How exchanges are made from requests: order of requests, data tables, sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::SessionSpec;

/// How exchanges are made from requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Order of requests.
    #[serde(default)]
    pub order: Order,
    /// Data tables for templates.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// A session. If given, each start is one of a session and the plan has no requests of its own.
    #[serde(default)]
    pub session: Option<SessionSpec>,
}

/// Order of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// At random, by weight.
    #[default]
    Weighted,
    /// Round robin.
    InTurn,
}

/// Largest size of all values of a table together: plans are sent as one message and kept in records.
pub const TABLE_BYTES_MAX: usize = 16 << 20;

/// A data table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Name of the table, before the dot in `{{ users.name }}`.
    pub name: String,
    /// Names of the columns, after the dot.
    pub columns: Vec<String>,
    /// Rows, with a value for each column.
    pub rows: Vec<Vec<String>>,
    /// Which row is used.
    pub order: Rows,
}

/// Which row of a table an exchange or a session uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rows {
    /// One after the other, repeated.
    #[default]
    Sequential,
    /// At random.
    Random,
    /// A row that no other session in progress uses.
    Unique,
}
