//! One try of a search: its load, its verdict, and whether the generator itself was the limit.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use tare_load::{LoadError, Outcome, Progress, StopHandle};
use tare_schema::load::{LoadPlan, Pacing, Stop};
use tare_seek::curve::time;
use tare_seek::objective::{Objective, Tried};
use tare_seek::search::{Backlog, Hope, Probe, Verdict};
use tare_stats::{Latencies, Quantile, Range};

use super::super::plan::Wanted;

/// Warm-up of a try when nothing is said.
const WARMUP: Duration = Duration::from_millis(500);
/// How soon an order to end is noticed.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// Later than this share of the latency, both as p99, and than [`LATE_NS`], we are the limit.
const LATE_SHARE: f64 = 0.1;
const LATE_NS: f64 = 100_000.0;
/// Busier than this, spinning apart, a worker is the limit.
const BUSY: f64 = 0.85;
/// Fewer of the intended starts than this share were taken: we are the limit.
const RELEASED: f64 = 0.99;

/// One try with its figures in words.
pub struct Told {
    /// The rate, and what came of it.
    pub probe: Probe,
    /// Length of the window.
    pub length: Duration,
    /// What was measured.
    pub figures: String,
    /// Why it was not kept.
    pub because: String,
}

/// The load of one try.
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

/// One load; an order to end the search gives it up, and so does a backlog that cannot be answered any more. One that broke off says
/// nothing of its rate: it is an error.
pub fn try_once(
    plan: &LoadPlan,
    stop: &StopHandle,
    backlog: Option<Backlog>,
) -> Result<(Outcome, Hope), LoadError> {
    let mut backlog = backlog;
    let mut hope = Hope::Some;
    let outcome = tare_load::run(plan, &stop.following(), &mut |progress| {
        if let (Some(backlog), Hope::Some, Progress::Sample(sample)) =
            (&mut backlog, hope, progress)
        {
            let done = sample.right + sample.errors;
            hope = backlog.add(sample.offset_ns, sample.intended, done);
        }
        match stop.is_ended() || hope != Hope::Some {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    match outcome.result.broke_off {
        Some(why) => Err(LoadError::Refused(why)),
        None => Ok((outcome, hope)),
    }
}

/// Pauses between two tries, unless the whole was ended.
pub fn rest(pause: Duration, stop: &StopHandle) {
    let until = Instant::now() + pause;
    while !stop.is_ended() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(SAMPLE_EVERY));
    }
}

/// What is known of a try while it goes on.
pub fn backlog(plan: &LoadPlan, objective: &Objective, told: (f64, Duration)) -> Backlog {
    let warmup = Duration::from_nanos(plan.load.warmup_ns);
    Backlog::new(told.0, warmup, told.1, objective.tails())
}

/// Holds a try against the objective.
pub fn judge(
    objective: &Objective,
    rate_per_s: f64,
    length: Duration,
    (outcome, hope): &(Outcome, Hope),
) -> anyhow::Result<Told> {
    let result = &outcome.result;
    let latency = latency(outcome)?;
    let latency_right = match outcome.latency() {
        Some(right) => right,
        None => Latencies::new(Range::default()).context("cannot make a histogram")?,
    };
    let answered = result.answered_in_window;
    let per_s = |count: u64| count as f64 * 1e9 / result.window_ns.max(1) as f64;
    let tried = Tried {
        latency: &latency,
        latency_right: &latency_right,
        exchanges: result.intended,
        wrong: result.intended.saturating_sub(result.right),
        asked_per_s: rate_per_s,
        right_per_s: per_s(answered.right),
        wrong_per_s: per_s(answered.errors),
    };
    // What was under way when a try was given up is no error of anybody's.
    let missed = match *hope {
        Hope::Some => objective.missed(&tried),
        Hope::RateLost => vec![format!("only {:.0}/s answered", per_s(answered.right))],
        Hope::TailLost { limit_ns, late } => vec![format!(
            "given up: {late} waited longer than {}",
            time(limit_ns)
        )],
    };
    let (verdict, because) = match (missed.as_slice(), ours(outcome)) {
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

/// Latencies over all outcomes.
pub fn latency(outcome: &Outcome) -> anyhow::Result<Latencies> {
    let mut latency = Latencies::new(Range::default()).context("cannot make a histogram")?;
    let is_latency =
        |tag: &str| tag == "client.request.latency" || tag.starts_with("client.request.latency.");
    for (_, latencies) in outcome.totals.iter().filter(|(tag, _)| is_latency(tag)) {
        latency
            .merge(latencies)
            .context("cannot merge histograms")?;
    }
    Ok(latency)
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
    // What is late by far less than the latency is not why it was latency.
    let p99_ns = latency(outcome).ok().map(|latency| latency.quantile(0.99));
    let latency_ns = match p99_ns {
        Some(Quantile::Exact(ns) | Quantile::Above(ns)) => ns as f64,
        Some(Quantile::TooFew) | None => 0.0,
    };
    let late_ns = LATE_NS.max(latency_ns * LATE_SHARE);
    if let Some(p99_ns) = ours.lateness.p99_ns.filter(|&ns| ns as f64 > late_ns) {
        return Some(format!(
            "the generator started requests late: p99 {}",
            time(p99_ns as f64)
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
