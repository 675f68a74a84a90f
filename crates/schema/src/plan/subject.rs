//! Subject of sentences about an arm or a step, with its grammatical number as the experiment gives it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The subject of a sentence: "both sidecars with mTLS" add, "mTLS" adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Words of the subject, as within a sentence.
    pub text: String,
    /// Singular ("adds") or plural ("add").
    pub number: GrammaticalNumber,
}

/// Grammatical number of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GrammaticalNumber {
    /// "adds".
    Singular,
    /// "add".
    Plural,
}

impl Subject {
    /// A singular subject.
    pub fn singular(text: impl Into<String>) -> Subject {
        Subject {
            text: text.into(),
            number: GrammaticalNumber::Singular,
        }
    }

    /// A plural subject.
    pub fn plural(text: impl Into<String>) -> Subject {
        Subject {
            text: text.into(),
            number: GrammaticalNumber::Plural,
        }
    }
}
