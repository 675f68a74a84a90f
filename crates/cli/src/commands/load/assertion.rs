//! What a load must fulfil, `p99<5ms`: read from the command, held against the result.

use std::fmt;
use std::str::FromStr;

use tare_load::Outcome;
use tare_report::quantity;
use tare_schema::load_report::{AssertionReport, AssertionVerdict};
use tare_schema::metric::Unit;
use tare_schema::units::Share;
use tare_seek::condition::{Comparison, Condition, Metric, Of, Point};
use tare_stats::{Latencies, Quantile};

use super::summary::Rate;

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

fn show(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Latency(..) => quantity::value(Unit::Nanoseconds, value),
        Metric::Rate => quantity::value(Unit::PerSecond, value),
        Metric::Errors => format!("{value}"),
        Metric::ErrorRate => quantity::percent(value),
    }
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A value as far as it is known.
#[derive(Debug, Clone, PartialEq)]
enum Known {
    Exactly(f64),
    MoreThan(f64),
    Not(&'static str),
}

impl Assertion {
    /// That at most this share of the exchanges is not answered rightly: `--max-error-rate`.
    pub fn error_rate_at_most(share: Share) -> Self {
        Self {
            text: format!("error-rate<={share}"),
            condition: Condition {
                metric: Metric::ErrorRate,
                comparison: Comparison::AtMost,
                limit: share.0,
            },
        }
    }

    /// Holds it against a result.
    pub fn judge(&self, outcome: &Outcome, rate: Rate) -> AssertionReport {
        let (verdict, because) = self.verdict(&self.values(outcome, rate));
        AssertionReport {
            assertion: self.text.clone(),
            verdict,
            because,
        }
    }

    /// Every value that has to fulfil it, with the words for what it is of.
    fn values(&self, outcome: &Outcome, rate: Rate) -> Vec<(&'static str, Known)> {
        let result = &outcome.result;
        let wrong = result.errors + result.unfinished;
        let all = result.right + wrong;
        let of = |name, latencies: Option<Latencies>, point| (name, look(latencies, point));
        match self.condition.metric {
            Metric::Rate => {
                let known = rate.completed_per_s.map(Known::Exactly);
                vec![("", known.unwrap_or(Known::Not("the window has no length")))]
            }
            Metric::Errors => vec![("", Known::Exactly(wrong as f64))],
            Metric::ErrorRate => vec![(
                "",
                match all {
                    0 => Known::Not("there were no exchanges"),
                    all => Known::Exactly(wrong as f64 / all as f64),
                },
            )],
            Metric::Latency(Of::Lateness, point) => vec![of("", outcome.lateness(), point)],
            // Neither may fast errors flatter a tail, nor may slow ones stay out of it: both must fulfil it.
            Metric::Latency(kind, point) if wrong > 0 => {
                let (right, all) = match kind {
                    Of::Response => (outcome.response(), outcome.response_by_all()),
                    Of::Service => (outcome.service(), outcome.service_of_all()),
                    Of::Latency | Of::Lateness => (outcome.latency(), outcome.latency_by_all()),
                };
                vec![
                    of(" of the right answers", right, point),
                    of(" with the errors", all, point),
                ]
            }
            Metric::Latency(Of::Response, point) => vec![of("", outcome.response(), point)],
            Metric::Latency(Of::Service, point) => vec![of("", outcome.service(), point)],
            Metric::Latency(Of::Latency, point) => vec![of("", outcome.latency(), point)],
        }
    }

    /// The worst of the values decides.
    fn verdict(&self, values: &[(&'static str, Known)]) -> (AssertionVerdict, String) {
        let judged = values.iter().map(|(of, known)| self.one(of, known));
        judged
            .max_by_key(|(verdict, _)| match verdict {
                AssertionVerdict::Held => 0,
                AssertionVerdict::CannotBeTold => 1,
                AssertionVerdict::Failed => 2,
            })
            .unwrap_or((AssertionVerdict::CannotBeTold, String::new()))
    }

    fn one(&self, of: &str, known: &Known) -> (AssertionVerdict, String) {
        let Condition {
            metric,
            comparison,
            limit,
        } = self.condition;
        match *known {
            Known::Exactly(value) => {
                let shown = format!("it is {}{of}", show(metric, value));
                match comparison.holds(value, limit) {
                    true => (AssertionVerdict::Held, shown),
                    false => (AssertionVerdict::Failed, shown),
                }
            }
            Known::MoreThan(bound) => {
                let shown = format!("it is more than {}{of}", show(metric, bound));
                match (bound >= limit, comparison.wants_more()) {
                    (true, true) => (AssertionVerdict::Held, shown),
                    (true, false) => (AssertionVerdict::Failed, shown),
                    (false, _) => (
                        AssertionVerdict::CannotBeTold,
                        format!("{shown}, and how much more was not seen: give it more --timeout"),
                    ),
                }
            }
            Known::Not(why) => (AssertionVerdict::CannotBeTold, format!("{why}{of}")),
        }
    }
}

fn look(latencies: Option<Latencies>, point: Point) -> Known {
    let Some(latencies) = latencies else {
        return Known::Not("nothing was observed");
    };
    let quantile = match point {
        Point::Quantile(q) => latencies.quantile(q),
        Point::Max => latencies.max().unwrap_or(Quantile::TooFew),
        Point::Mean => match latencies.mean_ns() {
            Some(mean) if latencies.unfinished() + latencies.out_of_range() > 0 => {
                return Known::MoreThan(mean);
            }
            Some(mean) => return Known::Exactly(mean),
            None => Quantile::TooFew,
        },
    };
    match quantile {
        Quantile::Exact(ns) => Known::Exactly(ns as f64),
        Quantile::Above(ns) => Known::MoreThan(ns as f64),
        Quantile::TooFew => Known::Not(
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

    fn verdict(text: &str, known: Known) -> AssertionVerdict {
        read(text).verdict(&[("", known)]).0
    }

    #[test]
    fn a_value_on_the_limit_is_at_most_it_but_not_below() {
        let on = Known::Exactly(5e6);
        assert_eq!(verdict("p99<5ms", on.clone()), AssertionVerdict::Failed);
        assert_eq!(verdict("p99<=5ms", on), AssertionVerdict::Held);
    }

    #[test]
    fn a_bound_decides_only_what_it_bounds() {
        let bound = Known::MoreThan(5e6);
        assert_eq!(verdict("p99<4ms", bound.clone()), AssertionVerdict::Failed);
        assert_eq!(verdict("p99>4ms", bound.clone()), AssertionVerdict::Held);
        assert_eq!(verdict("p99<6ms", bound), AssertionVerdict::CannotBeTold);
    }

    #[test]
    fn a_quantile_of_too_few_cannot_be_told_and_the_worst_of_several_decides() {
        let mut few = Latencies::new(tare_stats::Range::default()).unwrap();
        few.record_many(1000, 100);
        let known = look(Some(few), Point::Quantile(0.99));
        assert_eq!(
            verdict("p99<5ms", known.clone()),
            AssertionVerdict::CannotBeTold
        );
        let values = [("", Known::Exactly(9e6)), ("", known)];
        assert_eq!(read("p99<5ms").verdict(&values).0, AssertionVerdict::Failed);
    }
}
