//! JSON Schemas of the files and messages that Tare writes.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::agent::AgentMessage;
use crate::api::{ApiShapes, GoldenFile, NightReport, PerfcheckReport, SizingReport};
use crate::event::{FailureReport, LoadEvent, RunEvent};
use crate::load::LoadPlan;
use crate::load_report::LoadReport;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::record::{EnvironmentRecord, RunState, TrialRecord};
use crate::seal::RunSeal;
use crate::search_report::{CurveReport, SearchReport};
use crate::view::View;

/// JSON Schema of a type, used for checks and by editors.
#[must_use]
pub fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

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
    /// The format of a type.
    #[must_use]
    pub const fn of<T: JsonSchema>(name: &'static str, about: &'static str) -> Shape {
        Shape::new(name, about, schema_of::<T>)
    }

    /// A format whose schema is made of several types.
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

/// All formats of files and messages that Tare writes.
pub const SHAPES: &[Shape] = &[
    Shape::of::<Plan>("plan", "plan.json of a run"),
    Shape::of::<TrialRecord>("record", "record.json of a trial"),
    Shape::of::<EnvironmentRecord>("environment", "environment.json of a run"),
    Shape::of::<RunState>("run", "run.json of a run"),
    Shape::of::<RunSeal>("seal", "seal.json of a run"),
    Shape::of::<Profile>(
        "profile",
        "stacks of an instance, profiles/NNNN.json of a run",
    ),
    Shape::of::<LoadPlan>("load-plan", "what an agent is told"),
    Shape::of::<AgentMessage>("agent-message", "a line that an agent writes"),
    Shape::of::<LoadReport>("load-report", "what `tare load --json` prints"),
    Shape::of::<SearchReport>("search-report", "what `tare load --search --json` prints"),
    Shape::of::<CurveReport>("curve-report", "what `tare load --curve --json` prints"),
    Shape::of::<LoadEvent>("load-event", "a line of `tare load --json-lines`"),
    Shape::of::<View>("view", "what a report shows, `tare report --json`"),
    Shape::of::<RunEvent>("run-event", "a line of `tare run --json-lines`"),
    Shape::of::<ApiShapes>("api", "what the API of `tare serve` takes and returns"),
    Shape::of::<SizingReport>("sizing", "what `tare size --json` prints"),
    Shape::of::<NightReport>("night", "what `tare suite --json` prints, night.json"),
    Shape::of::<PerfcheckReport>("perfcheck", "what `tare perfcheck --json` prints"),
    Shape::of::<GoldenFile>("golden", "perf.golden.json of `tare perfcheck`"),
    Shape::of::<FailureReport>(
        "error",
        "what a command prints that fails with --json or --json-lines",
    ),
];
