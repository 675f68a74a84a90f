//! Self-check of the generator: its share in a result, and whether that is acceptable.

use tare_load::Outcome;
use tare_report::quantity;
use tare_schema::agent::{Calibration, Instrument, Scheduled};
use tare_schema::load::Sched;
use tare_schema::load_report::OursReport;
use tare_schema::metric::Unit;
use tare_schema::plan::Fitness;
use tare_stats::{Latencies, Quantile};

use super::summary::Rate;

/// Acceptable share of answers without a kernel timestamp: the first ones on a connection, or at a step of the clock.
const USER_TIMESTAMPS_MAX: f64 = 0.01;

/// Above this share of the rate against the null server, a closed loop may be limited by the generator.
const NEAR_NULL_SERVER_RATE: f64 = 0.80;

/// Result of the self-check.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratorCheck {
    /// As numbers.
    pub ours: OursReport,
    /// As sentences; empty when there is nothing to warn of.
    pub warnings: Vec<String>,
}

impl GeneratorCheck {
    /// Checks a result.
    pub fn new(outcome: &Outcome, rate: Rate, sched: Sched) -> Self {
        let instrument = &outcome.result.instrument;
        let latency = median(outcome.latency());
        let ours = OursReport {
            fit: true,
            bunched_share: outcome.result.bunched_share(),
            worker_busy: outcome.result.worker_busy_shares(),
            cpu_per_exchange_ns: cpu_per_exchange(outcome),
            stamped_by_kernel: stamped_by_kernel(instrument),
            calibration: instrument.calibration,
            calibrated_share: instrument
                .calibration
                .and_then(|null| share(null.latency.p50_ns, latency)),
        };
        let mut warnings = unfit(&ours, outcome);
        let fit = warnings.is_empty();
        warnings.extend(target_limits(outcome, rate));
        // The null server answers single exchanges: its rate is no measure of records in batches.
        if outcome.result.records.is_none() {
            warnings.extend(ours.calibration.and_then(|null| near_limit(&null, rate)));
        }
        warnings.extend(clocks(instrument));
        warnings.extend(refused(sched, instrument));
        Self {
            ours: OursReport { fit, ..ours },
            warnings,
        }
    }
}

fn median(latencies: Option<Latencies>) -> Option<u64> {
    match latencies?.quantile(0.5) {
        Quantile::Exact(ns) | Quantile::Above(ns) => Some(ns),
        Quantile::TooFew => None,
    }
}

fn share(part_ns: Option<u64>, whole_ns: Option<u64>) -> Option<f64> {
    let whole_ns = whole_ns.filter(|&ns| ns > 0)?;
    Some(part_ns? as f64 / whole_ns as f64)
}

/// CPU time in the window per exchange answered in the window.
fn cpu_per_exchange(outcome: &Outcome) -> Option<f64> {
    let answered = outcome.result.answered_in_window;
    let done = answered.right + answered.errors;
    (done > 0).then(|| outcome.result.instrument.cpu_ns as f64 / done as f64)
}

fn stamped_by_kernel(instrument: &Instrument) -> Option<f64> {
    let all = instrument.stamped_by_kernel + instrument.stamped_by_us;
    (all > 0).then(|| instrument.stamped_by_kernel as f64 / all as f64)
}

/// The generator's limits that were exceeded, by the rules that make a trial unfit.
fn unfit(ours: &OursReport, outcome: &Outcome) -> Vec<String> {
    let unfit = Fitness::default().unfit(&outcome.result);
    let mut reasons: Vec<String> = unfit.iter().map(ToString::to_string).collect();
    if let Some(by_kernel) = ours.stamped_by_kernel
        && by_kernel < 1.0 - USER_TIMESTAMPS_MAX
    {
        reasons.push(format!(
            "the kernel stamped only {} of the answers: for the others the clock stopped when our loop saw them, so their \
             latency contains our own delay",
            quantity::percent(by_kernel)
        ));
    }
    reasons
}

/// Warnings of limits of the target.
fn target_limits(outcome: &Outcome, rate: Rate) -> Vec<String> {
    let result = &outcome.result;
    let mut warnings = Vec::new();
    if let (Some(asked), false) = (rate.asked_per_s, rate.is_reached()) {
        let completed = rate.completed_per_s.map_or_else(
            || quantity::MISSING.to_owned(),
            |rate| quantity::value(Unit::PerSecond, rate),
        );
        let waited: u64 = result.waits.iter().map(|wait| wait.count).sum();
        let why = if waited * 10 > result.intended {
            format!(
                "; {waited} requests waited for a free connection or stream, so the target is too slow for it, or \
                 --connections too few"
            )
        } else {
            String::new()
        };
        warnings.push(format!(
            "the rate was not reached: {} asked, {completed} answered within the window{why}",
            quantity::value(Unit::PerSecond, asked)
        ));
    }
    if result.overflow > 0 {
        warnings.push(format!(
            "{} requests were never sent: the queue of waiting ones was full",
            result.overflow
        ));
    }
    if result.unfinished > 0 {
        warnings.push(format!(
            "{} requests had no answer when the load ended; they count with their age, and what reaches into them is told \
             as \"> …\"",
            result.unfinished
        ));
    }
    warnings
}

/// Warns of a closed loop that is nearly as fast as against the null server: it measures the generator.
fn near_limit(null: &Calibration, rate: Rate) -> Option<String> {
    let completed = rate.completed_per_s?;
    let is_closed = rate.asked_per_s.is_none() && null.asked_per_s.is_none();
    (is_closed && completed > null.completed_per_s * NEAR_NULL_SERVER_RATE).then(|| {
        format!(
            "the generator may have been the limit: against a server that does nothing it reached {}, hardly more than \
             here",
            quantity::value(Unit::PerSecond, null.completed_per_s)
        )
    })
}

/// Warns when a scheduling policy that was asked for by name was refused.
fn refused(sched: Sched, instrument: &Instrument) -> Option<String> {
    let got = instrument.scheduled.filter(|got| *got != Scheduled::Fifo)?;
    (sched == Sched::Fifo).then(|| {
        format!(
            "SCHED_FIFO was refused, the workers ran with {got}: run as root or give CAP_SYS_NICE"
        )
    })
}

fn clocks(instrument: &Instrument) -> Vec<String> {
    let mut warnings = Vec::new();
    if instrument.clock_steps > 0 {
        warnings.push(format!(
            "the realtime clock stepped {}; the kernel's stamps were corrected",
            quantity::counted(instrument.clock_steps, "time", "times")
        ));
    }
    if instrument.out_of_range > 0 {
        warnings.push(format!(
            "{} beyond an hour count as an hour",
            quantity::counted(instrument.out_of_range, "value", "values")
        ));
    }
    warnings
}
