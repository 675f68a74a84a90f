//! `tare load`: load on one URL, for people who today type fortio, wrk2 or oha.

mod display;
mod output;
mod plan;
mod summary;
mod target;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use tare_load::{EndSignals, LoadError, Progress, StopHandle};
use tare_schema::units::{Period, Size};

use crate::exit::{Exit, bad_input};
use display::Display;
use plan::{Stopping, Wanted};
use summary::Summary;

/// Arguments of `tare load`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to: http://host:port/path. Loopback and private addresses only, unless --allow-public-target.
    url: String,
    /// Requests per second, open loop: starts are fixed in advance, so a slow answer delays no other request.
    #[arg(short, long, value_name = "PER_SECOND", conflicts_with = "clients")]
    rate: Option<f64>,
    /// Clients in a closed loop: each sends its next request when its last one is answered. Neither --rate nor --clients: as fast as the connections carry it.
    #[arg(short = 'c', long, value_name = "N")]
    clients: Option<u32>,
    /// Pause of a client between an answer and its next request.
    #[arg(long, value_name = "TIME", default_value = "0", requires = "clients")]
    think: Period,
    /// How long to measure: 10s, 2m; `forever` until Ctrl-C.
    #[arg(
        short,
        long,
        value_name = "TIME",
        default_value = "10s",
        conflicts_with = "count"
    )]
    duration: Stopping,
    /// Measure this many requests instead.
    #[arg(short = 'n', long, value_name = "N")]
    count: Option<u64>,
    /// Send, but do not count, for so long before.
    #[arg(long, value_name = "TIME", default_value = "0")]
    warmup: Period,
    /// Connections [default: 50, or one per client].
    #[arg(short = 'C', long, value_name = "N")]
    connections: Option<u32>,
    /// Speak HTTP/2, as to a server known to speak it (without TLS: h2c with prior knowledge).
    #[arg(long, conflicts_with = "grpc")]
    http2: bool,
    /// Make unary gRPC calls: the URL's path is /package.Service/Method, the body is the encoded message.
    #[arg(long)]
    grpc: bool,
    /// Requests on one HTTP/2 connection at a time.
    #[arg(long, value_name = "N", default_value_t = 8)]
    streams: u16,
    /// Worker threads.
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    workers: u32,
    /// Method [default: GET, or POST with a body].
    #[arg(short = 'X', long, value_name = "METHOD")]
    method: Option<String>,
    /// A header, as in `-H 'Accept: text/html'`; may be given several times.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Request body.
    #[arg(long, value_name = "TEXT", conflicts_with = "body_size")]
    body: Option<String>,
    /// Request body of so many bytes.
    #[arg(long, value_name = "SIZE")]
    body_size: Option<Size>,
    /// Limit of one request, of one connection attempt, and of the wait for answers at the end.
    #[arg(short, long, value_name = "TIME", default_value = "10s")]
    timeout: Period,
    /// The right status: a number, or `any` [default: 2xx and 3xx].
    #[arg(long, value_name = "STATUS")]
    expect_status: Option<String>,
    /// Sleep up to each start instead of spinning through the last microseconds (at most 10 % of a core).
    #[arg(long)]
    no_spin: bool,
    /// Seed of random choices.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    /// No live line.
    #[arg(short, long)]
    quiet: bool,
    /// Write the latencies as a HdrHistogram log.
    #[arg(long, value_name = "FILE")]
    hlog: Option<PathBuf>,
    /// Write the samples of the run, one a second, as CSV.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Allow an address that is neither loopback nor private: only with the consent of who runs it.
    #[arg(long)]
    allow_public_target: bool,
    /// Exit code 1 when the rate asked for was not reached.
    #[arg(long, requires = "rate")]
    require_rate: bool,
}

/// Runs `tare load`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let target = target::Target::parse(&args.url)
        .and_then(|target| target.checked(args.allow_public_target.into()))
        .map_err(bad_input)?;
    let wanted = Wanted::new(&args, &target).map_err(bad_input)?;
    let files =
        output::Files::create(args.hlog.as_deref(), args.csv.as_deref()).map_err(bad_input)?;
    let stop = StopHandle::new();
    // Before any thread starts: they inherit the mask.
    EndSignals::block()
        .and_then(|signals| signals.end_load(stop.clone()))
        .context("cannot listen for Ctrl-C")?;
    let mut display = Display::new(args.quiet || args.json);
    let mut samples = Vec::new();
    let outcome = tare_load::run(&wanted.plan, &stop, &mut |progress| {
        if let Progress::Sample(sample) = progress {
            display.show(&sample);
            samples.push(sample);
        }
        ControlFlow::Continue(())
    });
    display.clear();
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error @ (LoadError::Plan(_) | LoadError::Descriptors { .. })) => {
            return Err(bad_input(error));
        }
        Err(error @ LoadError::NoConnection { .. }) => {
            eprintln!("error: {error}");
            return Ok(Exit::NoVerdict.into());
        }
        Err(error) => return Err(error.into()),
    };
    let summary = Summary::new(&wanted, &outcome, &samples);
    files.write(&outcome.result, &samples)?;
    if args.json {
        println!("{}", output::json(&summary, &outcome)?);
    } else {
        print!("{}", summary.text(&outcome));
    }
    if args.require_rate && !summary.rate.is_reached() {
        eprintln!("error: the rate asked for was not reached");
        return Ok(Exit::NoVerdict.into());
    }
    let result = &outcome.result;
    if result.right == 0 && result.errors + result.unfinished > 0 {
        eprintln!("error: no request was answered rightly");
        return Ok(Exit::NoVerdict.into());
    }
    Ok(Exit::Done.into())
}
