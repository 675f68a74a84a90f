//! `tare merge`: merges the latencies of several loads, as of the pods of a Job.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tare_record::FORMAT_VERSION;
use tare_record::checksums::Checksums;
use tare_record::load_report::LatencyReport;
use tare_record::schemas::{JsonSchema, Shape};
use tare_record::shape;
use tare_stats::{Latencies, hlog};

use crate::arguments::is_standard_stream;
use crate::commands::load::latency_report;
use crate::exit::{Exit, bad_input};
use crate::screen;
use crate::values::{columns, counted, largest, maybe_time, quantile};

/// The schema of the output.
pub const MERGED: Shape = shape!("merged", "latencies that `tare merge --json` prints");

/// Histogram log of a load that was kept.
const KEPT_LOG: &str = "latency.hlog";
/// Name of intervals without a tag.
const UNTAGGED: &str = "untagged";

/// Arguments of `tare merge`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Logs of `tare load --hlog` or of another HdrHistogram tool, folders of `tare load --out`; `-`: standard input.
    #[arg(required = true, value_name = "FILE")]
    logs: Vec<PathBuf>,
    /// Write the merged histograms to this file, as an HdrHistogram log; `-`: print them in place of the table.
    #[arg(long, value_name = "FILE")]
    hlog: Option<PathBuf>,
    /// Print as JSON (schema: `tare schema merged`).
    #[arg(long)]
    json: bool,
}

/// Merged latencies.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MergedReport {
    /// Version of the format.
    version: u32,
    /// Logs, as given.
    logs: Vec<String>,
    /// Latencies by histogram tag; `untagged`: those of intervals without one.
    latency_ns: BTreeMap<String, LatencyReport>,
}

/// Runs `tare merge`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let is_log_printed = args.hlog.as_deref().is_some_and(is_standard_stream);
    if is_log_printed && args.json {
        return Err(bad_input(
            "--json and --hlog - both print: name a file for the histograms",
        ));
    }
    let mut merged: BTreeMap<String, Latencies> = BTreeMap::new();
    for log in &args.logs {
        for (tag, latencies) in read(log).map_err(bad_input)? {
            let tag = if tag.is_empty() { UNTAGGED } else { &tag };
            let Some(sum) = merged.get_mut(tag) else {
                merged.insert(tag.to_owned(), latencies);
                continue;
            };
            let added = sum.merge(&latencies);
            let added = added.with_context(|| format!("{}: {tag}", log.display()));
            added.map_err(bad_input)?;
        }
    }
    match &args.hlog {
        Some(_) if is_log_printed => screen::print_raw(&String::from_utf8(log_of(&merged)?)?)?,
        Some(path) => {
            let name = || format!("cannot write {}", path.display());
            tare_conduct::write_synced(path, &log_of(&merged)?).with_context(name)?;
        }
        None => {}
    }
    let names = args.logs.iter().map(|log| log.display().to_string());
    if args.json {
        let figures = merged.iter();
        screen::print_json(&MergedReport {
            version: FORMAT_VERSION,
            logs: names.collect(),
            latency_ns: figures
                .map(|(tag, latencies)| (tag.clone(), latency_report(latencies)))
                .collect(),
        })?;
    } else if !is_log_printed {
        screen::print(&text(&merged, args.logs.len()))?;
    }
    Ok(if merged.values().all(Latencies::is_empty) {
        screen::say("error: there are no latencies in it");
        Exit::NothingMeasured.into()
    } else {
        Exit::Done.into()
    })
}

/// The histograms of a log by tag.
fn read(log: &Path) -> Result<BTreeMap<String, Latencies>, String> {
    if is_standard_stream(log) {
        let read = hlog::read_merged(io::stdin().lock(), ..);
        return read.map_err(|error| format!("standard input: {error}"));
    }
    let path = match log.is_dir() {
        true => log.join(KEPT_LOG),
        false => log.to_owned(),
    };
    let named = |error: &dyn Display| format!("{}: {error}", path.display());
    if log.is_dir() {
        let sums = Checksums::read(log);
        let checked =
            sums.and_then(|sums| sums.map_or(Ok(()), |sums| sums.check_file(log, KEPT_LOG)));
        checked.map_err(|error| named(&error))?;
    }
    let file = File::open(&path).map_err(|error| named(&error))?;
    hlog::read_merged(BufReader::new(file), ..).map_err(|error| named(&error))
}

/// One interval for each tag: the logs may be of different times.
fn log_of(merged: &BTreeMap<String, Latencies>) -> anyhow::Result<Vec<u8>> {
    let comment = "merged by tare: one interval for each tag, without times";
    let mut log = hlog::Writer::begin(Vec::new(), Duration::ZERO, &[comment])?;
    for (tag, latencies) in merged {
        log.interval(tag, Duration::ZERO, Duration::ZERO, latencies)?;
    }
    Ok(log.finish()?)
}

fn text(merged: &BTreeMap<String, Latencies>, logs: usize) -> String {
    let head = ["", "count", "min", "p50", "p90", "p99", "p99.9", "max"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(merged.iter().map(|(tag, latencies)| {
        let mut row = vec![
            tag.clone(),
            latencies.count().to_string(),
            maybe_time(latencies.min_ns()),
        ];
        let quantiles = [0.5, 0.9, 0.99, 0.999];
        row.extend(quantiles.map(|q| quantile(latencies.quantile(q))));
        row.push(largest(latencies));
        row
    }));
    let lines = columns(&rows).join("\n");
    format!("{} merged\n\n{lines}\n", counted(logs as u64, "log"))
}
