//! How exchanges are put together from requests: their order, data to fill them with, or a whole session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::SessionSpec;

/// How requests are chosen and put together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Which request comes next.
    #[serde(default)]
    pub order: Order,
    /// Data that requests are filled with.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// A session; with one, an arrival is the start of a session, and the plan has no requests of its own.
    #[serde(default)]
    pub session: Option<SessionSpec>,
}

/// Which of several requests comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One at random, by weight.
    #[default]
    Weighted,
    /// One after the other, from the first again behind the last.
    InTurn,
}

/// Most bytes of all values of a table together: a plan is one message and stands in the record.
pub const TABLE_BYTES_MAX: usize = 16 << 20;

/// Rows of data, read by whoever makes the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The word before the dot in `{{ users.name }}`.
    pub name: String,
    /// The words behind the dot.
    pub columns: Vec<String>,
    /// Rows, each with a value for every column.
    pub rows: Vec<Vec<String>>,
    /// Which row is taken.
    pub order: Rows,
}

/// Which row of a table an exchange or a session takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rows {
    /// One after the other, from the first again behind the last.
    #[default]
    Sequential,
    /// One at random.
    Random,
    /// One that no other session under way has.
    Unique,
}
