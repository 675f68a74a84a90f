//! Definition of a waterfall: a sequence of arms, each of which adds one thing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arm::SubjectDef;
use crate::name::Name;

/// Arms in a sequence in which each adds one thing to the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "waterfall"))]
pub struct WaterfallDef {
    /// Name of the sequence.
    pub name: Name,
    /// Arms, from the least to the most.
    #[schemars(length(min = 2))]
    pub arms: Vec<SequenceArmDef>,
}

/// An arm of a sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SequenceArmDef {
    /// Name of the arm; what it adds is derived from the test beds.
    Name(Name),
    /// Name of the arm, with words for what it adds.
    Adding(AddingDef),
}

/// An arm and what it adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "the arm of an order"))]
pub struct AddingDef {
    /// Name of the arm.
    pub arm: Name,
    /// What it adds to the arm before, as the subject of "… adds 0.1 ms to the mean". The same words in two sequences are
    /// compared.
    pub adds: SubjectDef,
}

impl SequenceArmDef {
    /// Name of the arm.
    #[must_use]
    pub fn arm(&self) -> &Name {
        match self {
            SequenceArmDef::Name(name) => name,
            SequenceArmDef::Adding(adding) => &adding.arm,
        }
    }

    /// What it adds, if given.
    #[must_use]
    pub fn adds(&self) -> Option<&SubjectDef> {
        match self {
            SequenceArmDef::Name(_) => None,
            SequenceArmDef::Adding(adding) => Some(&adding.adds),
        }
    }
}
