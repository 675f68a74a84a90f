//! Types of the YAML files, as written: experiments and workloads before resolution.
//!
//! These types are the one place where a key is declared: serde fills them, `crate::structure`
//! checks against their JSON Schema, editors complete from it. `Option` means "not written".

mod arm;
mod experiment;
mod load;
mod workload;

pub use arm::*;
pub use experiment::*;
pub use load::*;
pub use workload::*;
