//! Definition of a fault: what is done to the test bed during each trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::units::Period;

/// A fault, injected at one time. Exactly one of the keys besides `at` says which.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "fault"))]
pub struct FaultDef {
    /// Time of the fault, from the start of the window.
    pub at: Period,
    /// Kills an instance (SIGKILL). The name of a part means one of its instances, drawn at random for each trial.
    pub kill: Option<Name>,
    /// Stops an instance (SIGTERM). A part: one of its instances, drawn at random for each trial.
    pub stop: Option<Name>,
    /// Starts an instance again, on the data it left. A part: all of its instances that were killed or stopped.
    pub start: Option<Name>,
    /// Pauses an instance (SIGSTOP). A part: one of its instances, drawn at random for each trial. A paused agent is a client
    /// that does not read.
    pub pause: Option<Name>,
    /// Resumes an instance (SIGCONT). A part: all of its instances that are paused.
    pub resume: Option<Name>,
    /// Elects the preferred leaders of the topic that this preparation step creates.
    pub elect: Option<Name>,
    /// Moves each partition of the topic that this preparation step creates to the next broker.
    pub reassign: Option<Name>,
}
