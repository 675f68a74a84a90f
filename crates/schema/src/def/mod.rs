//! Types of the YAML files, as written: experiments and workloads before resolution.
//!
//! These types are the one place where a key is declared: serde fills them, `crate::structure`
//! checks against their JSON Schema, editors complete from it. `Option` means "not written".

mod arm;
mod experiment;
mod external;
mod fault;
mod load;
mod sites;
mod waterfall;
mod workload;

pub use arm::{
    ArmDef, EdgeSecurityDef, HopDef, HopRole, HopSecurity, InterceptionDef, OnDef, OnWord,
    PluralDef, SidecarDef, SidecarsDef, SubjectDef,
};
pub use experiment::{
    BlocksDef, CpuList, ExperimentDef, FitnessDef, LimitsDef, PlacementDef, PublishedDef, QuickDef,
    ValueDef, WorkloadUse, WorkloadUseMap,
};
pub use external::{ExternalDef, ExternalMapDef};
pub use fault::FaultDef;
pub use load::{LoadDef, LoadModel, LoadSection, RateDef, RateWord, StepDef};
pub use sites::{SiteLinkDef, SitesDef};
pub use waterfall::{AddingDef, SequenceArmDef, WaterfallDef};
pub use workload::{
    AuditDef, BodyDef, CallsDef, Concern, CountDef, ExpectDef, FilledDef, LoadKindDef, PartDef,
    PartsDef, PrepareDef, PrepareWhen, RequestDef, SettingKind, TopicDef, WorkloadDef,
    WorkloadEdgeDef, WorkloadSettingDef,
};
