//! What a load must fulfil, `p99<5ms`: read from the command, held against the result.

use std::fmt;
use std::str::FromStr;

use tare_load::Outcome;
use tare_report::quantity;
use tare_schema::load_report::{AssertionReport, AssertionVerdict};
use tare_schema::metric::Unit;
use tare_schema::units::{Period, Share};
use tare_stats::{Latencies, Quantile};

use super::summary::Rate;

/// What can be asserted, for hints.
const METRICS: &str = "p50 … p99.99, max, mean, each also as service-p50 … and lateness-p99, rate, errors, error-rate";

/// One assertion.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion {
    text: String,
    metric: Metric,
    comparison: Comparison,
    limit: f64,
}

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Metric {
    /// A latency in ns.
    Latency(Of, Point),
    /// Answers a second within the window.
    Rate,
    /// Exchanges without a right answer.
    Errors,
    /// Their share of all.
    ErrorRate,
}

/// Which latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Felt,
    Service,
    Lateness,
}

/// Which figure of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Point {
    Quantile(f64),
    Max,
    Mean,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl Comparison {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Comparison::Below => value < limit,
            Comparison::AtMost => value <= limit,
            Comparison::Above => value > limit,
            Comparison::AtLeast => value >= limit,
        }
    }

    /// Whether a larger value can only help.
    fn wants_more(self) -> bool {
        matches!(self, Comparison::Above | Comparison::AtLeast)
    }
}

impl FromStr for Assertion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let at = text.find(['<', '>', '≤', '≥', '=']).ok_or_else(|| {
            "it compares nothing: write METRIC<LIMIT, as in p99<5ms or rate>=1000".to_owned()
        })?;
        let (name, rest) = text.split_at(at);
        let comparisons = [
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("≤", Comparison::AtMost),
            ("≥", Comparison::AtLeast),
            ("<", Comparison::Below),
            (">", Comparison::Above),
        ];
        let (comparison, limit) = comparisons
            .iter()
            .find_map(|&(sign, comparison)| Some((comparison, rest.strip_prefix(sign)?)))
            .ok_or("a measured value never equals another: compare with <, <=, > or >=")?;
        let metric: Metric = name.trim().parse()?;
        Ok(Self {
            text: text.to_owned(),
            metric,
            comparison,
            limit: metric.read_limit(limit.trim())?,
        })
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "rate" => return Ok(Metric::Rate),
            "errors" => return Ok(Metric::Errors),
            "error-rate" => return Ok(Metric::ErrorRate),
            _ => {}
        }
        let (of, point) = match name.split_once('-') {
            Some(("service", point)) => (Of::Service, point),
            Some(("lateness", point)) => (Of::Lateness, point),
            Some(("felt", point)) => (Of::Felt, point),
            _ => (Of::Felt, name),
        };
        let unknown = || format!("{name:?} is nothing that is measured: use {METRICS}");
        let point = match point {
            "max" => Point::Max,
            "mean" => Point::Mean,
            _ => {
                let percent = point.strip_prefix('p').ok_or_else(unknown)?;
                let percent: f64 = percent.parse().map_err(|_| unknown())?;
                if !(0.0 < percent && percent < 100.0) {
                    return Err(format!(
                        "there is no {name}: a percentile lies between 0 and 100, as in p99.9"
                    ));
                }
                Point::Quantile(percent / 100.0)
            }
        };
        Ok(Metric::Latency(of, point))
    }
}

impl Metric {
    fn read_limit(self, text: &str) -> Result<f64, String> {
        let number = |text: &str| {
            let number = text.parse::<f64>().ok();
            number.filter(|number| number.is_finite() && *number >= 0.0)
        };
        match self {
            Metric::Latency(..) => text
                .parse::<Period>()
                .map(|period| period.as_ns() as f64)
                .map_err(|error| error.to_string()),
            Metric::Rate => number(text.trim_end_matches("/s"))
                .ok_or_else(|| format!("{text:?} is no rate: write answers a second, as in 1000")),
            Metric::Errors => number(text)
                .filter(|count| count.fract() == 0.0)
                .ok_or_else(|| format!("{text:?} is no count: for a share write error-rate<0.1%")),
            Metric::ErrorRate => text
                .parse::<Share>()
                .map(|share| share.0)
                .map_err(|error| error.to_string()),
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Metric::Latency(..) => quantity::value(Unit::Nanoseconds, value),
            Metric::Rate => quantity::value(Unit::PerSecond, value),
            Metric::Errors => format!("{value}"),
            Metric::ErrorRate => quantity::percent(value),
        }
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
            metric: Metric::ErrorRate,
            comparison: Comparison::AtMost,
            limit: share.0,
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
        match self.metric {
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
                    Of::Service => (outcome.service(), outcome.service_of_all()),
                    Of::Felt | Of::Lateness => (outcome.felt(), outcome.felt_by_all()),
                };
                vec![
                    of(" of the right answers", right, point),
                    of(" with the errors", all, point),
                ]
            }
            Metric::Latency(Of::Service, point) => vec![of("", outcome.service(), point)],
            Metric::Latency(Of::Felt, point) => vec![of("", outcome.felt(), point)],
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
        match *known {
            Known::Exactly(value) => {
                let shown = format!("it is {}{of}", self.metric.show(value));
                match self.comparison.holds(value, self.limit) {
                    true => (AssertionVerdict::Held, shown),
                    false => (AssertionVerdict::Failed, shown),
                }
            }
            Known::MoreThan(bound) => {
                let shown = format!("it is more than {}{of}", self.metric.show(bound));
                match (bound >= self.limit, self.comparison.wants_more()) {
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
    fn an_assertion_reads_as_it_is_spoken() {
        let p99 = read("p99<5ms");
        assert_eq!(p99.metric, Metric::Latency(Of::Felt, Point::Quantile(0.99)));
        assert_eq!((p99.comparison, p99.limit), (Comparison::Below, 5e6));
        assert_eq!(
            read("service-p99.9 <= 1s").metric,
            Metric::Latency(Of::Service, Point::Quantile(99.9 / 100.0))
        );
        assert_eq!(
            read("lateness-p99<100us").metric,
            Metric::Latency(Of::Lateness, Point::Quantile(0.99))
        );
        assert_eq!(read("rate>=1000/s").limit, 1000.0);
        assert_eq!(read("error-rate<0.1%").limit, 0.001);
        assert_eq!(read("errors<=0").comparison, Comparison::AtMost);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_the_next_step() {
        let said = |text: &str| text.parse::<Assertion>().unwrap_err();
        assert!(said("p99").contains("as in p99<5ms"));
        assert!(said("p99=5ms").contains("<, <=, > or >="));
        assert!(said("p99<5").contains("no unit"));
        assert!(said("p101<5ms").contains("between 0 and 100"));
        assert!(said("latency<5ms").contains("p50 … p99.99"));
        assert!(said("errors<0.1%").contains("error-rate<0.1%"));
        assert!(said("rate>fast").contains("as in 1000"));
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
