//! Results for github-action-benchmark's tools `customSmallerIsBetter` and `customBiggerIsBetter`: one document for each direction.

use serde::Serialize;
use tare_record::view::Better;
use tare_report::csv;

use crate::error::ExportError;
use crate::formats::{Format, FormatOptions, cell_name, measured};
use crate::subject::ExportSubject;

/// The format.
pub struct GithubActionBenchmark;

/// A result, as the action names its fields.
#[derive(Serialize)]
struct BenchmarkResult {
    name: String,
    unit: &'static str,
    value: f64,
    /// Half of the difference between the lowest and the highest block.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    /// Text of a tooltip.
    extra: String,
}

impl Format for GithubActionBenchmark {
    fn takes_several(&self) -> bool {
        false
    }

    fn text(
        &self,
        subjects: &[ExportSubject],
        options: FormatOptions,
    ) -> Result<String, ExportError> {
        let mut results = Vec::new();
        for view in subjects.iter().map(|subject| &subject.view) {
            let run = &view.run;
            let blocks = format!("{} of {}", run.blocks_complete, run.blocks_planned);
            for one in measured(view) {
                let is_higher = one.figure.metric.is_rate();
                if is_higher != (options.better == Better::Higher) {
                    continue;
                }
                let ends = one.figure.low.zip(one.figure.high);
                let bound = match one.figure.is_lower_bound {
                    true => "; a lower bound: some exchanges were not answered",
                    false => "",
                };
                results.push(BenchmarkResult {
                    name: format!(
                        "{}, {}",
                        cell_name(view, one.level, one.cell),
                        one.figure.metric.name()
                    ),
                    unit: csv::unit(one.figure.unit),
                    value: one.value,
                    range: ends.map(|(low, high)| format!("± {}", (high - low) / 2.0)),
                    extra: format!("run {}, {blocks} blocks, tare {}{bound}", run.id, run.tare),
                });
            }
        }
        Ok(serde_json::to_string_pretty(&results)? + "\n")
    }
}
