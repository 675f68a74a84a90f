//! What sentences call an arm or a step, with its grammatical number: written in the experiment, never guessed from the words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The subject of a sentence: "both sidecars with mTLS" add, "mTLS" adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Its words, as they stand within a sentence.
    pub text: String,
    /// Whether it takes "adds" or "add".
    pub number: GrammaticalNumber,
}

/// Whether a subject takes "adds" or "add".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GrammaticalNumber {
    /// One thing.
    Singular,
    /// Several.
    Plural,
}

impl Subject {
    /// One thing.
    pub fn singular(text: impl Into<String>) -> Subject {
        Subject {
            text: text.into(),
            number: GrammaticalNumber::Singular,
        }
    }

    /// Several.
    pub fn plural(text: impl Into<String>) -> Subject {
        Subject {
            text: text.into(),
            number: GrammaticalNumber::Plural,
        }
    }
}
