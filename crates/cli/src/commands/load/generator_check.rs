//! Self-check of the generator: its share in a result, and whether that is acceptable.

use tare_load::LoadOutcome;
use tare_record::agent::{
    ErrorSource, GeneratorCalibration, GeneratorStats, LoadResult, SchedPolicy, WaitCount,
    is_unanswered_class,
};
use tare_record::escape::escape_line;
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
        let why = why_not_reached(result);
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

/// Why a rate was not reached, as far as outcomes and waits tell; a quota has a warning of its own.
fn why_not_reached(result: &LoadResult) -> String {
    let is_much = |count: u64| count * 10 > result.intended;
    let refused = result.outcomes.iter().filter(|outcome| {
        outcome.error_source != ErrorSource::None && !is_unanswered_class(&outcome.class)
    });
    let most = refused.max_by_key(|outcome| outcome.count);
    if let Some(outcome) = most.filter(|outcome| is_much(outcome.count)) {
        return format!(
            "; {} failed ({}), see the outcomes",
            counted(outcome.count, "request"),
            escape_line(&outcome.class)
        );
    }
    let is_of_target = |wait: &&WaitCount| !["linger", "quota"].contains(&wait.cause.as_str());
    let waits = result.queue_waits.iter().filter(is_of_target);
    let waited: u64 = waits.map(|wait| wait.count).sum();
    if throttled(result).is_some() || !is_much(waited) {
        return String::new();
    }
    format!(
        "; {waited} requests waited for a free connection or stream, so the target is too slow for it, or --connections \
         too few"
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A result of 500 intended requests with this outcome, these waits and counts of the protocol.
    fn result(
        (class, source): (&str, &str),
        (cause, waits): (&str, u64),
        counts: serde_json::Value,
    ) -> LoadResult {
        let result = serde_json::json!({
            "version": 5, "role": "client", "ended": "completed",
            "window_start_unix_us": 1, "window_ns": 1, "offered_per_s": 100.0,
            "intended": 500, "released": 500, "sent": 500, "ok": 325, "errors": 175, "unfinished": 0, "overflow": 0,
            "outcomes": [{"request": "t", "class": class, "error_source": source, "count": 175}],
            "requests_sent_total": 0, "protocol_counts": counts,
            "connections": {"opened": 1, "reconnects": 0, "failed": 0, "peak": 1},
            "bytes_sent": 1, "bytes_received": 1,
            "queue_waits": [{"cause": cause, "count": waits, "total_ns": 1}],
            "generator": GeneratorStats::default(),
        });
        serde_json::from_value(result).unwrap()
    }

    #[test]
    fn a_target_is_too_slow_only_where_nothing_else_explains_the_missing_rate() {
        let none = || serde_json::json!({});
        let slow = "the target is too slow";
        let why = |outcome, wait| why_not_reached(&result(outcome, wait, none()));
        let timeout = ("timeout", "target");
        assert!(why(timeout, ("connection", 400)).contains(slow));
        assert_eq!(why(timeout, ("connection", 50)), "");
        assert_eq!(why(timeout, ("linger", 500)), "");
        let refused = why(("leader-not-available", "target"), ("connection", 500));
        assert_eq!(
            refused,
            "; 175 requests failed (leader-not-available), see the outcomes"
        );
        let throttle = serde_json::json!({"throttled-responses": 79, "throttle-time-ms": 21_374});
        let muted = result(("throttled", "quota"), ("connection", 400), throttle);
        assert_eq!(why_not_reached(&muted), "");
        let warning = throttled(&muted).unwrap();
        for part in [
            "79 responses",
            "21 s",
            "producer_byte_rate",
            "consumer_byte_rate",
        ] {
            assert!(warning.contains(part), "{warning}");
        }
    }
}
