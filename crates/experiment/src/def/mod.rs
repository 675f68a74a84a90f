//! Types of the YAML files, as written: experiments and workloads before resolution.
//!
//! These types are the one place where a key is declared: serde fills them, `crate::structure`
//! checks against their JSON Schema, editors complete from it. `Option` means "not written".

use serde::{Deserialize, Serialize};
use tare_record::schemas::JsonSchema;

mod arm;
mod experiment;
mod load;
mod mesh;
mod workload;

pub use arm::*;
pub use experiment::*;
pub use load::*;
pub use mesh::*;
pub use workload::*;

/// One, or a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrSeveral<T> {
    /// One.
    One(T),
    /// Several.
    Several(Vec<T>),
}

impl<T> OneOrSeveral<T> {
    /// All, in order.
    #[must_use]
    pub fn all(&self) -> &[T] {
        match self {
            OneOrSeveral::One(one) => std::slice::from_ref(one),
            OneOrSeveral::Several(all) => all,
        }
    }
}
