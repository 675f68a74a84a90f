//! `tare load`: load on one URL, for people who today type fortio, wrk2 or oha.

pub mod args;
mod display;
mod output;
mod plan;
mod summary;
mod target;

use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::Context;
use tare_load::{EndSignals, LoadError, Progress, StopHandle};

use crate::exit::{Exit, bad_input};
pub use args::Args;
use display::Display;
use plan::Wanted;
use summary::Summary;

/// Runs `tare load`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let target = target::Target::parse(&args.url)
        .and_then(|target| target.checked(args.allow_public_target.into()))
        .map_err(bad_input)?;
    let wanted = Wanted::new(&args, &target).map_err(bad_input)?;
    let files = output::Files::create(args.output.hlog.as_deref(), args.output.csv.as_deref())
        .map_err(bad_input)?;
    let stop = StopHandle::new();
    // Before any thread starts: they inherit the mask.
    EndSignals::block()
        .and_then(|signals| signals.end_load(stop.clone()))
        .context("cannot listen for Ctrl-C")?;
    let mut display = Display::new(args.output.quiet || args.output.json);
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
        Err(error @ (LoadError::Plan(_) | LoadError::Tls(_) | LoadError::Descriptors { .. })) => {
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
    if args.output.json {
        println!("{}", output::json(&summary, &outcome)?);
    } else {
        print!("{}", summary.text(&outcome));
    }
    if args.output.require_rate && !summary.rate.is_reached() {
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
