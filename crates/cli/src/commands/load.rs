//! `tare load`: load on one URL, as with fortio, wrk2 or oha.

pub mod args;
mod assertion;
mod calibration;
mod check;
#[cfg(test)]
mod coming_from;
mod curve;
mod display;
mod end_to_end;
mod generator_check;
mod grpc_server;
mod output;
mod paint;
mod plan;
mod search;
mod summary;
mod target;
mod throughput;

use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::Context;
use tare_load::{EndSignals, LoadError, Outcome, Progress, StopHandle};
use tare_schema::agent::{LoadEnd, Sample};
use tare_schema::load::Stop;
use tare_schema::load_report::{AssertionReport, AssertionVerdict};

use crate::exit::{Exit, bad_input};
use crate::screen;
pub use args::Args;
use assertion::Assertion;
use display::{Display, ProgressOutput};
use generator_check::GeneratorCheck;
use plan::{Content, ResolvedLoad};
use summary::{Rate, Summary};

/// Runs `tare load`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let content = Content::read(&args).map_err(bad_input)?;
    let target = target::LoadUrl::parse(&content.url)
        .and_then(|target| target.checked(args.allow_public_target.into()))
        .map_err(bad_input)?;
    if let Some(service) = &args.grpc.grpc_health {
        let server = plan::server(&args, &target).map_err(bad_input)?;
        if let Err(error) = server.wait_until_serving(service) {
            screen::say(format_args!("error: {error:#}"));
            return Ok(Exit::Failed.into());
        }
    }
    let resolved = ResolvedLoad::new(&args, &target, content).map_err(bad_input)?;
    if args.request.dry_run {
        return check::run(&resolved.plan);
    }
    let files = output::Files::create(&args.output).map_err(bad_input)?;
    let stop = StopHandle::new();
    // Before any other thread starts: threads inherit the signal mask.
    EndSignals::block()
        .and_then(|signals| signals.end_load(stop.clone()))
        .context("cannot listen for Ctrl-C")?;
    if let Some(objective) = &args.search.search {
        return search::run(&args, objective, &resolved, &stop);
    }
    if let Some(rates) = &args.search.curve {
        return curve::run(&args, rates, &resolved, &stop);
    }
    if args.consume.end_to_end {
        return end_to_end::run(&args, &resolved, files, &stop);
    }
    let (outcome, samples) = match measure(&args, &resolved, &stop) {
        Ok(measured) => measured,
        Err(error @ (LoadError::Plan(_) | LoadError::Tls(_) | LoadError::Descriptors { .. })) => {
            return Err(bad_input(error));
        }
        Err(error @ (LoadError::NoConnection { .. } | LoadError::Refused(_))) => {
            screen::say(format_args!("error: {error}"));
            return Ok(Exit::Failed.into());
        }
        Err(error) => return Err(error.into()),
    };
    files.write(&resolved.plan, &target.url, &outcome, &samples)?;
    let rate = Rate::new(&resolved.plan.load.pacing, &outcome.result);
    let generator_check = GeneratorCheck::new(&outcome, rate, resolved.plan.load.sched);
    let assertions: Vec<AssertionReport> = asserted(&args)
        .iter()
        .map(|assertion| assertion.judge(&outcome, rate))
        .collect();
    let summary = Summary {
        words: &resolved.words,
        rate,
        generator_check: &generator_check,
        assertions: &assertions,
    };
    if args.output.json {
        let report = output::json_report(&summary, &resolved.plan, &outcome, samples);
        screen::print_json(&report)?;
    } else {
        let screen = screen::screen(&console::Term::stdout());
        screen::print_raw(&summary.text(&outcome, screen))?;
        if let Some(words) = throughput::words(&resolved.plan.load, &outcome.result) {
            screen::print(&format!("{words}\n"))?;
        }
    }
    Ok(exit(&args, &resolved, &outcome, &summary).into())
}

/// Calibrates and runs the load, with a progress display.
fn measure(
    args: &Args,
    resolved: &ResolvedLoad,
    stop: &StopHandle,
) -> Result<(Outcome, Vec<Sample>), LoadError> {
    let progress_output = ProgressOutput::of_stderr(if args.output.quiet {
        display::ShowProgress::No
    } else {
        display::ShowProgress::Yes
    });
    let mut display = Display::new(progress_output, &resolved.words, &resolved.plan.load);
    let calibration = if args.output.no_calibrate {
        None
    } else {
        display.say("calibrating on a server that does nothing …");
        match calibration::calibrate(&resolved.plan) {
            Ok(calibration) => Some(calibration),
            Err(error) => {
                display.clear();
                screen::say(format_args!("note: not calibrated: {error:#}"));
                None
            }
        }
    };
    display.say("connecting …");
    let mut samples = Vec::new();
    let outcome = tare_load::run(&resolved.plan, stop, &mut |progress| {
        if let Progress::Sample(sample) = progress {
            display.show(&sample);
            samples.push(sample);
        }
        ControlFlow::Continue(())
    });
    display.clear();
    let mut outcome = outcome?;
    outcome.result.generator.calibration = calibration;
    Ok((outcome, samples))
}

/// The assertions of the command line.
fn asserted(args: &Args) -> Vec<Assertion> {
    let mut all = args.output.assertions.clone();
    all.extend(
        args.output
            .max_error_rate
            .map(Assertion::error_rate_at_most),
    );
    all
}

/// The exit code; prints each reason for a failure.
fn exit(args: &Args, resolved: &ResolvedLoad, outcome: &Outcome, summary: &Summary<'_>) -> Exit {
    let mut failed = false;
    let is_read = !args.output.json && console::Term::stdout().is_term();
    let missed = summary.assertions.iter();
    for assertion in missed.filter(|a| a.verdict != AssertionVerdict::Passed) {
        failed = true;
        // On a terminal the summary has said so already.
        if !is_read {
            screen::say(format_args!(
                "error: {}",
                summary::assertion_text(assertion)
            ));
        }
    }
    if args.output.require_rate && !summary.rate.is_reached() {
        screen::say("error: the offered rate was not reached");
        failed = true;
    }
    let result = &outcome.result;
    if result.ok == 0 && result.errors + result.unfinished > 0 {
        screen::say("error: no request succeeded");
        failed = true;
    }
    if let Some(why) = &result.abort_reason {
        screen::say(format_args!("error: the load was aborted: {why}"));
        failed = true;
    }
    let was_cut =
        result.ended == LoadEnd::Interrupted && resolved.plan.load.stop != Stop::Interrupted;
    match (failed, was_cut) {
        (true, _) => Exit::Failed,
        (false, true) => Exit::Interrupted,
        (false, false) => Exit::Done,
    }
}
