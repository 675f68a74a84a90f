//! Assertions of a load, such as `p99<5ms`: parsed from the command line and checked against the result.

use std::str::FromStr;

use tare_load::LoadOutcome;
use tare_rate_search::condition::{Comparator, Condition, LoadMetric, Statistic, TimeKind};
use tare_record::load_report::{AssertionOutcome, AssertionReport};
use tare_record::metric::Unit;
use tare_record::units::Share;
use tare_report::quantity;
use tare_stats::{Latencies, Quantile};

use super::summary::LoadRate;

/// One assertion.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion {
    text: String,
    condition: Condition,
}

impl FromStr for Assertion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self {
            text: text.to_owned(),
            condition: text.parse()?,
        })
    }
}

fn show(metric: LoadMetric, value: f64) -> String {
    match metric {
        LoadMetric::Latency(..) => quantity::value(Unit::Nanoseconds, value),
        LoadMetric::Rate => quantity::value(Unit::PerSecond, value),
        LoadMetric::Errors => format!("{value}"),
        LoadMetric::ErrorRate => quantity::percent(value),
    }
}

/// A measured value, a lower bound of it, or why it is not known.
#[derive(Debug, Clone, PartialEq)]
enum ObservedValue {
    Exactly(f64),
    MoreThan(f64),
    Unknown(&'static str),
}

impl Assertion {
    /// The assertion of `--max-error-rate`: at most this share of the exchanges fails.
    pub fn error_rate_at_most(share: Share) -> Self {
        Self {
            text: format!("error-rate<={share}"),
            condition: Condition {
                metric: LoadMetric::ErrorRate,
                comparison: Comparator::AtMost,
                limit: share.0,
            },
        }
    }

    /// Checks the assertion against a result.
    pub fn judge(&self, outcome: &LoadOutcome, rate: LoadRate) -> AssertionReport {
        let (verdict, reason) = self.verdict(&self.values(outcome, rate));
        AssertionReport {
            assertion: self.text.clone(),
            verdict,
            reason,
        }
    }

    /// Every value that must fulfil the assertion, with a text for what it is of.
    fn values(&self, outcome: &LoadOutcome, rate: LoadRate) -> Vec<(&'static str, ObservedValue)> {
        let result = &outcome.result;
        let wrong = result.failed();
        let of = |name, latencies: Option<Latencies>, point| (name, observed(latencies, point));
        match self.condition.metric {
            LoadMetric::Rate => {
                let known = rate.achieved_per_s.map(ObservedValue::Exactly);
                vec![(
                    "",
                    known.unwrap_or(ObservedValue::Unknown("the window has no length")),
                )]
            }
            LoadMetric::Errors => vec![("", ObservedValue::Exactly(wrong as f64))],
            LoadMetric::ErrorRate => vec![(
                "",
                result.error_rate().map_or(
                    ObservedValue::Unknown("there were no exchanges"),
                    ObservedValue::Exactly,
                ),
            )],
            LoadMetric::Latency(kind, point) => {
                let (ok, all) = match kind {
                    TimeKind::Lateness => return vec![of("", outcome.lateness(), point)],
                    TimeKind::Response => (outcome.response(), outcome.response_by_all()),
                    TimeKind::Service => (outcome.service(), outcome.service_of_all()),
                    TimeKind::Latency => (outcome.latency(), outcome.latency_by_all()),
                };
                match wrong {
                    0 => vec![of("", ok, point)],
                    // Fast errors would improve a quantile, and leaving slow ones out would, too: both sets must fulfil it.
                    _ => vec![
                        of(" of the successful and the unanswered ones", ok, point),
                        of(" with the errors", all, point),
                    ],
                }
            }
        }
    }

    /// The worst verdict of all values.
    fn verdict(&self, values: &[(&'static str, ObservedValue)]) -> (AssertionOutcome, String) {
        let judged = values.iter().map(|(of, known)| self.one(of, known));
        judged
            .max_by_key(|(verdict, _)| match verdict {
                AssertionOutcome::Passed => 0,
                AssertionOutcome::Undecided => 1,
                AssertionOutcome::Failed => 2,
            })
            .unwrap_or((AssertionOutcome::Undecided, String::new()))
    }

    fn one(&self, of: &str, known: &ObservedValue) -> (AssertionOutcome, String) {
        let Condition {
            metric,
            comparison,
            limit,
        } = self.condition;
        match *known {
            ObservedValue::Exactly(value) => {
                let shown = format!("it is {}{of}", show(metric, value));
                match comparison.holds(value, limit) {
                    true => (AssertionOutcome::Passed, shown),
                    false => (AssertionOutcome::Failed, shown),
                }
            }
            ObservedValue::MoreThan(bound) => {
                let shown = format!("it is more than {}{of}", show(metric, bound));
                match (bound >= limit, comparison.wants_more()) {
                    (true, true) => (AssertionOutcome::Passed, shown),
                    (true, false) => (AssertionOutcome::Failed, shown),
                    (false, _) => (
                        AssertionOutcome::Undecided,
                        format!("{shown}, and how much more was not seen: give it more --timeout"),
                    ),
                }
            }
            ObservedValue::Unknown(why) => (AssertionOutcome::Undecided, format!("{why}{of}")),
        }
    }
}

fn observed(latencies: Option<Latencies>, point: Statistic) -> ObservedValue {
    let Some(latencies) = latencies else {
        return ObservedValue::Unknown("nothing was observed");
    };
    let quantile = match point {
        Statistic::Quantile(q) => latencies.quantile(q),
        Statistic::Max => latencies.max().unwrap_or(Quantile::TooFew),
        Statistic::Mean => match latencies.mean_ns() {
            Some(mean) if latencies.unfinished() + latencies.out_of_range() > 0 => {
                return ObservedValue::MoreThan(mean);
            }
            Some(mean) => return ObservedValue::Exactly(mean),
            None => Quantile::TooFew,
        },
    };
    match quantile {
        Quantile::Exact(ns) => ObservedValue::Exactly(ns as f64),
        Quantile::Above(ns) => ObservedValue::MoreThan(ns as f64),
        Quantile::TooFew => ObservedValue::Unknown(
            "fewer than ten observations lie beyond it, so measure longer or at a higher rate",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Assertion {
        text.parse().unwrap()
    }

    fn verdict(text: &str, known: ObservedValue) -> AssertionOutcome {
        read(text).verdict(&[("", known)]).0
    }

    #[test]
    fn a_value_on_the_limit_is_at_most_it_but_not_below() {
        let on = ObservedValue::Exactly(5e6);
        assert_eq!(verdict("p99<5ms", on.clone()), AssertionOutcome::Failed);
        assert_eq!(verdict("p99<=5ms", on), AssertionOutcome::Passed);
    }

    #[test]
    fn a_bound_decides_only_what_it_bounds() {
        let bound = ObservedValue::MoreThan(5e6);
        assert_eq!(verdict("p99<4ms", bound.clone()), AssertionOutcome::Failed);
        assert_eq!(verdict("p99>4ms", bound.clone()), AssertionOutcome::Passed);
        assert_eq!(verdict("p99<6ms", bound), AssertionOutcome::Undecided);
    }

    #[test]
    fn a_quantile_of_too_few_cannot_be_told_and_the_worst_of_several_decides() {
        let mut few = Latencies::new(tare_stats::Range::default()).unwrap();
        few.record_many(1000, 100);
        let known = observed(Some(few), Statistic::Quantile(0.99));
        assert_eq!(
            verdict("p99<5ms", known.clone()),
            AssertionOutcome::Undecided
        );
        let values = [("", ObservedValue::Exactly(9e6)), ("", known)];
        assert_eq!(read("p99<5ms").verdict(&values).0, AssertionOutcome::Failed);
    }
}
