//! How many exchanges may fail before those that are left carry no verdict on a metric.

use tare_schema::metric::Metric;

use crate::measure;

/// A quantile bears failures of less than this part of what lies beyond it: 5 % at the median, 0.1 % at p99.
///
/// Latency is known of right answers. With a share e of the exchanges missing from them, their quantile q lies between the
/// quantiles q·(1 − e) and q·(1 − e) + e of all, whatever the missing ones would have been. With e below (1 − q)/10 that is
/// within a tenth of the tail: what is called p99 lies between p98.9 and p99.1 of all exchanges.
const PART_OF_TAIL: f64 = 10.0;

/// Means, and costs for each right answer, bear less than one failure in so many: what went into a failure is shared out over
/// the right answers, and what it was spared lowers them, by no more than 1 % where it costs no more than a right answer.
const OF_AMOUNT: u64 = 100;

/// What decides when the next exchange begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// A schedule.
    Schedule,
    /// The answer to an earlier one: clients that wait, or a load that goes as fast as it can.
    Answers,
}

/// Exchanges, and how many of them failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Answered rightly or not at all.
    pub exchanges: u64,
    /// Of those: errors, unanswered at the end, or turned away by a full queue.
    pub failed: u64,
}

/// Whether a cell that failed so often may have a verdict on a metric. Of two that are compared, both have to.
pub fn bears(metric: Metric, pace: Pace, counts: Counts) -> bool {
    match limit(metric, pace) {
        // Nothing is beyond a maximum: any exchange that is missing could have been it.
        Limit::None => counts.failed == 0,
        // Without any exchange nothing failed.
        Limit::OneIn(many) => counts.failed.saturating_mul(many) < counts.exchanges.max(1),
        Limit::Any => true,
    }
}

enum Limit {
    /// No exchange may fail.
    None,
    /// Less than one in so many.
    OneIn(u64),
    /// Failures are part of the figure.
    Any,
}

fn limit(metric: Metric, pace: Pace) -> Limit {
    if let Some((q, _)) = measure::quantile(metric) {
        return Limit::OneIn((PART_OF_TAIL / (1.0 - q)).round() as u64);
    }
    match (metric, pace) {
        (Metric::Max, _) => Limit::None,
        // Right answers a second of a schedule that is the same for both: every failure lowers it, none can raise it.
        (rate, Pace::Schedule) if rate.is_rate() => Limit::Any,
        // Who is refused asks again sooner, and of several kinds of requests does more of those that are not refused.
        _ => Limit::OneIn(OF_AMOUNT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCHANGES: u64 = 1_000_000;

    /// The most failures of a million exchanges that a metric bears; `None`: any number.
    fn most(metric: Metric, pace: Pace) -> Option<u64> {
        let bears = |failed| {
            let exchanges = EXCHANGES;
            bears(metric, pace, Counts { exchanges, failed })
        };
        if bears(EXCHANGES) {
            return None;
        }
        // The border is found by the rule alone, and is one: nothing beyond it is borne.
        let (mut low, mut high) = (0, EXCHANGES);
        assert!(bears(low));
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if bears(middle) {
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
            for pace in [Pace::Schedule, Pace::Answers] {
                assert_eq!(most(metric, pace), Some(border - 1), "{metric:?}");
            }
        }
        assert_eq!(most(Metric::Max, Pace::Schedule), Some(0));
    }

    #[test]
    fn right_answers_a_second_are_judged_whatever_failed_unless_failures_set_the_pace() {
        for rate in Metric::ALL.into_iter().filter(|metric| metric.is_rate()) {
            assert_eq!(most(rate, Pace::Schedule), None, "{rate:?}");
            assert_eq!(most(rate, Pace::Answers), Some(9_999), "{rate:?}");
        }
    }

    #[test]
    fn where_nothing_was_exchanged_nothing_failed() {
        for metric in Metric::ALL {
            assert!(bears(metric, Pace::Answers, Counts::default()));
        }
    }
}
