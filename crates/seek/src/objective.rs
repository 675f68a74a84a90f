//! What a load must keep: `p99 < 5ms, errors < 0.1%`.

use std::fmt;
use std::str::FromStr;

use tare_schema::units::{Period, Share};
use tare_stats::{Latencies, Quantile};

/// Less than this share of the rate answered within the window is not that rate (the bound of [`tare_stats::knee`]).
const REACHED_MIN: f64 = tare_stats::knee::ACHIEVED_SHARE_MIN;

/// Every condition of it must hold; that the rate is reached is always one.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    conditions: Vec<Condition>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Condition {
    metric: Metric,
    /// Nanoseconds, or a share.
    limit: f64,
    edge: Edge,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Metric {
    /// Of the latency felt, all outcomes together.
    Quantile(f64),
    Max,
    Mean,
    /// Share of the exchanges that were not answered rightly.
    Errors,
}

/// Whether the limit itself is within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edge {
    Out,
    In,
}

/// What a try gave.
#[derive(Debug, Clone, Copy)]
pub struct Tried<'a> {
    /// What was felt, over all outcomes.
    pub felt: &'a Latencies,
    /// Exchanges of the window.
    pub exchanges: u64,
    /// Those without a right answer.
    pub wrong: u64,
    /// The rate tried.
    pub asked_per_s: f64,
    /// Answers within the window per second.
    pub answered_per_s: f64,
}

/// A condition that did not hold, in words.
pub type Missed = String;

impl Objective {
    /// The smallest share of the exchanges that a try must be able to show; `None` when any length will do.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let shares = self.conditions.iter().filter_map(|condition| {
            let share = match condition.metric {
                Metric::Quantile(q) => 1.0 - q,
                Metric::Errors => condition.limit,
                Metric::Max | Metric::Mean => return None,
            };
            (share > 0.0).then_some(share)
        });
        shares.min_by(f64::total_cmp)
    }

    /// Every condition that a try missed; none: it was kept.
    #[must_use]
    pub fn missed(&self, tried: &Tried<'_>) -> Vec<Missed> {
        let mut missed: Vec<Missed> = self
            .conditions
            .iter()
            .filter_map(|condition| condition.missed(tried))
            .collect();
        // Written so that what is not a number counts as not reached.
        let is_reached = tried.answered_per_s >= REACHED_MIN * tried.asked_per_s;
        if !is_reached {
            missed.push(format!("only {:.0}/s answered", tried.answered_per_s));
        }
        missed
    }

    /// The figures that decide, of one try.
    #[must_use]
    pub fn figures(&self, tried: &Tried<'_>) -> String {
        let one = |condition: &Condition| {
            let (name, value) = (condition.metric, condition.metric.of(tried));
            format!("{name} {}", condition.metric.words(value))
        };
        let all: Vec<String> = self.conditions.iter().map(one).collect();
        all.join(", ")
    }
}

impl Condition {
    fn missed(&self, tried: &Tried<'_>) -> Option<Missed> {
        let value = self.metric.of(tried);
        let holds = match (value, self.edge) {
            (Value::Exactly(value), Edge::Out) => value < self.limit,
            (Value::Exactly(value), Edge::In) => value <= self.limit,
            // A bound from below, or nothing known: not shown to hold.
            (Value::MoreThan(_) | Value::Unknown, _) => false,
        };
        (!holds).then(|| match value {
            Value::Unknown => format!("too few answers for {}", self.metric),
            _ => format!(
                "{} {} is not {}",
                self.metric,
                self.metric.words(value),
                self.limit_words()
            ),
        })
    }

    fn limit_words(&self) -> String {
        let sign = match self.edge {
            Edge::Out => "<",
            Edge::In => "<=",
        };
        format!("{sign} {}", self.metric.words(Value::Exactly(self.limit)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Exactly(f64),
    MoreThan(f64),
    Unknown,
}

impl From<Quantile> for Value {
    fn from(quantile: Quantile) -> Self {
        match quantile {
            Quantile::Exact(ns) => Value::Exactly(ns as f64),
            Quantile::Above(ns) => Value::MoreThan(ns as f64),
            Quantile::TooFew => Value::Unknown,
        }
    }
}

impl Metric {
    fn of(self, tried: &Tried<'_>) -> Value {
        match self {
            Metric::Quantile(q) => tried.felt.quantile(q).into(),
            Metric::Max => tried.felt.max().map_or(Value::Unknown, Value::from),
            Metric::Mean => tried.felt.mean_ns().map_or(Value::Unknown, Value::Exactly),
            Metric::Errors => match tried.exchanges {
                0 => Value::Unknown,
                all => Value::Exactly(tried.wrong as f64 / all as f64),
            },
        }
    }

    fn words(self, value: Value) -> String {
        let figure = |value: f64| match self {
            Metric::Errors => format!("{} %", rounded(value * 100.0)),
            Metric::Quantile(_) | Metric::Max | Metric::Mean => {
                let (scaled, unit) = match value {
                    ns if ns < 1e3 => (ns, "ns"),
                    ns if ns < 1e6 => (ns / 1e3, "µs"),
                    ns if ns < 1e9 => (ns / 1e6, "ms"),
                    ns => (ns / 1e9, "s"),
                };
                format!("{} {unit}", rounded(scaled))
            }
        };
        match value {
            Value::Exactly(value) => figure(value),
            Value::MoreThan(value) => format!("> {}", figure(value)),
            Value::Unknown => "–".into(),
        }
    }
}

/// To three digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10_f64.powi(2 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::Quantile(q) => write!(f, "p{}", (q * 1e6).round() / 1e4),
            Metric::Max => f.write_str("max"),
            Metric::Mean => f.write_str("mean"),
            Metric::Errors => f.write_str("errors"),
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, condition) in self.conditions.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", condition.metric, condition.limit_words())?;
        }
        Ok(())
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let conditions = text.split(',').map(str::trim).map(condition);
        let conditions = conditions.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { conditions })
    }
}

fn condition(text: &str) -> Result<Condition, String> {
    let Some((name, rest)) = text.split_once('<') else {
        return Err(format!(
            "{text:?} limits nothing: write it as p99 < 5ms or errors < 0.1%"
        ));
    };
    let (edge, limit) = match rest.strip_prefix('=') {
        Some(limit) => (Edge::In, limit.trim()),
        None => (Edge::Out, rest.trim()),
    };
    let metric = metric(name.trim())?;
    let limit = match metric {
        Metric::Errors => limit
            .parse::<Share>()
            .map(|share| share.0)
            .map_err(|error| error.to_string())?,
        Metric::Quantile(_) | Metric::Max | Metric::Mean => limit
            .parse::<Period>()
            .map(|period| period.as_ns() as f64)
            .map_err(|error| error.to_string())?,
    };
    Ok(Condition {
        metric,
        limit,
        edge,
    })
}

fn metric(name: &str) -> Result<Metric, String> {
    match name {
        "max" => return Ok(Metric::Max),
        "mean" => return Ok(Metric::Mean),
        "errors" | "error-rate" => return Ok(Metric::Errors),
        _ => {}
    }
    let percent = name
        .strip_prefix('p')
        .and_then(|digits| digits.parse().ok());
    match percent {
        Some(percent) if 0.0 < percent && percent < 100.0 => Ok(Metric::Quantile(percent / 100.0)),
        _ => Err(format!(
            "{name:?} cannot be limited: use p50 to p99.99, max, mean or errors"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_stats::Range;

    const MS: u64 = 1_000_000;

    /// A thousand answers, ten of them slow.
    fn latencies() -> Latencies {
        let mut felt = Latencies::new(Range::default()).unwrap();
        felt.record_many(MS, 985);
        felt.record_many(9 * MS, 15);
        felt
    }

    fn missed(text: &str, wrong: u64, answered_per_s: f64) -> Vec<String> {
        let tried = Tried {
            felt: &latencies(),
            exchanges: 1000,
            wrong,
            asked_per_s: 100.0,
            answered_per_s,
        };
        text.parse::<Objective>().unwrap().missed(&tried)
    }

    #[test]
    fn every_condition_and_the_rate_itself_must_hold() {
        assert_eq!(missed("p95 < 5ms, errors < 0.5%", 4, 99.5), [""; 0]);
        assert_eq!(missed("p99 < 5ms", 0, 100.0), ["p99 9 ms is not < 5 ms"]);
        assert_eq!(missed("errors<=0.4%", 4, 100.0), [""; 0]);
        assert_eq!(
            missed("errors<0.4%", 4, 100.0),
            ["errors 0.4 % is not < 0.4 %"]
        );
        assert_eq!(missed("mean < 5ms", 0, 98.9), ["only 99/s answered"]);
        assert_eq!(missed("max < 5ms", 0, 100.0).len(), 1);
        assert_eq!(missed("p99 < 5ms", 0, f64::NAN).len(), 2);
    }

    #[test]
    fn too_few_answers_do_not_keep_a_quantile() {
        assert_eq!(
            missed("p99.9 < 1s", 0, 100.0),
            ["too few answers for p99.9"]
        );
    }

    #[test]
    fn the_smallest_share_decides_how_long_a_try_is() {
        let share = |text: &str| text.parse::<Objective>().unwrap().share();
        assert!((share("p50 < 1ms, p99.9 < 2ms").unwrap() - 0.001).abs() < 1e-12);
        assert_eq!(share("errors < 0.01%, p99 < 1s"), Some(0.0001));
        assert_eq!(share("max < 1s, errors <= 0%"), None);
    }

    #[test]
    fn what_is_no_objective_says_how_to_write_one() {
        let wrong = |text: &str| text.parse::<Objective>().unwrap_err();
        assert!(wrong("p99").contains("p99 < 5ms"));
        assert!(wrong("speed < 5ms").contains("\"speed\""));
        assert!(wrong("p100 < 5ms").contains("p50 to p99.99"));
        assert!(wrong("p99 < soon").contains("soon"));
        let good = "p99.9<=5ms , errors < 0.1%".parse::<Objective>().unwrap();
        assert_eq!(good.to_string(), "p99.9 <= 5 ms, errors < 0.1 %");
    }
}
