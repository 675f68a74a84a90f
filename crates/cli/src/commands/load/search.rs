//! `tare load --search`: finds the highest rate that meets an objective.

mod probe;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tare_load::{LoadError, StopHandle};
use tare_rate_search::objective::{ErrorsShown, Objective};
use tare_rate_search::search::{
    Answer, Backlog, Limit, Precision, Probe, ProbePurpose, Rules, Step, conclude,
    least_rate_per_s, next, probe_length,
};
use tare_record::FORMAT_VERSION;
use tare_record::event::LoadEvent;
use tare_record::search_report::{ProbeReport, ProbeVerdict, SearchReport};

use super::args::{Args, SearchArgs};
use super::classify_load_error;
use super::plan::ResolvedLoad;
use crate::exit::{Exit, bad_input};
use crate::json_output::JsonOutput;
use crate::screen;
use probe::{ProbeResult, judge};
pub use probe::{busiest, generator_limit, plan_of, rest, run_probe};

/// Most probes, whatever time is left.
const PROBES_MAX: usize = 100;
/// Lowest rate of a probe.
const LEAST_PER_S: f64 = 0.1;
/// Longest probe: at lower rates a high quantile cannot be shown.
const PROBE_MAX: Duration = Duration::from_secs(120);
/// What ended a search before its answer was confirmed.
#[derive(Debug, Clone, PartialEq)]
enum EarlyEnd {
    /// The time limit: length and rate of the next probe, which would have exceeded it.
    Time(Duration, f64),
    /// A signal, or nobody reads the output any more.
    Interrupted,
    /// The server does not answer any more.
    Unreachable(String),
}

/// Runs the search to its end and prints it.
pub fn run(
    args: &Args,
    objective: &Objective,
    resolved: &ResolvedLoad,
    stop: &StopHandle,
) -> anyhow::Result<ExitCode> {
    let rules = rules(&args.search, objective).map_err(bad_input)?;
    let form = args.output.form();
    if form == JsonOutput::No {
        screen::print(&format!(
            "{}\nsearch for the highest rate with {objective}\n\n",
            resolved.target_text
        ))?;
    }
    let mut probed: Vec<ProbeResult> = Vec::new();
    let (answer, early_end) = run_probes(args, objective, resolved, stop, &rules, &mut probed)?;
    let words = match &early_end {
        None => sentence(objective, answer, args.search.confirm),
        Some(early_end) => early_end_text(objective, answer, early_end),
    };
    let report = |words| report(resolved, objective, answer, &probed, words);
    match form {
        JsonOutput::Document => screen::print_json(&report(words))?,
        JsonOutput::Lines => {
            // That nobody reads it changes nothing any more.
            let _ = screen::print_event(&LoadEvent::SearchResult(report(words)));
        }
        JsonOutput::No => screen::print(&format!("\n{words}\n"))?,
    }
    let exit = match (answer, early_end) {
        (_, Some(EarlyEnd::Interrupted)) => Exit::of_cut(stop.signal()),
        (Answer::Unknown, _) => Exit::NothingMeasured,
        (Answer::Below { .. }, _) | (_, Some(EarlyEnd::Unreachable(_))) => Exit::Failed,
        (Answer::Found { .. } | Answer::AtLeast { .. }, _) => Exit::Done,
    };
    Ok(exit.into())
}

/// Probes rates until the answer is confirmed or something ends the search.
fn run_probes(
    args: &Args,
    objective: &Objective,
    resolved: &ResolvedLoad,
    stop: &StopHandle,
    rules: &Rules,
    probed: &mut Vec<ProbeResult>,
) -> anyhow::Result<(Answer, Option<EarlyEnd>)> {
    let started = Instant::now();
    loop {
        let probes: Vec<Probe> = probed.iter().map(|probed| probed.probe).collect();
        let (rate_per_s, why) = match next(rules, &probes) {
            Step::Done(answer) => return Ok((answer, None)),
            Step::Probe { rate_per_s, why } => (rate_per_s, why),
        };
        let ended = |early_end| Ok((conclude(rules, &probes), Some(early_end)));
        let length = length(args, objective, rate_per_s, why);
        let left = args.search.search_time.0.saturating_sub(started.elapsed());
        if stop.is_ended() || screen::is_closed() {
            return ended(EarlyEnd::Interrupted);
        }
        if left < length {
            return ended(EarlyEnd::Time(length, rate_per_s));
        }
        let plan = plan_of(resolved, rate_per_s, length);
        let warmup = Duration::from_nanos(plan.load.warmup_ns);
        let backlog = Backlog::new(rate_per_s, warmup, length, objective.tails());
        let tried = match run_probe(&plan, stop, Some(backlog)) {
            Ok(tried) => tried,
            Err(error @ (LoadError::NoConnection { .. } | LoadError::Refused(_))) => {
                return ended(EarlyEnd::Unreachable(error.to_string()));
            }
            Err(error) => return Err(classify_load_error(error)),
        };
        if stop.is_ended() {
            return ended(EarlyEnd::Interrupted);
        }
        let result = &tried.0.result;
        if result.ok == 0 && result.errors > 0 {
            return ended(EarlyEnd::Unreachable(format!(
                "no request at {rate_per_s}/s succeeded, so the rate is not the cause: look at one load without --search"
            )));
        }
        let one = judge(objective, rate_per_s, length, &tried)?;
        match args.output.form() {
            JsonOutput::Document => {}
            JsonOutput::Lines => {
                // That nobody reads it is noticed before the next probe.
                let _ = screen::print_event(&LoadEvent::Probe(probe_report(&one)));
            }
            JsonOutput::No => {
                screen::print(&format!("{}\n", line(probed.len() + 1, &one, why)))?;
            }
        }
        probed.push(one);
        rest(args.search.cooldown.0, stop);
    }
}

/// Length of a probe.
fn length(args: &Args, objective: &Objective, rate_per_s: f64, why: ProbePurpose) -> Duration {
    let errors = match why {
        ProbePurpose::ConfirmKept => ErrorsShown::Yes,
        _ => ErrorsShown::No,
    };
    let share = objective.share(errors);
    probe_length(rate_per_s, share, args.search.probe.0, PROBE_MAX)
}

fn rules(args: &SearchArgs, objective: &Objective) -> anyhow::Result<Rules> {
    let is_range = args.min_rate > 0.0 && args.max_rate >= args.min_rate;
    anyhow::ensure!(
        is_range && args.max_rate.is_finite(),
        "the search goes from {} to {}: --min-rate must be more than 0 and at most --max-rate",
        args.min_rate,
        args.max_rate
    );
    anyhow::ensure!(
        (0.001..=1.0).contains(&args.tolerance.0),
        "--tolerance {} is not between 0.1 % and 100 %",
        args.tolerance
    );
    let shown_per_s = least_rate_per_s(objective.share(ErrorsShown::No), PROBE_MAX);
    anyhow::ensure!(
        args.max_rate >= shown_per_s,
        "below {shown_per_s}/s a try of {} s has too few answers for {objective}: raise --max-rate {}, or ask for a lower percentile",
        PROBE_MAX.as_secs(),
        args.max_rate
    );
    let first_per_s = args.min_rate.max(shown_per_s);
    Ok(Rules {
        first_per_s,
        least_per_s: LEAST_PER_S.max(shown_per_s).min(first_per_s),
        most_per_s: args.max_rate,
        tolerance: args.tolerance.0,
        confirmations: args.confirm,
        probes_max: PROBES_MAX,
    })
}

fn line(number: usize, probed: &ProbeResult, why: ProbePurpose) -> String {
    let what = match probed.probe.verdict {
        ProbeVerdict::Passed => "passed",
        ProbeVerdict::Failed => "failed",
        ProbeVerdict::GeneratorLimited => "generator-limited",
    };
    let why = match why {
        ProbePurpose::Grow => "up",
        ProbePurpose::Shrink => "down",
        ProbePurpose::Halve => "between",
        ProbePurpose::Again | ProbePurpose::ConfirmKept | ProbePurpose::ConfirmMissed => "again",
    };
    let reason = match probed.reason.as_str() {
        "" => &probed.figures,
        reason => reason,
    };
    format!(
        "{number:>3}  {:>10}/s  {:>5.1} s  {why:<8} {what:<17} {reason}",
        probed.probe.rate_per_s,
        probed.length.as_secs_f64()
    )
}

/// The answer as a sentence.
fn sentence(objective: &Objective, answer: Answer, confirm: u32) -> String {
    match answer {
        Answer::Found {
            passed_max_per_s,
            failed_min_per_s,
            sure: Precision::Confirmed,
        } => {
            let agree = match confirm {
                1 => String::new(),
                tries => format!(" (most of {tries} probes of each agree)"),
            };
            format!(
                "{passed_max_per_s}/s is the highest rate with {objective}; {failed_min_per_s}/s fails it{agree}"
            )
        }
        Answer::Found {
            passed_max_per_s,
            failed_min_per_s,
            sure: Precision::Rough,
        } => format!(
            "not confirmed: {passed_max_per_s}/s passed {objective}, {failed_min_per_s}/s failed it, and the search ended there; give it more --search-time"
        ),
        Answer::AtLeast { passed_max_per_s, limit } => {
            let limit = match limit {
                Limit::Generator(at) => format!(
                    "at {at}/s the generator was the limit; no conclusion about the server: try more --workers, or another machine"
                ),
                Limit::Most => "that is the highest rate allowed: raise --max-rate".into(),
                Limit::Effort => "the search ended there: give it more --search-time".into(),
            };
            format!("not reached: at least {passed_max_per_s}/s passes {objective}; {limit}")
        }
        Answer::Below { failed_min_per_s } => {
            format!("not reached: even {failed_min_per_s}/s fails {objective}")
        }
        Answer::Unknown => {
            "nothing is known: the generator itself was the limit, or the search ended before its first probe".into()
        }
    }
}

/// The answer as a sentence, when the search was ended early.
fn early_end_text(objective: &Objective, answer: Answer, early_end: &EarlyEnd) -> String {
    let reason = match early_end {
        EarlyEnd::Time(length, rate_per_s) => format!(
            "the next probe, {:.0} s at {rate_per_s}/s, is longer than what is left of --search-time",
            length.as_secs_f64()
        ),
        EarlyEnd::Interrupted => "the search was interrupted".into(),
        EarlyEnd::Unreachable(error) => error.clone(),
    };
    let (passed, failed) = bounds(answer);
    let known: Vec<String> = [(passed, "passed"), (failed, "failed")]
        .into_iter()
        .filter_map(|(rate, verdict)| Some(format!("{}/s {verdict} {objective}", rate?)))
        .collect();
    let known = match known.is_empty() {
        true => "nothing is known".to_owned(),
        false => known.join(", "),
    };
    format!("not confirmed: {known}; {reason}")
}

/// The highest rate that passed and the lowest that failed, as far as they are known.
fn bounds(answer: Answer) -> (Option<f64>, Option<f64>) {
    match answer {
        Answer::Found {
            passed_max_per_s,
            failed_min_per_s,
            ..
        } => (Some(passed_max_per_s), Some(failed_min_per_s)),
        Answer::AtLeast {
            passed_max_per_s, ..
        } => (Some(passed_max_per_s), None),
        Answer::Below { failed_min_per_s } => (None, Some(failed_min_per_s)),
        Answer::Unknown => (None, None),
    }
}

fn report(
    resolved: &ResolvedLoad,
    objective: &Objective,
    answer: Answer,
    probed: &[ProbeResult],
    words: String,
) -> SearchReport {
    let (passed, failed) = bounds(answer);
    let confirmed = matches!(
        answer,
        Answer::Found {
            sure: Precision::Confirmed,
            ..
        }
    );
    SearchReport {
        version: FORMAT_VERSION,
        tare: env!("CARGO_PKG_VERSION").to_owned(),
        load: resolved.target_text.clone(),
        objective: objective.to_string(),
        passed_max_per_s: passed,
        failed_min_per_s: failed,
        confirmed,
        sentence: words,
        probes: probed.iter().map(probe_report).collect(),
    }
}

fn probe_report(probed: &ProbeResult) -> ProbeReport {
    ProbeReport {
        rate_per_s: probed.probe.rate_per_s,
        length_ns: probed.length.as_nanos() as u64,
        verdict: probed.probe.verdict,
        figures: probed.figures.clone(),
        reason: (!probed.reason.is_empty()).then(|| probed.reason.clone()),
    }
}
