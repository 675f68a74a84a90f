//! How many exchanges may fail before there is no verdict on a metric.

use tare_record::metric::Metric;

use crate::measure;

/// A quantile q tolerates a share of failures below (1 − q) divided by this: 5 % at the median, 0.1 % at p99.
///
/// Latency is measured on successful exchanges. If a share e of the exchanges is missing, their quantile q lies between the
/// quantiles q·(1 − e) and q·(1 − e) + e of all, whatever the missing latencies are. With e below (1 − q)/10 that is within a
/// tenth of the tail: p99 lies between p98.9 and p99.1 of all exchanges.
const TAIL_DIVISOR: f64 = 10.0;

/// Means and costs per success tolerate less than one failure in this many. The cost of failed exchanges is attributed to the
/// successful ones: an error of at most 1 % if a failure costs no more than a success.
const MEAN_FAILURES_ONE_IN: u64 = 100;

/// What starts the next exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopKind {
    /// Open loop: a schedule.
    Open,
    /// Closed loop: the answer to an earlier one. A load at maximum rate belongs here, too.
    Closed,
}

/// Counts of exchanges and failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FailureCounts {
    /// All exchanges: successful and failed.
    pub exchanges: u64,
    /// Those that failed: errors, unfinished, or dropped because the queue was full.
    pub failed: u64,
}

/// Whether a cell with these failures may have a verdict on a metric. In a comparison it must be true of both cells.
pub fn allows_verdict(metric: Metric, loop_kind: LoopKind, counts: FailureCounts) -> bool {
    match limit(metric, loop_kind) {
        // Any missing exchange could have been the maximum.
        Limit::None => counts.failed == 0,
        // Without exchanges there are no failures.
        Limit::OneIn(many) => counts.failed.saturating_mul(many) < counts.exchanges.max(1),
        Limit::Any => true,
    }
}

enum Limit {
    /// No exchange may fail.
    None,
    /// Less than one in this many.
    OneIn(u64),
    /// Failures are part of the figure.
    Any,
}

fn limit(metric: Metric, loop_kind: LoopKind) -> Limit {
    if let Some((q, _)) = measure::quantile(metric) {
        return Limit::OneIn((TAIL_DIVISOR / (1.0 - q)).round() as u64);
    }
    match (metric, loop_kind) {
        (Metric::Max, _) => Limit::None,
        // Throughput of an open loop: a failure can only lower it.
        (rate, LoopKind::Open) if rate.is_rate() => Limit::Any,
        // In a closed loop failures raise the rate, and change the mix towards the requests that succeed.
        _ => Limit::OneIn(MEAN_FAILURES_ONE_IN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCHANGES: u64 = 1_000_000;

    /// The most failures in a million exchanges that a metric tolerates; `None`: any number.
    fn most(metric: Metric, loop_kind: LoopKind) -> Option<u64> {
        let allows_verdict = |failed| {
            let exchanges = EXCHANGES;
            allows_verdict(metric, loop_kind, FailureCounts { exchanges, failed })
        };
        if allows_verdict(EXCHANGES) {
            return None;
        }
        // Bisection by the rule itself.
        let (mut low, mut high) = (0, EXCHANGES);
        assert!(allows_verdict(low));
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if allows_verdict(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(low)
    }

    #[test]
    fn a_metric_bears_a_tenth_of_its_tail_in_failures_and_not_one_more() {
        for (metric, share) in [
            (Metric::Median, 0.05),
            (Metric::ResponseMedian, 0.05),
            (Metric::ServiceMedian, 0.05),
            (Metric::P90, 0.01),
            (Metric::P99, 0.001),
            (Metric::ResponseP99, 0.001),
            (Metric::ServiceP99, 0.001),
            (Metric::P999, 0.0001),
            (Metric::Mean, 0.01),
            (Metric::Cpu, 0.01),
            (Metric::CpuTotal, 0.01),
            (Metric::MeshCpu, 0.01),
            (Metric::ProxyCpu, 0.01),
            (Metric::Memory, 0.01),
            (Metric::ProxyMemory, 0.01),
        ] {
            let border = (share * EXCHANGES as f64).round() as u64;
            for loop_kind in [LoopKind::Open, LoopKind::Closed] {
                assert_eq!(most(metric, loop_kind), Some(border - 1), "{metric:?}");
            }
        }
        assert_eq!(most(Metric::Max, LoopKind::Open), Some(0));
    }

    #[test]
    fn right_answers_a_second_are_judged_whatever_failed_unless_failures_set_the_pace() {
        for rate in Metric::ALL.into_iter().filter(|metric| metric.is_rate()) {
            assert_eq!(most(rate, LoopKind::Open), None, "{rate:?}");
            assert_eq!(most(rate, LoopKind::Closed), Some(9_999), "{rate:?}");
        }
    }

    #[test]
    fn where_nothing_was_exchanged_nothing_failed() {
        for metric in Metric::ALL {
            assert!(allows_verdict(
                metric,
                LoopKind::Closed,
                FailureCounts::default()
            ));
        }
    }
}
