//! Benchmarks that are commands: `bench.yaml`, for `tare perfcheck`.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tare_record::schemas::JsonSchema;
use tare_record::view::Better;

use crate::document;
use crate::problem::Problems;
use crate::yaml::Node;

/// Name of the file.
pub const BENCH_FILE: &str = "bench.yaml";

/// Benchmarks that are commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchFileDef {
    /// Command that builds what is measured, in the folder of the file. Default: none.
    #[schemars(length(min = 1))]
    pub prepare: Option<Vec<String>>,
    /// Command whose first line of output is the version of what measures. Default: none.
    #[schemars(length(min = 1))]
    pub version: Option<Vec<String>>,
    /// The benchmarks.
    #[schemars(length(min = 1))]
    pub benchmarks: Vec<CommandBenchmarkDef>,
}

/// A benchmark: a command and where its output has the value. Exactly one of `json` and `pattern`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "benchmark"))]
pub struct CommandBenchmarkDef {
    /// Name, unique in the file.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Program and arguments, started in the folder of the file.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Place of the value in the output, which is JSON: `/results/0/mean` (RFC 6901).
    pub json: Option<String>,
    /// Regular expression with one group, which is the value: `time: ([0-9.]+) ms`.
    pub pattern: Option<String>,
    /// Unit of the value.
    #[schemars(length(min = 1, max = 40))]
    pub unit: String,
    /// Whether less or more is better. Default: lower.
    #[serde(default = "lower")]
    pub better: Better,
}

fn lower() -> Better {
    Better::Lower
}

/// Reads `bench.yaml`.
///
/// # Errors
/// All problems of the file, each with its position.
pub fn read_benchmarks(path: &Path) -> Result<BenchFileDef, Problems> {
    let file = path.display().to_string();
    let (def, node) = document::read::<BenchFileDef>(&file, &document::read_text(path)?)?;
    let mut problems = Problems::default();
    let mut names: Vec<&str> = Vec::new();
    let nodes = node.get("benchmarks").map_or(&[][..], Node::items);
    for (one, node) in def.benchmarks.iter().zip(nodes) {
        if one.json.is_some() == one.pattern.is_some() {
            let text = "a benchmark has exactly one of \"json\" and \"pattern\"";
            problems.add(&file, node.mark, text.to_owned());
        }
        if let Some(pointer) = &one.json
            && !pointer.is_empty()
            && !pointer.starts_with('/')
        {
            let text = format!("a place in JSON begins with \"/\": \"/{pointer}\"");
            problems.add(&file, node.mark_at(&["json"]), text);
        }
        if names.contains(&one.name.as_str()) {
            let text = format!("{} is in this file already: give it another name", one.name);
            problems.add(&file, node.mark_at(&["name"]), text);
        }
        names.push(&one.name);
    }
    problems.into_result(def)
}
