//! Self-check of the generator: its share in a result, and whether that is acceptable.

use tare_load::LoadOutcome;
use tare_record::agent::{GeneratorCalibration, GeneratorStats, LoadResult, SchedPolicy};
use tare_record::load::Sched;
use tare_record::load_report::GeneratorReport;
use tare_record::plan::Fitness;
use tare_report::quantity;
use tare_stats::Latencies;

use super::summary::LoadRate;
use crate::values::{at_least, counted, maybe, per_s};

/// Acceptable share of answers without a kernel timestamp: the first ones on a connection, or at a step of the clock.
const USER_TIMESTAMPS_MAX: f64 = 0.01;

/// Above this share of the rate against the null server, a closed loop may be limited by the generator.
const NEAR_NULL_SERVER_RATE: f64 = 0.80;

/// Result of the self-check.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratorCheck {
    /// As numbers.
    pub report: GeneratorReport,
    /// As sentences; empty when there is nothing to warn of.
    pub warnings: Vec<String>,
}

impl GeneratorCheck {
    /// Checks a result.
    pub fn new(outcome: &LoadOutcome, rate: LoadRate, sched: Sched) -> Self {
        let generator = &outcome.result.generator;
        let latency = median(outcome.latency());
        let report = GeneratorReport {
            fit: true,
            bunched_share: outcome.result.bunched_share(),
            worker_busy: outcome.result.worker_busy_shares(),
            cpu_per_exchange_ns: cpu_per_exchange(outcome),
            kernel_timestamp_share: generator.counts.kernel_timestamp_share(),
            calibration: generator.calibration,
            calibrated_share: generator
                .calibration
                .and_then(|null| share(null.latency.p50_ns, latency)),
        };
        let mut warnings = unfit(&report, outcome);
        let fit = warnings.is_empty();
        warnings.extend(target_limits(outcome, rate));
        // The null server answers single exchanges: its rate is no measure of records in batches.
        if outcome.result.records.is_none() {
            warnings.extend(report.calibration.and_then(|null| near_limit(&null, rate)));
        }
        warnings.extend(clocks(generator));
        warnings.extend(refused(sched, generator));
        Self {
            report: GeneratorReport { fit, ..report },
            warnings,
        }
    }
}

fn median(latencies: Option<Latencies>) -> Option<u64> {
    at_least(latencies?.quantile(0.5))
}

fn share(part_ns: Option<u64>, whole_ns: Option<u64>) -> Option<f64> {
    let whole_ns = whole_ns.filter(|&ns| ns > 0)?;
    Some(part_ns? as f64 / whole_ns as f64)
}

/// CPU time in the window per exchange answered in the window.
fn cpu_per_exchange(outcome: &LoadOutcome) -> Option<f64> {
    let answered = outcome.result.completed_in_window;
    let done = answered.ok + answered.errors;
    (done > 0).then(|| outcome.result.generator.cpu_ns as f64 / done as f64)
}

/// The generator's limits that were exceeded, by the rules that make a trial unfit.
fn unfit(report: &GeneratorReport, outcome: &LoadOutcome) -> Vec<String> {
    let unfit = Fitness::default().unfit(&outcome.result);
    let mut reasons: Vec<String> = unfit.iter().map(ToString::to_string).collect();
    if let Some(by_kernel) = report.kernel_timestamp_share
        && by_kernel < 1.0 - USER_TIMESTAMPS_MAX
    {
        reasons.push(format!(
            "only {} of the responses have a kernel timestamp; the others are timed in user space, so their latency contains \
             the generator's own delay",
            quantity::percent(by_kernel)
        ));
    }
    reasons
}

/// Warnings of limits of the target.
fn target_limits(outcome: &LoadOutcome, rate: LoadRate) -> Vec<String> {
    let result = &outcome.result;
    let mut warnings = Vec::new();
    if let (Some(offered), false) = (rate.offered_per_s, rate.is_reached()) {
        let completed = maybe(rate.achieved_per_s.map(per_s));
        let waited: u64 = result.queue_waits.iter().map(|wait| wait.count).sum();
        let is_too_slow = throttled(result).is_none() && waited * 10 > result.intended;
        let why = if is_too_slow {
            format!(
                "; {waited} requests waited for a free connection or stream, so the target is too slow for it, or \
                 --connections too few"
            )
        } else {
            String::new()
        };
        warnings.push(format!(
            "the rate was not reached: offered {}, completed {completed} within the window{why}",
            per_s(offered)
        ));
    }
    warnings.extend(throttled(result));
    if result.never_sent() > 0 {
        let why = match result.never_sent() - result.overflow {
            0 => "the queue of waiting ones was full",
            _ => "the queue of waiting ones was full, or the load was aborted before their turn",
        };
        warnings.push(format!(
            "{} requests were never sent: {why}; they count as failed, with lower bounds as latency",
            result.never_sent()
        ));
    }
    if result.unfinished > 0 {
        warnings.push(format!(
            "{} requests had no answer when the load ended; they count with their age; quantiles that include them are lower bounds \
             as \"> …\"",
            result.unfinished
        ));
    }
    warnings
}

/// Warns of a quota that was used up: what is measured then is the quota, of producers and consumers alike.
fn throttled(result: &LoadResult) -> Option<String> {
    let count = |name: &str| result.protocol_counts.get(name).copied().unwrap_or(0);
    let responses = count("throttled-responses");
    (responses > 0).then(|| {
        let time_ns = count("throttle-time-ms").saturating_mul(1_000_000);
        format!(
            "the brokers throttled this client in {}, for {} in total: a quota of its user or client ID (producer_byte_rate, \
             consumer_byte_rate or request_percentage) was the limit, not the brokers; raise the quota, or ask for less",
            counted(responses, "response"),
            quantity::span(time_ns)
        )
    })
}

/// Warns of a closed loop that is nearly as fast as against the null server: it measures the generator.
fn near_limit(null: &GeneratorCalibration, rate: LoadRate) -> Option<String> {
    let completed = rate.achieved_per_s?;
    let is_closed = rate.offered_per_s.is_none() && null.offered_per_s.is_none();
    (is_closed && completed > null.achieved_per_s * NEAR_NULL_SERVER_RATE).then(|| {
        format!(
            "the generator may have been the limit: against a server that does nothing it reached {}, hardly more than \
             here",
            per_s(null.achieved_per_s)
        )
    })
}

/// Warns when a scheduling policy that was asked for by name was refused.
fn refused(sched: Sched, generator: &GeneratorStats) -> Option<String> {
    let got = generator
        .sched_policy
        .filter(|got| *got != SchedPolicy::Fifo)?;
    (sched == Sched::Fifo).then(|| {
        format!(
            "SCHED_FIFO was refused, the workers ran with {got}: run as root or give CAP_SYS_NICE"
        )
    })
}

fn clocks(generator: &GeneratorStats) -> Vec<String> {
    let mut warnings = Vec::new();
    if generator.clock_steps > 0 {
        warnings.push(format!(
            "the realtime clock stepped {}; the kernel's stamps were corrected",
            counted(generator.clock_steps, "time")
        ));
    }
    if generator.counts.out_of_range > 0 {
        warnings.push(format!(
            "{} beyond an hour count as an hour",
            counted(generator.counts.out_of_range, "value")
        ));
    }
    warnings
}
