//! Machine-readable output of `tare load`: JSON, histogram log, samples as CSV, results as of Fortio and of Kafka's perf tools.

mod json;
mod perf;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use tare_load::{LoadOutcome, fortio};
use tare_record::agent::{RecordSample, Sample};
use tare_record::load::{LoadPlan, LoadSpec};

use super::args::OutputArgs;
use super::throughput;
use crate::arguments::is_standard_stream;
use crate::json_output::JsonOutput;
use crate::screen;
use crate::values::{at_least, maybe_time};
pub use json::{latency_report, report as json_report};

/// The text of a file, from plan, URL, result and samples.
type FileText = fn(&LoadPlan, &str, &LoadOutcome, &[Sample]) -> anyhow::Result<String>;

/// Output files, created before the load so that a wrong path does not cost a measurement; `None`: standard output.
pub struct Files(Vec<(PathBuf, Option<File>, FileText)>);

impl Files {
    /// Creates the files that the arguments name; one of them, without JSON, may be standard output.
    pub fn create(wanted: &OutputArgs) -> Result<Self, String> {
        let printed = wanted.printed_files();
        if printed > 1 || printed == 1 && wanted.form() != JsonOutput::No {
            return Err("standard output can have one form: name a file instead of `-`".to_owned());
        }
        let kinds: [(&Option<PathBuf>, FileText); 4] = [
            (&wanted.hlog, |_, _, outcome, _| {
                Ok(outcome.result.latency_hlog.clone())
            }),
            (&wanted.csv, |plan, _, _, samples| {
                Ok(samples_csv(&plan.load, samples))
            }),
            (&wanted.perf_csv, |plan, _, outcome, _| {
                Ok(perf::csv(&plan.load, outcome))
            }),
            (&wanted.fortio, |plan, url, outcome, _| {
                let result = fortio::result(plan, url, labels(outcome), outcome);
                Ok(serde_json::to_string_pretty(&result)? + "\n")
            }),
        ];
        let named = kinds
            .into_iter()
            .filter_map(|(path, text)| Some((path.clone()?, text)));
        let create = |(path, text): (PathBuf, FileText)| {
            if is_standard_stream(&path) {
                return Ok((path, None, text));
            }
            match File::create(&path) {
                Ok(file) => Ok((path, Some(file), text)),
                Err(error) => Err(format!("cannot write {}: {error}", path.display())),
            }
        };
        named.map(create).collect::<Result<_, _>>().map(Self)
    }

    /// Writes the files.
    pub fn write(
        self,
        plan: &LoadPlan,
        url: &str,
        outcome: &LoadOutcome,
        samples: &[Sample],
    ) -> anyhow::Result<()> {
        for (path, file, text) in self.0 {
            let text = text(plan, url, outcome, samples)?;
            match file {
                Some(mut file) => file
                    .write_all(text.as_bytes())
                    .with_context(|| format!("cannot write {}", path.display()))?,
                None => screen::print_raw(&text)?,
            }
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

/// Labels with `latency`, which Fortio does not have: without it stalls would not show.
fn labels(outcome: &LoadOutcome) -> String {
    let latency = outcome.latency();
    let of = |q| {
        let ns = latency.as_ref();
        let ns = ns.and_then(|latency| at_least(latency.quantile(q)));
        maybe_time(ns)
    };
    format!("tare latency p50 {}, p99 {}", of(0.5), of(0.99))
}

#[cfg(test)]
mod tests {
    use tare_record::load::{Body, ClientSpec, ProduceSpec};

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
