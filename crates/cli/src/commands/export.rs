//! `tare export`: writes runs and loads in the formats of other programs, also while they are measured.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use tare_export::follow::{LOOK_EVERY, last_events};
use tare_export::formats::{self, FormatOptions, openmetrics, otlp};
use tare_export::metrics::Metrics;
use tare_export::send::Collector;
use tare_export::{ExportError, ExportSubject, live, lock};
use tare_record::export::ExportFormat;
use tare_record::record::RunProgress;
use tare_record::text::word_of;
use tare_record::view::Better;

use crate::arguments::words;
use crate::exit::{Exit, bad_input};
use crate::runs;
use crate::screen::{print_raw, say};

/// Variable with the URL of a collector, as of OpenTelemetry's own exporters.
const ENDPOINT_VARIABLE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Variable with header fields of its requests, `name=value,…`.
const HEADERS_VARIABLE: &str = "OTEL_EXPORTER_OTLP_HEADERS";
/// Variable with the file of a step's summary in GitHub Actions.
const SUMMARY_VARIABLE: &str = "GITHUB_STEP_SUMMARY";

/// Arguments of `tare export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Runs: folder, the folder's name, or `latest`; a kept load; a file of `tare load --json`.
    #[arg(default_value = "latest", value_name = "RUN")]
    runs: Vec<String>,
    /// Format.
    #[arg(long = "as", value_name = "FORMAT", value_parser = words::<ExportFormat>(FORMATS))]
    format: ExportFormat,
    /// File [default: standard output; step-summary: the file that GitHub names].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Collector that otlp is sent to [default: that of OTEL_EXPORTER_OTLP_ENDPOINT; without one it is printed].
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Certificate authorities of the collector (PEM) [default: those of the system].
    #[arg(long, value_name = "FILE", requires = "endpoint")]
    cacert: Option<PathBuf>,
    /// Metrics of which direction (github-action-benchmark).
    #[arg(long, value_name = "DIRECTION", default_value = "lower", value_parser = words::<Better>(DIRECTIONS))]
    better: Better,
    /// Number of the trial (fortio).
    #[arg(long, value_name = "N")]
    trial: Option<u32>,
    /// Export what is measured now until the run ends, then the result (openmetrics to a file, otlp).
    #[arg(long)]
    follow: bool,
    /// Time between two exports with --follow.
    #[arg(long, value_name = "SECONDS", default_value = "5", requires = "follow",
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
    /// Directory of runs.
    #[arg(long = "runs", value_name = "DIR", default_value = "runs")]
    directory: PathBuf,
}

const FORMATS: &[(&str, &str)] = &[
    ("openmetrics", "Prometheus and all that read OpenMetrics"),
    ("otlp", "a collector of OpenTelemetry (HTTP, JSON)"),
    ("junit", "CI servers: assertions as test cases"),
    ("bmf", "Bencher"),
    ("github-action-benchmark", "the action of this name"),
    ("otava", "Apache Otava: CSV, a row per run"),
    ("fortio", "Fortio's UI: a load, or a trial"),
    (
        "step-summary",
        "GitHub Actions: Markdown, added to the step's summary",
    ),
];

const DIRECTIONS: &[(&str, &str)] = &[
    ("lower", "customSmallerIsBetter: latency, CPU, memory"),
    ("higher", "customBiggerIsBetter: throughput"),
];

/// Where a document goes.
enum Target {
    Print,
    /// The file is replaced.
    File(PathBuf),
    /// The document is added to the file.
    Append(PathBuf),
    Collector(Collector),
}

/// Exports.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let target = args.target()?;
    let folders = args.runs.iter().map(|run| find(run, &args.directory));
    let folders = folders.collect::<anyhow::Result<Vec<PathBuf>>>()?;
    if args.follow {
        return args.follow(&folders, &target);
    }
    args.export(&folders, &target)?;
    Ok(Exit::Done.into())
}

/// The folder of a run or of a load, or a file of a load.
fn find(name: &str, directory: &Path) -> anyhow::Result<PathBuf> {
    let is_load = |path: &Path| {
        path.is_file() || path.join(tare_record::api::LOAD_REPORT).is_file() || is_live_load(path)
    };
    let places = [PathBuf::from(name), directory.join(name)];
    match places.into_iter().find(|path| is_load(path)) {
        Some(load) => Ok(load),
        None => runs::find(name, directory),
    }
}

/// Whether a load is going on in a folder: it has no report yet.
fn is_live_load(path: &Path) -> bool {
    path.join(tare_record::event::PROGRESS).is_file() && !path.join("plan.json").is_file()
}

impl Args {
    fn target(&self) -> anyhow::Result<Target> {
        let format = word_of(&self.format);
        if self.format == ExportFormat::Otlp {
            let of_variable = std::env::var(ENDPOINT_VARIABLE).ok();
            let endpoint = self
                .endpoint
                .clone()
                .or(of_variable.filter(|_| self.out.is_none()));
            if let Some(endpoint) = endpoint.filter(|url| !url.is_empty()) {
                if self.out.is_some() {
                    return Err(bad_input("--out and --endpoint: name one of them"));
                }
                let headers = std::env::var(HEADERS_VARIABLE).ok();
                let collector = Collector::new(&endpoint, self.cacert.clone(), headers.as_deref());
                return Ok(Target::Collector(collector.map_err(bad_input)?));
            }
        } else if self.endpoint.is_some() {
            return Err(bad_input(format!(
                "--endpoint is for otlp: {format} goes to standard output or --out FILE"
            )));
        }
        if self.trial.is_some() && self.format != ExportFormat::Fortio {
            return Err(bad_input(format!(
                "--trial is for fortio, not for {format}"
            )));
        }
        let target = match (&self.out, self.format) {
            (Some(file), ExportFormat::StepSummary) => Target::Append(file.clone()),
            (Some(file), _) => Target::File(file.clone()),
            (None, ExportFormat::StepSummary) => {
                let file = std::env::var_os(SUMMARY_VARIABLE).filter(|file| !file.is_empty());
                Target::Append(PathBuf::from(file.ok_or_else(|| {
                    bad_input(format!(
                        "{SUMMARY_VARIABLE} is not set, as outside of GitHub Actions: name a file with --out"
                    ))
                })?))
            }
            (None, _) => Target::Print,
        };
        match (&target, self.format) {
            // Writing replaces the file: a device or a folder must not be replaced.
            (Target::File(file), _) if is_special(file) => Err(bad_input(format!(
                "{} is not a regular file: name a file for the export",
                file.display()
            ))),
            (Target::File(_), ExportFormat::Openmetrics) => Ok(target),
            _ if self.follow => Err(bad_input(
                "--follow is for openmetrics with --out FILE, and for otlp with --endpoint URL",
            )),
            _ => Ok(target),
        }
    }

    /// Exports what is there.
    fn export(&self, folders: &[PathBuf], target: &Target) -> anyhow::Result<()> {
        let mut subjects = Vec::new();
        for folder in folders {
            let subject = ExportSubject::read(folder).map_err(marked)?;
            if let Some(note) = subject.note() {
                say(note);
            }
            subjects.push(subject);
        }
        let options = FormatOptions {
            better: self.better,
            trial: self.trial,
        };
        let document = formats::text(self.format, &subjects, options).map_err(marked)?;
        target.put(&document)
    }

    /// Exports what is measured, until nothing is measured any more; then the result.
    fn follow(&self, folders: &[PathBuf], target: &Target) -> anyhow::Result<ExitCode> {
        let [folder] = folders else {
            return Err(bad_input("--follow is of one run: name one"));
        };
        let every = Duration::from_secs(self.every);
        while lock::is_held(folder) {
            let live = live_metrics(folder);
            let document = match self.format {
                ExportFormat::Otlp => live_otlp(folder, &live)?,
                _ => openmetrics::text(&live),
            };
            // What was missed is superseded by the next export.
            if let Err(error) = target.put(&document) {
                say(format_args!("{error:#}"));
            }
            let mut waited = Duration::ZERO;
            while waited < every && lock::is_held(folder) {
                thread::sleep(LOOK_EVERY);
                waited += LOOK_EVERY;
            }
        }
        self.export(folders, target)?;
        Ok(Exit::Done.into())
    }
}

impl Target {
    fn put(&self, document: &str) -> anyhow::Result<()> {
        match self {
            Target::Print => print_raw(document),
            Target::File(file) => Ok(tare_conduct::write_synced(file, document.as_bytes())?),
            Target::Append(file) => {
                let open = OpenOptions::new().append(true).create(true).open(file);
                open.and_then(|mut open| open.write_all(document.as_bytes()))
                    .with_context(|| format!("cannot add to {}", file.display()))
            }
            Target::Collector(collector) => collector.send(document).map_err(marked),
        }
    }
}

fn is_special(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok_and(|found| !found.is_file())
}

/// An error with its exit code.
fn marked(error: ExportError) -> anyhow::Error {
    match error.is_input() {
        true => bad_input(error),
        false => error.into(),
    }
}

fn id(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = folder.file_name().unwrap_or(folder.as_os_str());
    name.to_string_lossy().into_owned()
}

fn live_metrics(folder: &Path) -> Metrics {
    let mut live = Metrics::default();
    let id = id(folder);
    match is_live_load(folder) {
        true => live::load(&mut live, &id, &last_events(folder)),
        false => {
            live::run(&mut live, &id, &last_events(folder));
            let state = word_of(&RunProgress::Running);
            let labels = [("run", id.as_str()), ("state", &state)];
            live.set(&tare_export::metrics::RUN_STATE, &labels, 1.0);
        }
    }
    live
}

fn live_otlp(folder: &Path, live: &Metrics) -> anyhow::Result<String> {
    let now = jiff::Timestamp::now().as_nanosecond();
    let plan = tare_report::read::plan(folder).ok();
    let experiment = plan.as_ref().map(|plan| plan.experiment.as_str());
    let form = plan.as_ref().map(|plan| word_of(&plan.form));
    let resource = otlp::ResourceHead {
        run: &id(folder),
        experiment: experiment.zip(form),
        tare: env!("CARGO_PKG_VERSION"),
        started_unix_ns: 0,
        at_unix_ns: u64::try_from(now).unwrap_or_default(),
    };
    Ok(otlp::document(vec![otlp::resource(&resource, live)])?)
}
