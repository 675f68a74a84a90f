//! Sequences of arms whose steps are shown as parts of a sum, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arm::SubjectDef;
use crate::name::Name;

/// Arms in an order in which each is one thing more than the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "waterfall"))]
pub struct WaterfallDef {
    /// Name of the order.
    pub name: Name,
    /// The arms, from the least to the most.
    #[schemars(length(min = 2))]
    pub arms: Vec<SequenceArmDef>,
}

/// An arm in its place in an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SequenceArmDef {
    /// By name; what it adds is read off the test beds.
    Name(Name),
    /// With words for what it adds.
    Adding(AddingDef),
}

/// An arm and what it adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "the arm of an order"))]
pub struct AddingDef {
    /// Its name.
    pub arm: Name,
    /// What it adds to the arm before it, as the subject of "… adds 0.1 ms to the mean". The same words in two orders are compared.
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

    /// What it adds, if that was said.
    #[must_use]
    pub fn adds(&self) -> Option<&SubjectDef> {
        match self {
            SequenceArmDef::Name(_) => None,
            SequenceArmDef::Adding(adding) => Some(&adding.adds),
        }
    }
}
