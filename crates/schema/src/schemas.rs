//! JSON Schemas of all files and messages.

use serde_json::Value;

use crate::agent::AgentMessage;
use crate::clusters::ClustersDef;
use crate::def::{ExperimentDef, WorkloadDef};
use crate::document::schema_of;
use crate::event::{FailureReport, LoadEvent, RunEvent};
use crate::load::LoadPlan;
use crate::load_report::LoadReport;
use crate::plan::Plan;
use crate::record::{EnvironmentRecord, RunState, TrialRecord};
use crate::script::{RequestsDef, SessionDef};
use crate::search_report::{CurveReport, SearchReport};
use crate::target::TargetDef;
use crate::view::View;

/// A file or message format with a JSON Schema.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Name for `tare schema`.
    pub name: &'static str,
    /// Description of the format.
    pub about: &'static str,
    make: fn() -> Value,
}

impl Shape {
    /// A format that another crate declares.
    #[must_use]
    pub const fn new(name: &'static str, about: &'static str, make: fn() -> Value) -> Shape {
        Shape { name, about, make }
    }

    /// The schema (draft 2020-12).
    #[must_use]
    pub fn schema(&self) -> Value {
        (self.make)()
    }

    /// The schema as text, as printed and committed.
    #[must_use]
    pub fn text(&self) -> String {
        // `{:#}` of a JSON value cannot fail, unlike a writer.
        format!("{:#}\n", self.schema())
    }
}

/// One format per line: name, type, description.
macro_rules! shapes {
    ($($name:literal $shape:ty, $about:literal;)*) => {
        &[$(Shape::new($name, $about, schema_of::<$shape>)),*]
    };
}

/// All formats of this crate.
pub const SHAPES: &[Shape] = shapes! {
    "experiment" ExperimentDef, "an experiment file, experiments/<study>/*.yaml";
    "workload" WorkloadDef, "a workload folder's workload.yaml";
    "target" TargetDef, "a target folder's target.yaml";
    "requests" RequestsDef, "a file of plain requests, `tare load --requests`";
    "session" SessionDef, "a scripted session, `tare load --session`";
    "clusters" ClustersDef, "Kafka clusters by name, ~/.config/tare/clusters.yaml";
    "plan" Plan, "plan.json of a run";
    "record" TrialRecord, "record.json of a trial";
    "environment" EnvironmentRecord, "environment.json of a run";
    "run" RunState, "run.json of a run";
    "load-plan" LoadPlan, "what an agent is told";
    "agent-message" AgentMessage, "a line that an agent writes";
    "load-report" LoadReport, "what `tare load --json` prints";
    "search-report" SearchReport, "what `tare load --search --json` prints";
    "curve-report" CurveReport, "what `tare load --curve --json` prints";
    "load-event" LoadEvent, "a line of `tare load --json-lines`";
    "view" View, "what a report shows, `tare report --json`";
    "run-event" RunEvent, "a line of `tare run --json-lines`";
    "error" FailureReport, "what a command prints that fails with --json or --json-lines";
};

/// The format of this name.
#[must_use]
pub fn shape(name: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.name == name)
}
