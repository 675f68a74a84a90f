//! `tare agent`, `tare keeper` and `tare link`: processes of a run, started by other parts of Tare and not by users.

use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use serde::de::DeserializeOwned;
use tare_lab::keeper::{InsideOptions, KeeperMode, keeper_main};
use tare_lab::remote::{pod_keeper_main, run_keeper_main};
use tare_load::{EndSignals, StopHandle, run_agent};
use tare_net::link::{LinkOrders, serve};
use tare_record::files::{USER_FILE_BYTES_MAX, read_user_file};
use tare_record::load::LoadPlan;
use tare_record::protocol::is_of_brokers;

use crate::commands::ensure_kafka;
use crate::commands::plan::own_path;
use crate::exit::{Exit, bad_input};

/// Largest plan file; it contains request bodies and data.
const PLAN_BYTES_MAX: u64 = 1 << 30;

/// Arguments of `tare agent`.
#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    /// Load plan (JSON).
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// Destination of messages: `unix:PATH`, or `-` for standard output.
    #[arg(long, value_name = "TO")]
    connect: String,
}

/// Arguments of `tare keeper`.
#[derive(Debug, clap::Args)]
pub struct KeeperArgs {
    /// Parent of the private folder [default: `$XDG_RUNTIME_DIR` or `/tmp`].
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
    /// Leave the host's namespaces first.
    #[arg(long)]
    namespaces: bool,
    /// Private folder to make, below a guardian.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["base", "namespaces"])]
    inside: Option<PathBuf>,
    /// Process id of the conductor.
    #[arg(long, value_name = "PID", requires = "inside", default_value_t = 0)]
    conductor: u32,
    /// Run keeper, to which the keepers of pods elsewhere connect (JSON).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "namespaces", "inside", "pod"])]
    run: Option<PathBuf>,
    /// Keeper of a pod elsewhere (JSON).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "namespaces", "inside"])]
    pod: Option<PathBuf>,
    /// In the namespaces that the guardian left the host's for.
    #[arg(long, requires = "inside")]
    pods: bool,
}

/// Arguments of `tare link`.
#[derive(Debug, clap::Args)]
pub struct LinkArgs {
    /// Links (JSON).
    #[arg(long, value_name = "FILE")]
    orders: PathBuf,
    /// Control channel: `unix:PATH`, or `-` for the standard streams.
    #[arg(long, value_name = "TO")]
    connect: String,
}

/// Runs a load plan to its end, or until SIGTERM ends its window.
pub fn agent(args: &AgentArgs) -> anyhow::Result<ExitCode> {
    let plan: LoadPlan = read_json(&args.plan, PLAN_BYTES_MAX)?;
    if is_of_brokers(&plan.load.client.protocol) {
        ensure_kafka()?;
    }
    // Before any other thread starts: threads inherit the signal mask.
    let signals = EndSignals::block().context("cannot listen for signals")?;
    let stop = StopHandle::new();
    signals
        .end_load(stop.clone())
        .context("cannot listen for signals")?;
    match connect(&args.connect)? {
        Some(stream) => run_agent(&plan, stream, &stop)?,
        None => run_agent(&plan, std::io::stdout(), &stop)?,
    }
    Ok(Exit::Done.into())
}

/// Runs the keeper, the parent of all processes of a run, until its socket, which is standard input, is closed.
pub fn keeper(args: KeeperArgs) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.run {
        run_keeper_main(&read_json(file, USER_FILE_BYTES_MAX)?)?;
        return Ok(Exit::Done.into());
    }
    if let Some(file) = &args.pod {
        pod_keeper_main(&own_path()?, read_json(file, USER_FILE_BYTES_MAX)?)?;
        return Ok(Exit::Done.into());
    }
    let conductor = args.conductor;
    let options = |folder| InsideOptions { folder, conductor };
    keeper_main(match args.inside {
        Some(folder) if args.pods => KeeperMode::InNamespaces(options(folder)),
        Some(folder) => KeeperMode::OnHost(options(folder)),
        None if args.namespaces => KeeperMode::Namespaces(args.base),
        None => KeeperMode::Host(args.base),
    })?;
    Ok(Exit::Done.into())
}

/// Emulates the links between the sites of a test bed until the conductor closes its end.
pub fn link(args: &LinkArgs) -> anyhow::Result<ExitCode> {
    let orders: LinkOrders = read_json(&args.orders, USER_FILE_BYTES_MAX)?;
    match connect(&args.connect)? {
        Some(stream) => {
            let requests = stream
                .try_clone()
                .context("cannot read from the conductor")?;
            serve(&orders, BufReader::new(requests), stream)?;
        }
        None => serve(&orders, std::io::stdin().lock(), std::io::stdout())?,
    }
    Ok(Exit::Done.into())
}

fn read_json<T: DeserializeOwned>(path: &Path, bytes_max: u64) -> anyhow::Result<T> {
    let text = read_user_file(path, bytes_max).map_err(anyhow::Error::msg)?;
    let read = serde_json::from_slice(&text).with_context(|| path.display().to_string());
    read.map_err(bad_input)
}

/// Connects to `unix:PATH`; `None` for `-`, the standard streams.
fn connect(to: &str) -> anyhow::Result<Option<UnixStream>> {
    match to.strip_prefix("unix:") {
        Some(path) => UnixStream::connect(path)
            .map(Some)
            .with_context(|| format!("cannot reach the conductor at {path}")),
        None if to == "-" => Ok(None),
        None => Err(bad_input(format!("--connect {to}: write unix:PATH or -"))),
    }
}
