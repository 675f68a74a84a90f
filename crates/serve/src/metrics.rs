//! `/metrics` in OpenMetrics: what is being measured now, and the last result of each experiment.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use tare_record::agent::Sample;
use tare_record::api::{RunEntry, RunEntryState};
use tare_record::event::{LoadEvent, PROGRESS, RunEvent};
use tare_record::metric::Unit;
use tare_record::text::word_of;
use tare_record::view::View;

use crate::error::{Refusal, Reply};
use crate::server::{Server, Shared};
use crate::{kafka, lock, places};

/// End of the events in which the last ones are looked for.
const TAIL_BYTES: u64 = 64 << 10;
/// Most experiments whose last result is shown.
const EXPERIMENTS_MAX: usize = 100;

/// Name, type, unit and meaning of a metric.
pub type MetricDef = (&'static str, &'static str, &'static str, &'static str);

/// Metrics of runs and loads, in the order of the page.
const METRICS: &[MetricDef] = &[
    (
        "tare_run_state",
        "gauge",
        "",
        "Whether the run is in this state: 1.",
    ),
    (
        "tare_run_left_seconds",
        "gauge",
        "seconds",
        "Estimated time to the end of a run that is going on.",
    ),
    (
        "tare_run_blocks",
        "gauge",
        "",
        "Complete blocks of the last run of the experiment.",
    ),
    (
        "tare_live_responses_per_second",
        "gauge",
        "",
        "Responses per second of what is measured now.",
    ),
    (
        "tare_live_errors_per_second",
        "gauge",
        "",
        "Failed exchanges per second of what is measured now.",
    ),
    (
        "tare_live_latency_seconds",
        "gauge",
        "seconds",
        "Latency within the last second.",
    ),
    (
        "tare_live_lateness_seconds",
        "gauge",
        "seconds",
        "99th percentile of the generator's lateness within the last second.",
    ),
    (
        "tare_live_part_cpu_cores",
        "gauge",
        "",
        "Cores that a part uses.",
    ),
    (
        "tare_live_part_memory_bytes",
        "gauge",
        "bytes",
        "Resident memory of a part.",
    ),
    (
        "tare_live_background_cpu_cores",
        "gauge",
        "",
        "Cores that programs outside of the run use.",
    ),
    (
        "tare_result",
        "gauge",
        "",
        "Metric of an arm in the last complete run of the experiment: median over blocks, in its base unit.",
    ),
];

/// Lines by metric.
#[derive(Default)]
pub struct Page(BTreeMap<&'static str, String>);

impl Page {
    pub fn add(&mut self, metric: &'static str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.0.entry(metric).or_default(),
            "{metric}{{{}}} {value}",
            labels.join(",")
        );
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, kind, unit, about) in METRICS.iter().chain(kafka::METRICS) {
            let _ = writeln!(text, "# TYPE {name} {kind}");
            if !unit.is_empty() {
                let _ = writeln!(text, "# UNIT {name} {unit}");
            }
            let _ = writeln!(text, "# HELP {name} {about}");
            text.push_str(self.0.get(name).map_or("", String::as_str));
        }
        text + "# EOF\n"
    }
}

/// A label's value. (OpenMetrics 1.0, escaping)
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// The page.
pub async fn page(State(server): State<Shared>) -> Reply<impl IntoResponse> {
    let made = tokio::task::spawn_blocking(move || text(&server)).await;
    let text = made.map_err(|error| Refusal::failed(error.to_string()))?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text))
}

fn text(server: &Server) -> String {
    let mut page = Page::default();
    let (entries, _) = server.runs.list();
    for entry in &entries {
        page.add(
            "tare_run_state",
            &[("run", &entry.id), ("state", &word_of(&entry.state))],
            1.0,
        );
        if entry.state == RunEntryState::Running {
            live_run(&mut page, &server.options.runs, &entry.id);
        }
    }
    live_loads(&mut page, &server.options.runs);
    for entry in last_complete(&entries).values().take(EXPERIMENTS_MAX) {
        result(&mut page, server, entry);
    }
    server.kafka.metrics(&mut page);
    page.text()
}

fn live_run(page: &mut Page, runs: &Path, id: &str) {
    let events: Vec<RunEvent> = last_events(&runs.join(id));
    let last = |is_it: &dyn Fn(&RunEvent) -> bool| events.iter().rfind(|event| is_it(event));
    let mut sources: BTreeMap<&str, (&Sample, u64)> = BTreeMap::new();
    for event in &events {
        if let RunEvent::Sample { at, source, sample } = event {
            sources.insert(source, (sample, at.left_ns));
        }
    }
    for (source, (sample, left_ns)) in sources {
        live_sample(page, &[("run", id), ("source", source)], sample);
        page.0.remove("tare_run_left_seconds");
        page.add(
            "tare_run_left_seconds",
            &[("run", id)],
            left_ns as f64 / 1e9,
        );
    }
    if let Some(RunEvent::Usage {
        length_ns,
        parts,
        background_cpu_ns,
        ..
    }) = last(&|event| matches!(event, RunEvent::Usage { .. }))
    {
        let cores = |cpu_ns: u64| cpu_ns as f64 / (*length_ns).max(1) as f64;
        for part in parts {
            let labels = [
                ("run", id),
                ("part", part.instance.as_str()),
                ("role", part.role.as_str()),
            ];
            if let Some(cpu_ns) = part.cpu_ns {
                page.add("tare_live_part_cpu_cores", &labels, cores(cpu_ns));
            }
            if let Some(bytes) = part.rss_bytes {
                page.add("tare_live_part_memory_bytes", &labels, bytes as f64);
            }
        }
        if let Some(cpu_ns) = background_cpu_ns {
            page.add(
                "tare_live_background_cpu_cores",
                &[("run", id)],
                cores(*cpu_ns),
            );
        }
    }
}

fn live_loads(page: &mut Page, runs: &Path) {
    let entries = std::fs::read_dir(runs).into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().into_string().ok());
    for id in ids.filter(|id| id.contains("-load") && places::name(id).is_ok()) {
        let folder = runs.join(&id);
        if lock::holder(&folder).is_none() {
            continue;
        }
        let events: Vec<LoadEvent> = last_events(&folder);
        let samples = events.iter().rev().find_map(|event| match event {
            LoadEvent::Sample(sample) => Some(sample),
            _ => None,
        });
        if let Some(sample) = samples {
            live_sample(page, &[("load", &id)], sample);
        }
    }
}

fn live_sample(page: &mut Page, labels: &[(&str, &str)], sample: &Sample) {
    let seconds = (sample.length_ns as f64 / 1e9).max(1e-9);
    page.add(
        "tare_live_responses_per_second",
        labels,
        (sample.ok + sample.errors) as f64 / seconds,
    );
    page.add(
        "tare_live_errors_per_second",
        labels,
        sample.errors as f64 / seconds,
    );
    let quantiles = [
        ("0.5", sample.latency_p50_ns),
        ("0.99", sample.latency_p99_ns),
        ("1", sample.latency_max_ns),
    ];
    for (quantile, ns) in quantiles {
        if let Some(ns) = ns {
            let labels: Vec<(&str, &str)> = labels
                .iter()
                .copied()
                .chain([("quantile", quantile)])
                .collect();
            page.add("tare_live_latency_seconds", &labels, ns as f64 / 1e9);
        }
    }
    if let Some(ns) = sample.lateness_p99_ns {
        page.add("tare_live_lateness_seconds", labels, ns as f64 / 1e9);
    }
}

/// The newest complete run of each experiment.
fn last_complete(entries: &[RunEntry]) -> BTreeMap<&str, &RunEntry> {
    let mut last = BTreeMap::new();
    // The newest is the first.
    for entry in entries
        .iter()
        .filter(|entry| entry.state == RunEntryState::Complete)
    {
        if let Some(summary) = &entry.summary {
            last.entry(summary.experiment.as_str()).or_insert(entry);
        }
    }
    last
}

/// Figures of complete runs; they do not change any more.
static RESULTS: Mutex<BTreeMap<String, Vec<Figure>>> = Mutex::new(BTreeMap::new());

#[derive(Clone)]
struct Figure {
    labels: [String; 4],
    value: f64,
}

fn result(page: &mut Page, server: &Server, entry: &RunEntry) {
    let Some(summary) = &entry.summary else {
        return;
    };
    let labels = [
        ("experiment", summary.experiment.as_str()),
        ("run", entry.id.as_str()),
    ];
    page.add(
        "tare_run_blocks",
        &labels,
        f64::from(summary.blocks_complete),
    );
    let known = RESULTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(&entry.id)
        .cloned();
    let figures = match known {
        Some(known) => known,
        None => {
            let made = server
                .runs
                .view(&entry.id)
                .map(|view| figures(&view))
                .unwrap_or_default();
            let mut results = RESULTS.lock().unwrap_or_else(PoisonError::into_inner);
            while results.len() >= EXPERIMENTS_MAX {
                results.pop_first();
            }
            results.insert(entry.id.clone(), made.clone());
            made
        }
    };
    for figure in figures {
        let [arm, level, metric, unit] = &figure.labels;
        let more = [
            ("arm", arm.as_str()),
            ("level", level),
            ("metric", metric),
            ("unit", unit),
        ];
        let labels: Vec<(&str, &str)> = labels.into_iter().chain(more).collect();
        page.add("tare_result", &labels, figure.value);
    }
}

fn figures(view: &View) -> Vec<Figure> {
    let cells = view
        .levels
        .iter()
        .flat_map(|level| level.cells.iter().map(move |cell| (level, cell)));
    let of_cell = cells.flat_map(|(level, cell)| {
        cell.figures.iter().filter_map(move |figure| {
            // Durations are in seconds, as everywhere in OpenMetrics.
            let (unit, per) = match figure.unit {
                Unit::Nanoseconds => ("seconds".to_owned(), 1e9),
                other => (word_of(&other), 1.0),
            };
            Some(Figure {
                labels: [
                    cell.arm.clone(),
                    level.name.clone(),
                    word_of(&figure.metric),
                    unit,
                ],
                value: figure.value? / per,
            })
        })
    });
    of_cell.collect()
}

/// The last events of a run or a load.
fn last_events<T: serde::de::DeserializeOwned>(folder: &Path) -> Vec<T> {
    let read = || -> std::io::Result<String> {
        let mut file = places::open_below(folder, PROGRESS)
            .map_err(|_| std::io::Error::other("it is gone"))?;
        let bytes = file.metadata()?.len();
        file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL_BYTES)))?;
        let mut text = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    let text = read().unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_belongs_to_a_metric_that_is_described() {
        let mut page = Page::default();
        let sample = Sample {
            ok: 10,
            length_ns: 1_000_000_000,
            latency_p50_ns: Some(2_000_000),
            ..Sample::default()
        };
        live_sample(&mut page, &[("run", "a\"b\\c\n")], &sample);
        let text = page.text();
        assert!(text.ends_with("# EOF\n"));
        assert!(
            text.contains("tare_live_responses_per_second{run=\"a\\\"b\\\\c\\n\"} 10\n"),
            "{text}"
        );
        assert!(
            text.contains(
                "tare_live_latency_seconds{run=\"a\\\"b\\\\c\\n\",quantile=\"0.5\"} 0.002\n"
            ),
            "{text}"
        );
        for metric in page.0.keys() {
            assert!(METRICS.iter().any(|(name, ..)| name == metric), "{metric}");
        }
    }

    #[test]
    fn the_dashboard_asks_for_metrics_that_are_there() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grafana/tare.json");
        let dashboard: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        let targets = panels
            .iter()
            .flat_map(|panel| panel["targets"].as_array().unwrap());
        let queries: Vec<&str> = targets
            .map(|target| target["expr"].as_str().unwrap())
            .collect();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut asked: Vec<&str> = queries
            .iter()
            .flat_map(|query| query.split(|c| !is_part(c)))
            .filter(|word| word.starts_with("tare_"))
            .collect();
        asked.sort_unstable();
        asked.dedup();
        assert!(asked.len() > 8, "{asked:?}");
        for metric in asked {
            assert!(METRICS.iter().any(|(name, ..)| *name == metric), "{metric}");
        }
    }
}
