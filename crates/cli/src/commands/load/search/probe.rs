//! One try of a search: its load, its verdict, and whether the generator itself was the limit.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use tare_load::{LoadError, Outcome, Progress, StopHandle};
use tare_schema::load::{LoadPlan, Pacing, Stop};
use tare_schema::plan::Fitness;
use tare_seek::curve::time;
use tare_seek::objective::{Objective, Tried};
use tare_seek::search::{Backlog, Hope, Probe, Verdict};
use tare_stats::{Latencies, Range};

use super::super::plan::Wanted;

/// Warm-up of a try when nothing is said.
const WARMUP: Duration = Duration::from_millis(500);
/// How soon an order to end is noticed.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

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
    let or_empty = |latencies: Option<Latencies>| match latencies {
        Some(latencies) => Ok(latencies),
        None => Latencies::new(Range::default()).context("cannot make a histogram"),
    };
    let latency = or_empty(outcome.latency_by_all())?;
    let latency_right = or_empty(outcome.latency())?;
    let answered = result.answered_in_window;
    let per_s = |count: u64| count as f64 * 1e9 / result.window_ns.max(1) as f64;
    let tried = Tried {
        latency: &latency,
        latency_right: &latency_right,
        exchanges: result.intended,
        wrong: result.intended.saturating_sub(result.right),
        asked_per_s: whole_per_s(rate_per_s, result.window_ns),
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

/// A rate in whole exchanges of a window: 56 of 56.57/s within a second.
fn whole_per_s(rate_per_s: f64, window_ns: u64) -> f64 {
    let window_s = window_ns.max(1) as f64 / 1e9;
    // A rate that is whole already must not lose an exchange to rounding.
    (rate_per_s * window_s + 1e-9).floor() / window_s
}

/// Share of a core that the busiest worker used, spinning apart.
pub fn busiest(outcome: &Outcome) -> f64 {
    let shares = outcome.result.worker_busy_shares();
    shares.into_iter().fold(0.0, f64::max)
}

/// Why the generator itself was the limit, if it was: by the rule that makes a trial unfit.
pub fn ours(outcome: &Outcome) -> Option<String> {
    let unfit = Fitness::default().unfit(&outcome.result);
    unfit.first().map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::whole_per_s;

    #[test]
    fn a_window_holds_whole_exchanges() {
        let second = 1_000_000_000;
        assert_eq!(whole_per_s(56.57, second), 56.0);
        assert_eq!(whole_per_s(0.3, 10 * second), 0.3);
        assert_eq!(whole_per_s(2000.0, 3 * second), 2000.0);
    }
}
