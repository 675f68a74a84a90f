//! Outcomes of the experiment's assertions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An assertion and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssertionView {
    /// The assertion, as written.
    pub text: String,
    /// Outcome: the worst over all cells that it applies to.
    pub outcome: AssertionOutcome,
    /// The cell that decided, and its value with the interval.
    pub reason: String,
}

/// Outcome of an assertion.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum AssertionOutcome {
    /// Passed: the whole interval satisfies it.
    Passed,
    /// Undecided: the interval contains the limit, or there is no interval.
    Undecided,
    /// Failed: no part of the interval satisfies it.
    Failed,
}

impl AssertionOutcome {
    /// The outcome as a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            AssertionOutcome::Passed => "passed",
            AssertionOutcome::Undecided => "undecided",
            AssertionOutcome::Failed => "failed",
        }
    }
}
