//! Bencher Metric Format: a JSON object of benchmarks, each with its measures. Latencies are in nanoseconds, as Bencher has them.

use serde::Serialize;
use serde_json::Map;
use tare_record::metric::Metric;
use tare_record::view::Figure;

use crate::error::ExportError;
use crate::formats::{Format, FormatOptions, cell_name, measured};
use crate::subject::ExportSubject;

/// Longest name of a benchmark that Bencher takes.
const NAME_BYTES_MAX: usize = 1024;

/// The format.
pub struct Bmf;

/// A measure of a benchmark. The ends are those of the blocks.
#[derive(Serialize)]
struct Measure {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

impl Format for Bmf {
    fn takes_several(&self) -> bool {
        false
    }

    fn text(&self, subjects: &[ExportSubject], _: FormatOptions) -> Result<String, ExportError> {
        let mut benchmarks = Map::new();
        for view in subjects.iter().map(|subject| &subject.view) {
            for one in measured(view) {
                let mut name = cell_name(view, one.level, one.cell);
                name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
                let measures = benchmarks.entry(name).or_insert_with(|| Map::new().into());
                let measure = Measure {
                    value: one.value,
                    lower_value: one.figure.low,
                    upper_value: one.figure.high,
                };
                if let Some(measures) = measures.as_object_mut() {
                    measures.insert(measure_name(one.figure), serde_json::to_value(measure)?);
                }
            }
        }
        Ok(serde_json::to_string_pretty(&benchmarks)? + "\n")
    }
}

/// The measure that every project of Bencher has for the median latency; others have the names of their metrics.
fn measure_name(figure: &Figure) -> String {
    match figure.metric {
        Metric::Median => "latency".to_owned(),
        other => other.name(),
    }
}
