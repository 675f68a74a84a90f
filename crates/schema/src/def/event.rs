//! What is done to the test bed during each trial, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::units::Period;

/// Something that is done at a time: exactly one of the other keys says what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "event"))]
pub struct EventDef {
    /// When, from the start of the window.
    pub at: Period,
    /// End an instance at once, without a word (SIGKILL). The name of a part means one of its instances, drawn for each trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill: Option<Name>,
    /// Ask an instance to end (SIGTERM). A part: one of its instances, drawn for each trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Name>,
    /// Start an instance again, on what it left. A part: all of its instances that were killed or stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Name>,
    /// Hold an instance where it is (SIGSTOP). A part: one of its instances, drawn for each trial. An agent that is held is a client
    /// that does not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Name>,
    /// Let an instance go on. A part: all of its instances that are held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Name>,
    /// Have the preferred leaders lead the topic that this step made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elect: Option<Name>,
    /// Move each partition of the topic that this step made to the next broker in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reassign: Option<Name>,
}
