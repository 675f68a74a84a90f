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

/// All formats of this crate.
pub const SHAPES: &[Shape] = &[
    Shape {
        name: "experiment",
        about: "an experiment file, experiments/<study>/*.yaml",
        make: schema_of::<ExperimentDef>,
    },
    Shape {
        name: "workload",
        about: "a workload folder's workload.yaml",
        make: schema_of::<WorkloadDef>,
    },
    Shape {
        name: "target",
        about: "a target folder's target.yaml",
        make: schema_of::<TargetDef>,
    },
    Shape {
        name: "requests",
        about: "a file of plain requests, `tare load --requests`",
        make: schema_of::<RequestsDef>,
    },
    Shape {
        name: "session",
        about: "a scripted session, `tare load --session`",
        make: schema_of::<SessionDef>,
    },
    Shape {
        name: "clusters",
        about: "Kafka clusters by name, ~/.config/tare/clusters.yaml",
        make: schema_of::<ClustersDef>,
    },
    Shape {
        name: "plan",
        about: "plan.json of a run",
        make: schema_of::<Plan>,
    },
    Shape {
        name: "record",
        about: "record.json of a trial",
        make: schema_of::<TrialRecord>,
    },
    Shape {
        name: "environment",
        about: "environment.json of a run",
        make: schema_of::<EnvironmentRecord>,
    },
    Shape {
        name: "run",
        about: "run.json of a run",
        make: schema_of::<RunState>,
    },
    Shape {
        name: "load-plan",
        about: "what an agent is told",
        make: schema_of::<LoadPlan>,
    },
    Shape {
        name: "agent-message",
        about: "a line that an agent writes",
        make: schema_of::<AgentMessage>,
    },
    Shape {
        name: "load-report",
        about: "what `tare load --json` prints",
        make: schema_of::<LoadReport>,
    },
    Shape {
        name: "search-report",
        about: "what `tare load --search --json` prints",
        make: schema_of::<SearchReport>,
    },
    Shape {
        name: "curve-report",
        about: "what `tare load --curve --json` prints",
        make: schema_of::<CurveReport>,
    },
    Shape {
        name: "load-event",
        about: "a line of `tare load --json-lines`",
        make: schema_of::<LoadEvent>,
    },
    Shape {
        name: "view",
        about: "what a report shows, `tare report --json`",
        make: schema_of::<View>,
    },
    Shape {
        name: "run-event",
        about: "a line of `tare run --json-lines`",
        make: schema_of::<RunEvent>,
    },
    Shape {
        name: "error",
        about: "what a command prints that fails with --json or --json-lines",
        make: schema_of::<FailureReport>,
    },
];

/// The format of this name.
#[must_use]
pub fn shape(name: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.name == name)
}
