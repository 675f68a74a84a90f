//! `tare kafka metrics`: metrics of brokers, read twice, with the rates in between.

mod table;
mod view;

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use tare_lab::LabError;
use tare_lab::catalogue::{Catalogue, builtin_folder};
use tare_lab::metrics::{MetricsReader, MetricsReading};
use tare_schema::load::Reach;
use tare_schema::metrics_source::MetricsSourceDef;

use crate::exit::{Exit, bad_input};

use super::clusters::ClusterRegistry;
use super::connect::ConnectionArgs;
use super::{CommonArgs, output};
pub use view::MetricsView;
use view::{BrokerMetrics, Figures};

/// The target whose counters define the metrics of brokers.
const TARGET: &str = "kafka";

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
pub fn run(
    args: &Args,
    connection: &ConnectionArgs,
    common: &CommonArgs,
) -> anyhow::Result<ExitCode> {
    let (source, reach) = source(args, connection)?;
    let reader = reader(&source, reach)?;
    let within = connection.answer_within();
    let first = reader.read(|_| true, within);
    let answers = |at: &str| first.iter().any(|one| one.at == at && one.readings.is_ok());
    let second = match reader.instances().any(answers) {
        true => {
            thread::sleep(Duration::from_secs(args.seconds));
            reader.read(answers, within)
        }
        false => Vec::new(),
    };
    let view = MetricsView::of(first.iter().map(|first| {
        let second = second.iter().find(|second| second.at == first.at);
        broker(first, second)
    }));
    match common.json {
        true => output::json(&view)?,
        false => table::print(&view)?,
    }
    let unread = view
        .brokers
        .iter()
        .filter_map(|broker| broker.error.as_deref());
    let unread: Vec<&str> = unread.collect();
    match unread.is_empty() {
        true => Ok(Exit::Done.into()),
        false => Err(anyhow!("{}", unread.join("\n  "))),
    }
}

/// The metrics source, from the flags or else from the named cluster, and the addresses that may be connected to.
fn source(args: &Args, connection: &ConnectionArgs) -> anyhow::Result<(MetricsSourceDef, Reach)> {
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

fn reader(source: &MetricsSourceDef, reach: Reach) -> anyhow::Result<MetricsReader> {
    let catalogue = Catalogue::load(&builtin_folder()?, &[])?;
    MetricsReader::open(catalogue.get(TARGET)?, source, reach).map_err(|error| match error {
        LabError::Metrics { .. } | LabError::Plan(_) => bad_input(error),
        other => other.into(),
    })
}

/// The metrics of one broker from two readings, or why it could not be read.
fn broker(first: &MetricsReading, second: Option<&MetricsReading>) -> BrokerMetrics {
    let error_of = |reading: &MetricsReading| match &reading.readings {
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    let error = error_of(first).or_else(|| second.and_then(error_of));
    let metrics = match (&first.readings, second) {
        (Ok(before), Some(second)) => second.readings.as_ref().ok().map(|after| {
            let seconds = second.when.duration_since(first.when).as_secs_f64();
            Figures::between(before, after, seconds)
        }),
        _ => None,
    };
    BrokerMetrics {
        at: first.at.clone(),
        error,
        metrics,
    }
}
