//! Machine-readable output of `tare load`: JSON, histogram log, samples as CSV, results as of Fortio and of Kafka's perf tools.

mod fortio;
mod json;
mod perf;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tare_load::Outcome;
use tare_schema::agent::{RecordSample, Sample};
use tare_schema::load::{LoadPlan, LoadSpec};

use super::args::OutputArgs;
use super::throughput;
pub use fortio::result as fortio_result;
pub use json::report as json_report;

/// Output files, created before the load so that a wrong path does not cost a measurement.
pub struct Files {
    hlog: Option<(PathBuf, File)>,
    csv: Option<(PathBuf, File)>,
    fortio: Option<(PathBuf, File)>,
    perf: Option<(PathBuf, File)>,
}

impl Files {
    /// Creates the files that the arguments name.
    pub fn create(wanted: &OutputArgs) -> Result<Self, String> {
        let create = |path: &Option<PathBuf>| {
            let create = |path: &Path| {
                File::create(path)
                    .map(|file| (path.to_owned(), file))
                    .map_err(|error| format!("cannot write {}: {error}", path.display()))
            };
            path.as_deref().map(create).transpose()
        };
        Ok(Self {
            hlog: create(&wanted.hlog)?,
            csv: create(&wanted.csv)?,
            fortio: create(&wanted.fortio)?,
            perf: create(&wanted.perf_csv)?,
        })
    }

    /// Writes the files.
    pub fn write(
        self,
        plan: &LoadPlan,
        url: &str,
        outcome: &Outcome,
        samples: &[Sample],
    ) -> anyhow::Result<()> {
        let failed = |path: &Path| format!("cannot write {}", path.display());
        if let Some((path, mut file)) = self.hlog {
            file.write_all(outcome.result.latency_hlog.as_bytes())
                .with_context(|| failed(&path))?;
        }
        if let Some((path, mut file)) = self.csv {
            file.write_all(samples_csv(&plan.load, samples).as_bytes())
                .with_context(|| failed(&path))?;
        }
        if let Some((path, mut file)) = self.perf {
            let text = perf::csv(&plan.load, outcome);
            file.write_all(text.as_bytes())
                .with_context(|| failed(&path))?;
        }
        if let Some((path, mut file)) = self.fortio {
            let mut text = serde_json::to_string_pretty(&fortio_result(plan, url, outcome))?;
            text.push('\n');
            file.write_all(text.as_bytes())
                .with_context(|| failed(&path))?;
        }
        Ok(())
    }
}

/// The samples with the columns of a trial's `samples.csv`. A producer's exchange is one record.
fn samples_csv(load: &LoadSpec, samples: &[Sample]) -> String {
    let each_bytes = throughput::planned_bytes(load);
    let with_records = |sample: &Sample| Sample {
        records: sample.records.or_else(|| {
            each_bytes.map(|each_bytes| RecordSample {
                count: sample.ok,
                bytes: (sample.ok as f64 * each_bytes) as u64,
                ..RecordSample::default()
            })
        }),
        ..*sample
    };
    let samples = samples.iter().map(with_records);
    let of_load: Vec<_> = samples.map(|sample| ("load".to_owned(), sample)).collect();
    tare_conduct::samples::to_csv(&of_load)
}

#[cfg(test)]
mod tests {
    use tare_schema::load::{Body, ClientSpec, ProduceSpec};

    use super::*;

    #[test]
    fn of_a_producer_every_exchange_is_a_record() {
        let mut load = tare_load::Load::get("http://127.0.0.1:1/").unwrap();
        let mut load = load.plan_mut().load.clone();
        load.client = ClientSpec::with(1, &ProduceSpec::default());
        load.requests[0].body = Body::Filler { bytes: 100 };
        let sample = Sample {
            ok: 5,
            ..Sample::default()
        };
        let text = samples_csv(&load, &[sample]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with(",end_to_end_max_ns"), "{}", lines[0]);
        assert!(lines[1].ends_with(",5,500,,,,"), "{}", lines[1]);
    }
}
