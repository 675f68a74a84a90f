//! `tare kafka metrics`: metrics of brokers, read twice, with the rates in between.

use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use tare_kafka_admin::metrics::{Figures, MetricsView, Rate, Requests, Traffic};
use tare_lab::LabError;
use tare_lab::metrics::MetricsReader;
use tare_lab::targets::{Targets, builtin_folder};
use tare_lab_kafka::broker_metrics;
use tare_record::load::AddressPolicy;
use tare_record::metrics_source::MetricsSourceDef;
use tare_report::quantity;

use tare_cli::exit::bad_input;
use tare_cli::screen::print;
use tare_cli::values::{bytes, counted, maybe};

use super::CommonArgs;
use super::clusters::ClusterRegistry;
use super::connect::ConnectionArgs;
use super::output::table;

/// The target whose counters define the metrics of brokers.
const TARGET: &str = "kafka";

/// Most topics that are shown, the busiest first.
const TOPICS_MAX: usize = 20;

/// Arguments of `tare kafka metrics`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,
    /// Interval between the two readings, in seconds.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
}

/// Where the metrics of brokers are read.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Metrics")]
pub struct SourceArgs {
    /// Jolokia address of each broker: HOST:PORT or http://HOST:PORT/PATH, separated by commas.
    #[arg(long, value_name = "URL,…", value_delimiter = ',', num_args = 1.., conflicts_with_all = ["prometheus", "jmx"])]
    jolokia: Vec<String>,
    /// Prometheus JMX exporter of each broker: HOST:PORT or http://HOST:PORT/PATH, separated by commas.
    #[arg(long, value_name = "URL,…", value_delimiter = ',', num_args = 1.., conflicts_with = "jmx")]
    prometheus: Vec<String>,
    /// JMX remoting address of each broker: HOST:PORT, separated by commas. Without TLS; needs Java on this machine.
    #[arg(long, value_name = "HOST:PORT,…", value_delimiter = ',', num_args = 1..)]
    jmx: Vec<String>,
    /// User name for the metrics [default: no authentication].
    #[arg(long, value_name = "NAME")]
    metrics_user: Option<String>,
    /// Environment variable with the password of --metrics-user.
    #[arg(
        long,
        value_name = "VARIABLE",
        requires = "metrics_user",
        conflicts_with = "metrics_password_file"
    )]
    metrics_password_env: Option<String>,
    /// File with the password of --metrics-user in its first line.
    #[arg(long, value_name = "FILE", requires = "metrics_user")]
    metrics_password_file: Option<String>,
}

impl SourceArgs {
    /// The metrics source of the flags, if any are given.
    pub fn def(&self) -> anyhow::Result<Option<MetricsSourceDef>> {
        let def = MetricsSourceDef {
            jolokia: self.jolokia.clone(),
            prometheus: self.prometheus.clone(),
            jmx: self.jmx.clone(),
            user: self.metrics_user.clone(),
            password_env: self.metrics_password_env.clone(),
            password_file: self.metrics_password_file.clone(),
        };
        if def == MetricsSourceDef::default() {
            return Ok(None);
        }
        def.way().map_err(bad_input)?;
        Ok(Some(def))
    }
}

/// Reads and prints the metrics. Brokers that cannot be read lead to exit code 3 after the others are printed.
pub fn run(args: &Args, connection: &ConnectionArgs, common: &CommonArgs) -> anyhow::Result<()> {
    let (source, reach) = source(args, connection)?;
    let reader = reader(&source, reach)?;
    let within = connection.request_timeout();
    let first = reader.read(|_| true, within);
    let answers = |at: &str| first.iter().any(|one| one.at == at && one.readings.is_ok());
    let second = match reader.instances().any(answers) {
        true => {
            thread::sleep(Duration::from_secs(args.seconds));
            reader.read(answers, within)
        }
        false => Vec::new(),
    };
    let view =
        MetricsView::of(first.iter().map(|first| {
            broker_metrics(first, second.iter().find(|second| second.at == first.at))
        }));
    common.show(&view, show)?;
    let unread = view.brokers.iter();
    let unread: Vec<&str> = unread.filter_map(|one| one.error.as_deref()).collect();
    match unread.is_empty() {
        true => Ok(()),
        false => Err(anyhow!("{}", unread.join("\n  "))),
    }
}

/// The metrics source, from the flags or else from the named cluster, and the addresses that may be connected to.
fn source(
    args: &Args,
    connection: &ConnectionArgs,
) -> anyhow::Result<(MetricsSourceDef, AddressPolicy)> {
    const WAYS: &str = "--jolokia URL,…, --prometheus URL,… or --jmx HOST:PORT,…";
    let given = args.source.def()?;
    let is_named = connection.name().is_some();
    if connection.has_bootstrap() || (given.is_some() && !is_named) {
        let reach = connection.reach(None);
        let missing = || bad_input(format!("say where the metrics of the brokers are: {WAYS}"));
        return Ok((given.ok_or_else(missing)?, reach));
    }
    let cluster = ClusterRegistry::open()?.find(connection.name())?;
    let reach = connection.reach(Some(&cluster));
    let missing = || {
        let name = connection.name().unwrap_or("NAME");
        bad_input(format!(
            "where the metrics of this cluster are is not known: say {WAYS}, and `tare kafka clusters add {name} --bootstrap …` with it keeps it"
        ))
    };
    Ok((given.or(cluster.metrics).ok_or_else(missing)?, reach))
}

fn reader(source: &MetricsSourceDef, reach: AddressPolicy) -> anyhow::Result<MetricsReader> {
    let targets = Targets::load(&builtin_folder()?, &[])?;
    MetricsReader::open(targets.get(TARGET)?, source, reach).map_err(|error| match error {
        LabError::Metrics { .. } | LabError::Plan(_) => bad_input(error),
        other => other.into(),
    })
}

/// A column of a table of brokers.
type Column = (&'static str, fn(&Figures) -> String);

const TRAFFIC: [Column; 5] = [
    ("records/s #", |of| per_s(of.messages_in)),
    ("in/s #", |of| bytes_per_s(of.bytes_in)),
    ("out/s #", |of| bytes_per_s(of.bytes_out)),
    ("copied in/s #", |of| bytes_per_s(of.replication_bytes_in)),
    ("copied out/s #", |of| bytes_per_s(of.replication_bytes_out)),
];

const STATE: [Column; 6] = [
    ("under-repl. #", |of| maybe(of.under_replicated_partitions)),
    ("shrinks/s #", |of| per_s(of.isr_shrinks)),
    ("expands/s #", |of| per_s(of.isr_expands)),
    ("heap #", |of| maybe(of.heap_bytes.map(bytes))),
    ("GC/s #", |of| per_s(of.gc_pauses)),
    ("GC ms/s #", |of| per_s(of.gc_ms)),
];

fn show_columns(known: &[(&str, &Figures)], columns: &[Column]) -> anyhow::Result<()> {
    let names = columns.iter().map(|(name, _)| *name);
    let header: Vec<&str> = std::iter::once("broker").chain(names).collect();
    let rows = known.iter().map(|(at, metrics)| {
        let texts = columns.iter().map(|(_, text)| text(metrics));
        std::iter::once((*at).to_owned())
            .chain(texts)
            .collect::<Vec<String>>()
    });
    table(&header, rows)
}

/// Prints the brokers that could be read.
fn show(view: &MetricsView) -> anyhow::Result<()> {
    let known = view.brokers.iter();
    let known = known.filter_map(|broker| Some((broker.at.as_str(), broker.metrics.as_ref()?)));
    let known: Vec<(&str, &Figures)> = known.collect();
    if known.is_empty() {
        return Ok(());
    }
    show_columns(&known, &TRAFFIC)?;
    let requests = known.iter().flat_map(|(at, metrics)| {
        // Reversed, so that `produce` comes first.
        let kinds = metrics.requests.iter().rev();
        kinds.map(move |(kind, requests)| request_row(at, kind, requests))
    });
    let header = [
        "broker", "request", "per s #", "ms #", "queue #", "local #", "remote #", "answer #",
    ];
    table(&header, requests)?;
    show_columns(&known, &STATE)?;
    show_topics(view)?;
    for (at, metrics) in known {
        if metrics.restarted {
            print(&format!(
                "{at} was started again meanwhile: it has no rates\n"
            ))?;
        }
        if !metrics.missing.is_empty() {
            let missing = metrics.missing.join(", ");
            print(&format!("{at} does not tell:\n  {missing}\n"))?;
        }
    }
    Ok(())
}

fn request_row(at: &str, kind: &str, requests: &Requests) -> Vec<String> {
    let sum = |phases: &[&str]| {
        let mut known = phases
            .iter()
            .filter_map(|phase| requests.mean_ms.get(*phase));
        known
            .next()
            .map(|first| format!("{:.2}", first + known.sum::<f64>()))
    };
    let whose = match kind {
        "fetch-consumer" => "consume",
        "fetch-follower" => "replicate",
        other => other,
    };
    vec![
        at.to_owned(),
        whose.to_owned(),
        per_s(requests.rate),
        maybe(sum(&["Total"])),
        maybe(sum(&["RequestQueue"])),
        maybe(sum(&["Local"])),
        maybe(sum(&["Remote"])),
        maybe(sum(&["ResponseQueue", "ResponseSend"])),
    ]
}

fn show_topics(view: &MetricsView) -> anyhow::Result<()> {
    let busy = |traffic: &Traffic| {
        let rates = [traffic.bytes_in, traffic.bytes_out];
        let known = rates.into_iter().flatten().filter_map(|rate| rate.per_s);
        known.sum::<f64>()
    };
    let mut all: Vec<_> = view.topics.iter().collect();
    all.sort_by(|(_, one), (_, two)| busy(two).total_cmp(&busy(one)));
    let hidden = all.len().saturating_sub(TOPICS_MAX);
    let rows = all.into_iter().take(TOPICS_MAX).map(|(topic, traffic)| {
        vec![
            topic.clone(),
            per_s(traffic.messages_in),
            bytes_per_s(traffic.bytes_in),
            bytes_per_s(traffic.bytes_out),
            maybe(traffic.messages_in.map(|rate| rate.total)),
        ]
    });
    let header = [
        "topic",
        "records/s #",
        "in/s #",
        "out/s #",
        "records so far #",
    ];
    table(&header, rows)?;
    match hidden {
        0 => Ok(()),
        _ => print(&format!(
            "{} more: --json tells all\n",
            counted(hidden, "topic")
        )),
    }
}

fn per_s(rate: Option<Rate>) -> String {
    maybe(rate.and_then(|rate| rate.per_s).map(quantity::count))
}

fn bytes_per_s(rate: Option<Rate>) -> String {
    maybe(rate.and_then(|rate| rate.per_s).map(bytes))
}
