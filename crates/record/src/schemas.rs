//! JSON Schemas of the files and messages that Tare writes.
//!
//! They are made from the types by a test (feature `schema`), and committed in `docs/schema`. The product reads what is committed.

#[cfg(not(feature = "schema"))]
pub use no_schema::JsonSchema;
#[cfg(feature = "schema")]
pub use schemars::JsonSchema;
use serde_json::Value;

/// JSON Schema of a type (draft 2020-12).
#[cfg(feature = "schema")]
#[must_use]
pub fn schema_of<T: JsonSchema>() -> Value {
    schemars::generate::SchemaSettings::draft2020_12()
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
    /// The schema (draft 2020-12) as text, as it is committed.
    pub text: &'static str,
}

impl Shape {
    /// The schema.
    #[must_use]
    pub fn schema(&self) -> Value {
        // A test compares every text with what its type makes.
        serde_json::from_str(self.text).unwrap_or_default()
    }
}

/// The [`Shape`] of the file `docs/schema/NAME.json`.
#[macro_export]
macro_rules! shape {
    ($name:literal, $about:literal $(,)?) => {
        $crate::schemas::Shape {
            name: $name,
            about: $about,
            text: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../docs/schema/",
                $name,
                ".json"
            )),
        }
    };
}

/// All formats of files and messages that Tare writes.
pub const SHAPES: &[Shape] = &[
    shape!("plan", "plan.json of a run"),
    shape!("record", "record.json of a trial"),
    shape!("environment", "environment.json of a run"),
    shape!("run", "run.json of a run"),
    shape!("seal", "seal.json of a run"),
    shape!(
        "profile",
        "stacks of an instance, profiles/NNNN.json of a run",
    ),
    shape!("load-plan", "what an agent is told"),
    shape!("agent-message", "a line that an agent writes"),
    shape!("load-report", "what `tare load --json` prints"),
    shape!("search-report", "what `tare load --search --json` prints"),
    shape!("curve-report", "what `tare load --curve --json` prints"),
    shape!("load-event", "a line of `tare load --json-lines`"),
    shape!("view", "what a report shows, `tare report --json`"),
    shape!("run-event", "a line of `tare run --json-lines`"),
    shape!("api", "what the API of `tare serve` takes and returns"),
    shape!("sizing", "what `tare size --json` prints"),
    shape!("night", "what `tare suite --json` prints, night.json"),
    shape!("perfcheck", "what `tare perfcheck --json` prints"),
    shape!("golden", "perf.golden.json of `tare perfcheck`"),
    shape!(
        "error",
        "what a command prints that fails with --json or --json-lines",
    ),
];
