//! The machine-readable output of `tare load`: JSON, the histogram log, samples as CSV.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use tare_load::Outcome;
use tare_schema::agent::{LoadResult, Sample};
use tare_stats::{Latencies, Quantile};

use super::summary::Summary;

/// Files to write, created before the load so that a wrong path costs no measurement.
pub struct Files {
    hlog: Option<(PathBuf, File)>,
    csv: Option<(PathBuf, File)>,
}

impl Files {
    /// Creates those that are wanted.
    pub fn create(hlog: Option<&Path>, csv: Option<&Path>) -> Result<Self, String> {
        let create = |path: &Path| {
            File::create(path)
                .map(|file| (path.to_owned(), file))
                .map_err(|error| format!("cannot write {}: {error}", path.display()))
        };
        Ok(Self {
            hlog: hlog.map(create).transpose()?,
            csv: csv.map(create).transpose()?,
        })
    }

    /// Writes them.
    pub fn write(self, result: &LoadResult, samples: &[Sample]) -> anyhow::Result<()> {
        if let Some((path, mut file)) = self.hlog {
            file.write_all(result.latency_hlog.as_bytes())
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        if let Some((path, file)) = self.csv {
            write_csv(file, samples).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

fn write_csv(file: impl Write, samples: &[Sample]) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    writeln!(
        out,
        "offset_s,length_s,intended,released,right,errors,felt_p50_ns,felt_p99_ns,felt_max_ns,lateness_p99_ns,in_flight,connections"
    )?;
    let missing = |ns: Option<u64>| ns.map_or_else(String::new, |ns| ns.to_string());
    for s in samples {
        writeln!(
            out,
            "{:.3},{:.3},{},{},{},{},{},{},{},{},{},{}",
            s.offset_ns as f64 / 1e9,
            s.length_ns as f64 / 1e9,
            s.intended,
            s.released,
            s.right,
            s.errors,
            missing(s.felt_p50_ns),
            missing(s.felt_p99_ns),
            missing(s.felt_max_ns),
            missing(s.lateness_p99_ns),
            s.in_flight,
            s.connections
        )?;
    }
    out.flush()
}

/// Everything but the histogram logs, which `--hlog` writes.
pub fn json(summary: &Summary, outcome: &Outcome) -> anyhow::Result<String> {
    let mut result = serde_json::to_value(&outcome.result)?;
    if let Some(fields) = result.as_object_mut() {
        fields.remove("latency_hlog");
        fields.remove("lateness_hlog");
    }
    let latencies: serde_json::Map<String, Value> = outcome
        .totals
        .iter()
        .map(|(tag, latencies)| (tag.clone(), spread(latencies)))
        .collect();
    let all = json!({
        "load": summary.words,
        "rate": {
            "asked_per_s": summary.rate.asked_per_s,
            "completed_per_s": summary.rate.completed_per_s,
            "reached": summary.rate.asked_per_s.map(|_| summary.rate.is_reached()),
        },
        "latency_ns": latencies,
        "result": result,
    });
    Ok(serde_json::to_string_pretty(&all)?)
}

fn spread(latencies: &Latencies) -> Value {
    let of = |q| figure(Some(latencies.quantile(q)));
    json!({
        "count": latencies.count(),
        "mean": latencies.mean_ns(),
        "min": latencies.min_ns(),
        "p50": of(0.5),
        "p75": of(0.75),
        "p90": of(0.9),
        "p95": of(0.95),
        "p99": of(0.99),
        "p99.9": of(0.999),
        "p99.99": of(0.9999),
        "max": figure(latencies.max()),
    })
}

/// A number; `{"more_than": number}` for a bound; null when the counts do not carry it.
fn figure(quantile: Option<Quantile>) -> Value {
    match quantile {
        Some(Quantile::Exact(ns)) => json!(ns),
        Some(Quantile::Above(ns)) => json!({ "more_than": ns }),
        Some(Quantile::TooFew) | None => Value::Null,
    }
}
