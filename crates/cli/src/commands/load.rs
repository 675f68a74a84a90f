//! `tare load`: load on one URL, as with fortio, wrk2 or oha.

pub mod args;
mod assertion;
mod calibration;
mod curve;
mod display;
mod end_to_end;
mod generator_check;
mod grpc_server;
mod kept;
mod output;
mod plan;
pub mod profiles;
mod search;
mod summary;
mod target;
#[cfg(test)]
pub mod tests;
mod throughput;

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use tare_load::session::DryRunStep;
use tare_load::{EndSignals, LoadError, LoadOutcome, LoadProgress, StopHandle};
use tare_record::agent::{LoadEnd, LoadResult, Sample};
use tare_record::escape::escape_line;
use tare_record::event::LoadEvent;
use tare_record::load::{LoadPlan, Stop};
use tare_record::load_report::{AssertionOutcome, AssertionReport};
use tare_record::units::Period;

use crate::commands::ensure_kafka;
use crate::exit::{Exit, bad_input, unmeasured};
use crate::json_output::JsonOutput;
use crate::screen;
pub use args::Args;
use assertion::Assertion;
use display::Display;
use generator_check::GeneratorCheck;
use kept::KeptLoad;
pub use output::latency_report;
use plan::{Content, ResolvedLoad};
use profiles::Profiles;
use summary::{LoadRate, Summary};

/// Runs `tare load`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    // Before anything is read from standard input.
    if args.url.as_deref().is_some_and(target::is_of_brokers) {
        ensure_kafka()?;
    }
    let content = Content::read(&args).map_err(bad_input)?;
    let target = target::LoadUrl::parse(&content.url, &args.network)
        .and_then(|target| target.checked(args.allow_public_target.into()))
        .map_err(bad_input)?;
    if let Some(name) = target.ignored_proxy().filter(|_| !args.output.quiet) {
        screen::say(format_args!(
            "note: {name} is ignored: connections lead to the server itself; to put load on a proxy, give its URL"
        ));
    }
    for missing in target.without_address.iter().filter(|_| !args.output.quiet) {
        screen::say(format_args!("note: {missing}; the other brokers are asked"));
    }
    if let Some(service) = &args.grpc.grpc_health {
        let server = plan::server(&args, &target).map_err(bad_input)?;
        server.wait_until_serving(service).map_err(unmeasured)?;
    }
    let resolved = ResolvedLoad::new(&args, &target, content).map_err(bad_input)?;
    if args.request.dry_run {
        return dry_run(&resolved.plan);
    }
    let mut profiles = Profiles::prepare(&args.output).map_err(bad_input)?;
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
    let mut kept = match &args.output.out {
        Some(out) => Some(KeptLoad::create(out)?),
        None => None,
    };
    if let (Some(kept), JsonOutput::Lines) = (&kept, args.output.form()) {
        let _ = screen::print_event(&kept.created());
    }
    let measured = measure(&args, &resolved, &stop, kept.as_mut(), &mut profiles);
    let (outcome, samples) = measured.map_err(classify_load_error)?;
    files.write(&resolved.plan, &target.url, &outcome, &samples)?;
    let rate = LoadRate::new(&resolved.plan.load.pacing, &outcome.result);
    let mut generator_check = GeneratorCheck::new(&outcome, rate, resolved.plan.load.sched);
    let labels = args.output.labels.as_deref();
    let profiles = profiles.finish(&resolved.plan.load, rate, labels);
    let profiled: Vec<String> = profiles.iter().map(|one| one.instance.clone()).collect();
    if !profiled.is_empty() {
        generator_check.warnings.push(format!(
            "stacks of {} were sampled, which takes CPU time: this load is not judged, and is in no history",
            profiled.join(", ")
        ));
    }
    let assertions: Vec<AssertionReport> = asserted(&args)
        .iter()
        .map(|assertion| assertion.judge(&outcome, rate))
        .collect();
    let summary = Summary {
        words: &resolved.words,
        rate,
        generator_check: &generator_check,
        assertions: &assertions,
        profiled: &profiled,
    };
    let report =
        |samples| output::json_report(&summary, &resolved.plan, &outcome, (samples, labels));
    if let Some(kept) = &mut kept {
        kept.write_profiles(&profiles)?;
        kept.finish(&report(samples.clone()), &outcome.result)?;
    }
    match args.output.form() {
        JsonOutput::Document => screen::print_json(&report(samples))?,
        JsonOutput::Lines => {
            // That nobody reads it changes nothing any more.
            let _ = screen::print_event(&LoadEvent::Result(Box::new(report(samples))));
        }
        JsonOutput::No if args.output.printed_files() > 0 => summary.say_warnings(),
        JsonOutput::No => {
            let screen = screen::screen(&console::Term::stdout());
            screen::print_raw(&summary.text(&outcome, screen))?;
            if let Some(words) = throughput::words(&resolved.plan.load, &outcome.result) {
                screen::print(&format!("{words}\n"))?;
            }
            if let Some(kept) = &kept {
                screen::print(&format!("kept in {}\n", kept.folder().display()))?;
                for instance in &profiled {
                    let file = kept.flame_graph(instance);
                    screen::print(&format!("flame graph: {}\n", file.display()))?;
                }
            }
        }
    }
    Ok(exit(&args, &resolved, &outcome, &summary, &stop).into())
}

/// Prints the requests of one session without sending them (`--dry-run`).
fn dry_run(plan: &LoadPlan) -> anyhow::Result<ExitCode> {
    let steps = tare_load::dry_run_plan(plan).map_err(bad_input)?;
    let mut text = String::new();
    let mut exit = Exit::Done;
    for one in &steps {
        match one {
            DryRunStep::Sends { name, bytes } => {
                writeln!(text, "── {}", escape_line(name))?;
                for line in String::from_utf8_lossy(bytes).lines() {
                    writeln!(text, "   {line}")?;
                }
            }
            DryRunStep::Pauses { ns } => {
                writeln!(text, "── pause of {}", Period(Duration::from_nanos(*ns)))?;
            }
            DryRunStep::Fails { why } => {
                writeln!(text, "── fails: {}", escape_line(why))?;
                exit = Exit::Failed;
            }
            DryRunStep::GoesOn => writeln!(text, "── and so on")?,
        }
    }
    let sends = |one: &&DryRunStep| matches!(one, DryRunStep::Sends { .. });
    let requests = steps.iter().filter(sends).count();
    writeln!(
        text,
        "\n{requests} requests; <name> stands for what would be captured, and nothing was sent"
    )?;
    screen::print(&text)?;
    Ok(exit.into())
}

/// The error of a load with its exit code: bad input, nothing measured, or the environment.
fn classify_load_error(error: LoadError) -> anyhow::Error {
    match error {
        LoadError::Plan(_) | LoadError::Tls(_) | LoadError::Descriptors { .. } => bad_input(error),
        LoadError::NoConnection { .. } | LoadError::Refused(_) => unmeasured(error),
        error => error.into(),
    }
}

/// Calibrates and runs the load, with a progress display.
fn measure(
    args: &Args,
    resolved: &ResolvedLoad,
    stop: &StopHandle,
    mut kept: Option<&mut KeptLoad>,
    profiles: &mut Profiles,
) -> Result<(LoadOutcome, Vec<Sample>), LoadError> {
    let form = args.output.form();
    let is_shown = !args.output.quiet && form != JsonOutput::Lines;
    let mut display = Display::new(is_shown, &resolved.words, &resolved.plan.load);
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
    profiles.begin();
    display.say("connecting …");
    let mut samples = Vec::new();
    let outcome = tare_load::run(&resolved.plan, stop, &mut |progress| {
        if let Some(kept) = &mut kept {
            kept.progress(&event(&progress));
        }
        let goes_on = match form {
            JsonOutput::Lines => screen::print_event(&event(&progress)),
            JsonOutput::Document | JsonOutput::No => ControlFlow::Continue(()),
        };
        if let LoadProgress::Sample(sample) = progress {
            display.show(&sample);
            samples.push(sample);
        }
        goes_on
    });
    display.clear();
    let mut outcome = outcome?;
    outcome.result.generator.calibration = calibration;
    Ok((outcome, samples))
}

/// Progress as a line of `--json-lines`.
fn event(progress: &LoadProgress) -> LoadEvent {
    match progress {
        LoadProgress::Ready {
            connections,
            start_unix_us,
        } => LoadEvent::Ready {
            connections: *connections,
            start_unix_us: *start_unix_us,
        },
        LoadProgress::Sample(sample) => LoadEvent::Sample(*sample),
    }
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
fn exit(
    args: &Args,
    resolved: &ResolvedLoad,
    outcome: &LoadOutcome,
    summary: &Summary<'_>,
    stop: &StopHandle,
) -> Exit {
    let mut failed = false;
    let is_read = args.output.form() == JsonOutput::No && console::Term::stdout().is_term();
    let missed = summary.assertions.iter();
    for assertion in missed.filter(|a| a.verdict != AssertionOutcome::Passed) {
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
    let mut is_unanswered = result.ok == 0 && result.failed() > 0;
    if is_unanswered {
        screen::say("error: no request succeeded");
    }
    if let Some(why) = &result.abort_reason {
        screen::say(format_args!("error: the load was aborted: {why}"));
        is_unanswered = result.ok == 0;
        failed = true;
    }
    if was_cut(&resolved.plan, result) {
        return Exit::of_cut(stop.signal());
    }
    match (is_unanswered, failed) {
        (true, _) => Exit::NothingMeasured,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Done,
    }
}

/// Whether a load ended before the time or the count of its plan.
fn was_cut(plan: &LoadPlan, result: &LoadResult) -> bool {
    result.ended == LoadEnd::Interrupted && plan.load.stop != Stop::Interrupted
}
