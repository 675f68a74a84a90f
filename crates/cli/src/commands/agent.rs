//! `tare agent`: runs one load plan; started by an environment, not by users.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use tare_load::{EndSignals, StopHandle, run_agent};
use tare_schema::load::LoadPlan;
use tare_schema::named::read_given;

use crate::exit::{Exit, bad_input};

/// Largest plan file; it contains request bodies and data.
const PLAN_BYTES_MAX: u64 = 1 << 30;

/// Arguments of `tare agent`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Load plan (JSON).
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// Destination of messages: `unix:PATH`, or `-` for standard output.
    #[arg(long, value_name = "TO")]
    connect: String,
}

/// Runs the plan to its end, or until SIGTERM ends its window.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    // Before any other thread starts: threads inherit the signal mask.
    let signals = EndSignals::block().context("cannot listen for signals")?;
    let text = read_given(&args.plan, PLAN_BYTES_MAX).map_err(anyhow::Error::msg)?;
    let plan: LoadPlan = serde_json::from_slice(&text)
        .map_err(|error| bad_input(format!("{}: {error}", args.plan.display())))?;
    let stop = StopHandle::new();
    signals
        .end_load(stop.clone())
        .context("cannot listen for signals")?;
    match args.connect.strip_prefix("unix:") {
        Some(path) => {
            let stream = UnixStream::connect(path)
                .with_context(|| format!("cannot reach the conductor at {path}"))?;
            run_agent(&plan, stream, &stop)?;
        }
        None if args.connect == "-" => run_agent(&plan, std::io::stdout(), &stop)?,
        None => {
            return Err(bad_input(format!(
                "--connect {}: write unix:PATH or -",
                args.connect
            )));
        }
    }
    Ok(Exit::Done.into())
}
