//! One probe of a search: its load, its verdict, and whether the generator was the limit.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use tare_load::{LoadError, LoadOutcome, LoadProgress, StopHandle};
use tare_rate_search::objective::{Objective, ProbeMetrics};
use tare_rate_search::search::{Backlog, EarlyStop, Probe, ProbeVerdict};
use tare_record::load::{LoadPlan, Pacing, Stop};
use tare_record::metric::Unit;
use tare_record::plan::Fitness;
use tare_report::quantity;
use tare_stats::{Latencies, Range};

use super::super::plan::ResolvedLoad;

/// Default warm-up of a probe.
const WARMUP: Duration = Duration::from_millis(500);
/// Interval of samples, at which an interruption is noticed.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// Result of a probe.
pub struct ProbeResult {
    /// Rate and verdict.
    pub probe: Probe,
    /// Length of the window.
    pub length: Duration,
    /// The measured values, as text.
    pub figures: String,
    /// Why the objective was not met; empty when it was.
    pub reason: String,
}

/// The load plan of a probe.
pub fn plan_of(resolved: &ResolvedLoad, rate_per_s: f64, length: Duration) -> LoadPlan {
    let mut plan = resolved.plan.clone();
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

/// Runs a probe. It ends early when the search is interrupted or when the backlog shows that the objective is missed. An aborted
/// load is an error, since it says nothing of the rate.
pub fn run_probe(
    plan: &LoadPlan,
    stop: &StopHandle,
    backlog: Option<Backlog>,
) -> Result<(LoadOutcome, EarlyStop), LoadError> {
    let mut backlog = backlog;
    let mut hope = EarlyStop::None;
    let outcome = tare_load::run(plan, &stop.child(), &mut |progress| {
        if let (Some(backlog), EarlyStop::None, LoadProgress::Sample(sample)) =
            (&mut backlog, hope, progress)
        {
            let done = sample.ok + sample.errors;
            hope = backlog.add(sample.offset_ns, sample.intended, done);
        }
        match stop.is_ended() || hope != EarlyStop::None {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    match outcome.result.abort_reason {
        Some(why) => Err(LoadError::Refused(why)),
        None => Ok((outcome, hope)),
    }
}

/// Pauses between two probes; returns at once when the search is ended.
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

/// Compares a probe with the objective.
pub fn judge(
    objective: &Objective,
    rate_per_s: f64,
    length: Duration,
    (outcome, hope): &(LoadOutcome, EarlyStop),
) -> anyhow::Result<ProbeResult> {
    let result = &outcome.result;
    let or_empty = |latencies: Option<Latencies>| match latencies {
        Some(latencies) => Ok(latencies),
        None => Latencies::new(Range::default()).context("cannot make a histogram"),
    };
    let latency = or_empty(outcome.latency_by_all())?;
    let latency_ok = or_empty(outcome.latency())?;
    let answered = result.completed_in_window;
    let per_s = |count: u64| count as f64 * 1e9 / result.window_ns.max(1) as f64;
    let tried = ProbeMetrics {
        latency: &latency,
        latency_ok: &latency_ok,
        exchanges: result.intended,
        wrong: result.intended.saturating_sub(result.ok),
        offered_per_s: whole_per_s(rate_per_s, result.window_ns),
        ok_per_s: per_s(answered.ok),
        wrong_per_s: per_s(answered.errors),
    };
    // Exchanges that were under way when a probe was ended early are not counted as errors.
    let missed = match *hope {
        EarlyStop::None => objective.missed(&tried),
        EarlyStop::RateLost => vec![format!("only {:.0}/s answered", per_s(answered.ok))],
        EarlyStop::TailLost { limit_ns, late } => vec![format!(
            "given up: {late} waited longer than {}",
            quantity::value(Unit::Nanoseconds, limit_ns)
        )],
    };
    let (verdict, reason) = match (missed.as_slice(), generator_limit(outcome)) {
        ([], _) => (ProbeVerdict::Passed, String::new()),
        (_, Some(generator_limit)) => (ProbeVerdict::GeneratorLimited, generator_limit),
        (missed, None) => (ProbeVerdict::Failed, missed.join("; ")),
    };
    Ok(ProbeResult {
        probe: Probe {
            rate_per_s,
            verdict,
        },
        length,
        figures: objective.figures(&tried),
        reason,
    })
}

/// The rate of the whole exchanges that fit into a window: 56/s for 56.57/s within a second.
fn whole_per_s(rate_per_s: f64, window_ns: u64) -> f64 {
    let window_s = window_ns.max(1) as f64 / 1e9;
    // Rounding must not remove an exchange when the number is whole already.
    (rate_per_s * window_s + 1e-9).floor() / window_s
}

/// Share of a core that the busiest worker used, without spinning.
pub fn busiest(outcome: &LoadOutcome) -> f64 {
    let shares = outcome.result.worker_busy_shares();
    shares.into_iter().fold(0.0, f64::max)
}

/// Why the generator was the limit, if it was, by the rule that makes a trial unfit.
pub fn generator_limit(outcome: &LoadOutcome) -> Option<String> {
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
