//! Sequences of arms whose steps are shown as parts of a sum, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    pub arms: Vec<Name>,
}
