//! `tare origin`: the test server as a command.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use tare_origin::{Change, Limits, OriginOptions, PlannedStall, Stamps, StopHandle};

use crate::exit::{Exit, bad_input};

/// Arguments of `tare origin`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Event loops.
    #[arg(long, default_value_t = 1, value_name = "N")]
    workers: usize,
    /// How every request is answered: `size=1000&delay=5ms`, `p=0.01&status=503`, `close`, `truth`; may be given several times. A request can ask for its own in its query.
    #[arg(long = "answer", value_name = "BEHAVIOUR", value_parser = parse_change)]
    answers: Vec<Change>,
    /// Stop answering for this long, this long after the start: `1s@5s`; may be given several times.
    #[arg(long = "stall", value_name = "FOR@AFTER", value_parser = parse_stall)]
    stalls: Vec<PlannedStall>,
    /// Seed of all chances.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Connections open at one time.
    #[arg(long, default_value_t = Limits::default().connections_max, value_name = "N")]
    connections: usize,
}

fn parse_change(text: &str) -> Result<Change, String> {
    Change::parse(text).map_err(|error| error.to_string())
}

fn parse_stall(text: &str) -> Result<PlannedStall, String> {
    let advice = || format!("{text}: write how long and when, as in 1s@5s");
    let (lasts, after) = text.split_once('@').ok_or_else(advice)?;
    let time = |text: &str| -> Result<Duration, String> {
        text.parse::<tare_schema::units::Period>()
            .map(|period| period.0)
            .map_err(|_| advice())
    };
    Ok(PlannedStall {
        after: time(after)?,
        lasts: time(lasts)?,
    })
}

/// Serves until SIGTERM or Ctrl-C.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let stop = StopHandle::new()?;
    stop.stop_on_signals()?;
    let origin = tare_origin::bind(OriginOptions {
        listen: args.listen,
        workers: args.workers,
        changes: args.answers,
        stalls: args.stalls,
        stamps: Stamps::Kernel,
        seed: args.seed,
        limits: Limits {
            connections_max: args.connections,
            ..Limits::default()
        },
    })
    .map_err(|error| match error {
        tare_origin::OriginError::Option { .. } => bad_input(error),
        other => other.into(),
    })?;
    // One line, so that a script can wait for it and read the port.
    println!("origin listens on http://{}", origin.local_addr());
    let totals = origin.run(stop)?;
    eprintln!(
        "{} requests, {} connections",
        totals.requests, totals.connections
    );
    Ok(Exit::Done.into())
}
