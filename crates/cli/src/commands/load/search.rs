//! `tare load --search`: tries rates until it is known which is the highest that keeps an objective.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tare_load::{LoadError, Outcome, Progress, StopHandle};
use tare_schema::load::{LoadPlan, Pacing, Stop};
use tare_seek::objective::{Objective, Tried};
use tare_seek::search::{
    Answer, Limit, Probe, Rules, Step, Sure, Verdict, Why, conclude, next, probe_length,
};
use tare_stats::{Latencies, Range};

use super::args::{Args, SearchArgs};
use super::plan::Wanted;
use crate::exit::{Exit, bad_input};

/// Tries at most, whatever time is left.
const PROBES_MAX: usize = 100;
/// Lowest rate worth a try.
const LEAST_PER_S: f64 = 0.1;
/// Longest try: a quantile that needs more is not shown at so low a rate.
const PROBE_MAX: Duration = Duration::from_secs(120);
/// Warm-up of a try when nothing is said.
const WARMUP: Duration = Duration::from_millis(500);
/// How soon an order to end is noticed.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// Later than this share of the median service time, and than [`LATE_NS`], we are the limit: the rule for trials of an experiment.
const LATE_SHARE: f64 = 0.1;
const LATE_NS: f64 = 100_000.0;
/// Busier than this, spinning apart, a worker is the limit.
const BUSY: f64 = 0.85;
/// Fewer of the intended starts than this share were taken: we are the limit.
const RELEASED: f64 = 0.99;

/// One try with its figures in words.
struct Told {
    probe: Probe,
    length: Duration,
    figures: String,
    because: String,
}

/// Runs the search to its end and prints it.
pub fn run(
    args: &Args,
    objective: &Objective,
    wanted: &Wanted,
    stop: &StopHandle,
) -> anyhow::Result<ExitCode> {
    let rules = rules(&args.search).map_err(bad_input)?;
    let started = Instant::now();
    let mut told: Vec<Told> = Vec::new();
    if !args.output.json {
        println!(
            "{}\nsearch for the highest rate with {objective}\n",
            wanted.words
        );
    }
    let answer = loop {
        let probes: Vec<Probe> = told.iter().map(|told| told.probe).collect();
        let (rate_per_s, why) = match next(&rules, &probes) {
            Step::Done(answer) => break answer,
            Step::Probe { rate_per_s, why } => (rate_per_s, why),
        };
        let length = probe_length(
            rate_per_s,
            objective.share(),
            args.search.probe.0,
            PROBE_MAX,
        );
        let left = args.search.search_time.0.saturating_sub(started.elapsed());
        if stop.is_ended() || left < length {
            break conclude(&rules, &probes);
        }
        let plan = plan_of(wanted, rate_per_s, length);
        let outcome = match try_once(&plan, stop) {
            Ok(outcome) => outcome,
            Err(
                error @ (LoadError::Plan(_) | LoadError::Tls(_) | LoadError::Descriptors { .. }),
            ) => {
                return Err(bad_input(error));
            }
            Err(error @ LoadError::NoConnection { .. }) => {
                eprintln!("error: {error}");
                return Ok(Exit::NoVerdict.into());
            }
            Err(error) => return Err(error.into()),
        };
        if stop.is_ended() {
            break conclude(&rules, &probes);
        }
        let one = judge(objective, rate_per_s, length, &outcome)?;
        if !args.output.json {
            println!("{}", line(told.len() + 1, &one, why));
        }
        told.push(one);
        thread::sleep(args.search.rest.0);
    };
    let words = sentence(objective, answer, args.search.confirm);
    if args.output.json {
        let report = report(objective, answer, &told, &words);
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("\n{words}");
    }
    Ok(match answer {
        Answer::Found { .. } | Answer::AtLeast { .. } => Exit::Done.into(),
        Answer::Below { .. } | Answer::Unknown => Exit::NoVerdict.into(),
    })
}

fn rules(args: &SearchArgs) -> anyhow::Result<Rules> {
    let is_range = args.search_from > 0.0 && args.search_to >= args.search_from;
    anyhow::ensure!(
        is_range && args.search_to.is_finite(),
        "the search goes from {} to {}: --search-from must be more than 0 and at most --search-to",
        args.search_from,
        args.search_to
    );
    anyhow::ensure!(
        (0.001..=1.0).contains(&args.tolerance.0),
        "--tolerance {} is not between 0.1 % and 100 %",
        args.tolerance
    );
    Ok(Rules {
        first_per_s: args.search_from,
        least_per_s: LEAST_PER_S.min(args.search_from),
        most_per_s: args.search_to,
        tolerance: args.tolerance.0,
        confirmations: args.confirm,
        probes_max: PROBES_MAX,
    })
}

pub fn plan_of(wanted: &Wanted, rate_per_s: f64, length: Duration) -> LoadPlan {
    let mut plan = wanted.plan.clone();
    plan.load.pacing = Pacing::Constant { rate_per_s };
    plan.load.stop = Stop::Duration {
        window_ns: length.as_nanos() as u64,
    };
    if plan.load.warmup_ns == 0 {
        plan.load.warmup_ns = WARMUP.as_nanos() as u64;
    }
    plan.load.sample_every_ns = SAMPLE_EVERY.as_nanos() as u64;
    plan
}

/// One load; an order to end the search gives it up.
pub fn try_once(plan: &LoadPlan, stop: &StopHandle) -> Result<Outcome, LoadError> {
    tare_load::run(
        plan,
        &StopHandle::new(),
        &mut |_: Progress| match stop.is_ended() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        },
    )
}

fn judge(
    objective: &Objective,
    rate_per_s: f64,
    length: Duration,
    outcome: &Outcome,
) -> anyhow::Result<Told> {
    let result = &outcome.result;
    let felt = felt(outcome)?;
    let answered = result.answered_in_window;
    let tried = Tried {
        felt: &felt,
        exchanges: result.intended,
        wrong: result.intended - result.right,
        asked_per_s: rate_per_s,
        answered_per_s: (answered.right + answered.errors) as f64 * 1e9
            / result.window_ns.max(1) as f64,
    };
    let missed = objective.missed(&tried);
    let ours = ours(outcome);
    let (verdict, because) = match (missed.as_slice(), ours) {
        ([], _) => (Verdict::Kept, String::new()),
        (_, Some(ours)) => (Verdict::Instrument, ours),
        (missed, None) => (Verdict::Missed, missed.join("; ")),
    };
    Ok(Told {
        probe: Probe {
            rate_per_s,
            verdict,
        },
        length,
        figures: objective.figures(&tried),
        because,
    })
}

/// What was felt, over all outcomes.
pub fn felt(outcome: &Outcome) -> anyhow::Result<Latencies> {
    let mut felt = Latencies::new(Range::default()).context("cannot make a histogram")?;
    let is_felt =
        |tag: &str| tag == "client.request.felt" || tag.starts_with("client.request.felt.");
    for (_, latencies) in outcome.totals.iter().filter(|(tag, _)| is_felt(tag)) {
        felt.merge(latencies).context("cannot merge histograms")?;
    }
    Ok(felt)
}

/// Share of a core that the busiest worker used, spinning apart.
pub fn busiest(outcome: &Outcome) -> f64 {
    let ours = &outcome.result.instrument;
    let spun_ns = ours.spun_ns / (ours.worker_cpu_ns.len().max(1) as u64);
    let busiest_ns = ours.worker_cpu_ns.iter().max().copied().unwrap_or(0);
    busiest_ns.saturating_sub(spun_ns) as f64 / outcome.result.window_ns.max(1) as f64
}

/// Why the generator itself was the limit, if it was.
pub fn ours(outcome: &Outcome) -> Option<String> {
    let result = &outcome.result;
    let ours = &result.instrument;
    let service = outcome.totals.get("client.request.service");
    let median_ns = service.map_or(0.0, |service| match service.quantile(0.5) {
        tare_stats::Quantile::Exact(ns) => ns as f64,
        _ => 0.0,
    });
    let late_ns = LATE_NS.max(median_ns * LATE_SHARE);
    if let Some(p99_ns) = ours.lateness.p99_ns.filter(|&ns| ns as f64 > late_ns) {
        return Some(format!(
            "the generator started requests late: p99 {} µs",
            p99_ns / 1000
        ));
    }
    let busy = busiest(outcome);
    if busy > BUSY {
        return Some(format!(
            "a worker of the generator was {:.0} % busy: try more --workers",
            busy * 100.0
        ));
    }
    let taken = result.released + result.overflow;
    let is_slow = (taken as f64) < result.intended as f64 * RELEASED;
    is_slow.then(|| format!("the generator started only {taken} of {}", result.intended))
}

fn line(number: usize, told: &Told, why: Why) -> String {
    let what = match told.probe.verdict {
        Verdict::Kept => "kept",
        Verdict::Missed => "missed",
        Verdict::Instrument => "no word",
    };
    let why = match why {
        Why::Grow => "up",
        Why::Shrink => "down",
        Why::Halve => "between",
        Why::ConfirmKept | Why::ConfirmMissed => "again",
    };
    let because = match told.because.as_str() {
        "" => &told.figures,
        because => because,
    };
    format!(
        "{number:>3}  {:>10}/s  {:>5.1} s  {why:<8} {what:<8} {because}",
        told.probe.rate_per_s,
        told.length.as_secs_f64()
    )
}

/// The answer for people.
fn sentence(objective: &Objective, answer: Answer, confirm: u32) -> String {
    match answer {
        Answer::Found {
            kept_per_s,
            missed_per_s,
            sure: Sure::Confirmed,
        } => format!(
            "{kept_per_s}/s is the highest rate with {objective}; {missed_per_s}/s misses it (most of {confirm} tries of each agree)"
        ),
        Answer::Found {
            kept_per_s,
            missed_per_s,
            sure: Sure::Rough,
        } => format!(
            "not settled: {kept_per_s}/s kept {objective}, {missed_per_s}/s missed it, and the search ended there; give it more --search-time"
        ),
        Answer::AtLeast { kept_per_s, limit } => {
            let limit = match limit {
                Limit::Instrument(at) => format!(
                    "at {at}/s the generator itself was the limit, which says nothing of the server: try more --workers, or another machine"
                ),
                Limit::Most => "that is the highest rate allowed: raise --search-to".into(),
                Limit::Effort => "the search ended there: give it more --search-time".into(),
            };
            format!("not reached: at least {kept_per_s}/s keeps {objective}; {limit}")
        }
        Answer::Below { missed_per_s } => {
            format!("not reached: even {missed_per_s}/s misses {objective}")
        }
        Answer::Unknown => {
            "nothing is known: the generator itself was the limit, or the search ended before its first try".into()
        }
    }
}

fn report(objective: &Objective, answer: Answer, told: &[Told], words: &str) -> Value {
    let (kept, missed, settled) = match answer {
        Answer::Found {
            kept_per_s,
            missed_per_s,
            sure,
        } => (
            Some(kept_per_s),
            Some(missed_per_s),
            sure == Sure::Confirmed,
        ),
        Answer::AtLeast { kept_per_s, .. } => (Some(kept_per_s), None, false),
        Answer::Below { missed_per_s } => (None, Some(missed_per_s), false),
        Answer::Unknown => (None, None, false),
    };
    let verdict = |verdict| match verdict {
        Verdict::Kept => "kept",
        Verdict::Missed => "missed",
        Verdict::Instrument => "generator-limited",
    };
    let probes: Vec<Value> = told
        .iter()
        .map(|told| {
            json!({
                "rate_per_s": told.probe.rate_per_s,
                "length_ns": told.length.as_nanos() as u64,
                "verdict": verdict(told.probe.verdict),
                "figures": told.figures,
                "because": (!told.because.is_empty()).then_some(&told.because),
            })
        })
        .collect();
    json!({
        "objective": objective.to_string(),
        "kept_per_s": kept,
        "missed_per_s": missed,
        "settled": settled,
        "sentence": words,
        "probes": probes,
    })
}
