//! What became of an experiment's assertions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An assertion and what the run says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssertionView {
    /// As it was written.
    pub text: String,
    /// Of all cells it is about the worst.
    pub outcome: AssertionOutcome,
    /// The cell that decided, and its figure with the interval.
    pub because: String,
}

/// What an interval says of an assertion.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum AssertionOutcome {
    /// The whole interval fulfils it.
    Holds,
    /// The interval lies on both sides of the limit, or there is none.
    Undecided,
    /// No part of the interval fulfils it.
    Broken,
}

impl AssertionOutcome {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            AssertionOutcome::Holds => "holds",
            AssertionOutcome::Undecided => "undecided",
            AssertionOutcome::Broken => "broken",
        }
    }
}
