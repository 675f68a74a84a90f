//! The objective of a search: `p99 < 5ms, errors < 0.1%`.

use std::fmt;
use std::str::FromStr;

use tare_stats::{Latencies, Quantile};

use crate::condition::{Condition, LoadMetric, Statistic, TimeKind};

/// The smallest share of the rate that must be answered within the window (the bound of [`tare_stats::knee`]).
const REACHED_MIN: f64 = tare_stats::knee::ACHIEVED_SHARE_MIN;

/// A list of conditions that must all hold; the rate must be achieved, too.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    conditions: Vec<Condition>,
}

/// Whether a probe must be long enough to show an error rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorsShown {
    /// It must: the answer depends on this probe.
    Yes,
    /// It need not: the probe only narrows the range.
    No,
}

/// Ratio of the ten observations that a quantile needs to the three of the rule of three.
const QUANTILE_OVER_RULE_OF_THREE: f64 = 10.0 / 3.0;

/// The result of a probe.
#[derive(Debug, Clone, Copy)]
pub struct ProbeMetrics<'a> {
    /// Latencies over all outcomes.
    pub latency: &'a Latencies,
    /// Latencies of successful exchanges: fast errors must not improve a tail.
    pub latency_ok: &'a Latencies,
    /// Number of exchanges in the window.
    pub exchanges: u64,
    /// Number of those that failed.
    pub wrong: u64,
    /// The offered rate.
    pub offered_per_s: f64,
    /// Successful exchanges per second within the window.
    pub ok_per_s: f64,
    /// Failed exchanges per second within the window.
    pub wrong_per_s: f64,
}

/// A condition that failed, as text.
pub type Missed = String;

impl Objective {
    /// The smallest share of the exchanges that a probe must be long enough to show; `None`: any length will do. An error rate
    /// counts only with [`ErrorsShown::Yes`]: none of `3/limit` exchanges may fail (the rule of three, 95 %).
    #[must_use]
    pub fn share(&self, errors: ErrorsShown) -> Option<f64> {
        let shares = self.conditions.iter().filter_map(|condition| {
            let share = match (condition.metric, errors) {
                (LoadMetric::Latency(_, Statistic::Quantile(q)), _) => 1.0 - q,
                (LoadMetric::ErrorRate, ErrorsShown::Yes) => {
                    condition.limit * QUANTILE_OVER_RULE_OF_THREE
                }
                _ => return None,
            };
            (share > 0.0).then_some(share)
        });
        shares.min_by(f64::total_cmp)
    }

    /// Tail conditions: a latency in ns, and the share of the exchanges that may exceed it.
    pub fn tails(&self) -> impl Iterator<Item = (f64, f64)> {
        self.conditions
            .iter()
            .filter_map(|condition| match condition.metric {
                LoadMetric::Latency(_, Statistic::Quantile(q)) => Some((condition.limit, 1.0 - q)),
                LoadMetric::Latency(_, Statistic::Max) => Some((condition.limit, 0.0)),
                _ => None,
            })
    }

    /// Whether errors have a limit of their own; else they do not count towards the achieved rate.
    fn limits_errors(&self) -> bool {
        let is_error = |condition: &Condition| {
            matches!(condition.metric, LoadMetric::Errors | LoadMetric::ErrorRate)
        };
        self.conditions.iter().any(is_error)
    }

    /// The conditions that a probe failed; empty: it meets the objective.
    #[must_use]
    pub fn missed(&self, tried: &ProbeMetrics<'_>) -> Vec<Missed> {
        let mut missed: Vec<Missed> = self
            .conditions
            .iter()
            .filter_map(|condition| missed(condition, tried))
            .collect();
        // Written so that NaN counts as not achieved.
        let (achieved_per_s, how) = match self.limits_errors() {
            true => (tried.ok_per_s + tried.wrong_per_s, ""),
            false => (tried.ok_per_s, " successfully"),
        };
        let is_reached = achieved_per_s >= REACHED_MIN * tried.offered_per_s;
        if !is_reached {
            missed.push(format!("only {}/s answered{how}", rounded(achieved_per_s)));
        }
        missed
    }

    /// The values of the conditions' metrics in one probe, as text.
    #[must_use]
    pub fn figures(&self, tried: &ProbeMetrics<'_>) -> String {
        let one = |condition: &Condition| {
            let metric = condition.metric;
            format!("{metric} {}", format_value(metric, worst(metric, tried)))
        };
        let all: Vec<String> = self.conditions.iter().map(one).collect();
        all.join(", ")
    }
}

fn missed(condition: &Condition, tried: &ProbeMetrics<'_>) -> Option<Missed> {
    let metric = condition.metric;
    let value = worst(metric, tried);
    let holds = match value {
        Value::Exactly(value) => condition.comparison.holds(value, condition.limit),
        // A lower bound or an unknown value does not show that the condition holds.
        Value::MoreThan(_) | Value::Unknown => false,
    };
    (!holds).then(|| match value {
        Value::Unknown => format!("too few answers for {metric}"),
        _ => format!(
            "{metric} {} is not {}",
            format_value(metric, value),
            format_limit(condition)
        ),
    })
}

fn format_limit(condition: &Condition) -> String {
    let limit = format_value(condition.metric, Value::Exactly(condition.limit));
    format!("{} {limit}", condition.comparison)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Exactly(f64),
    MoreThan(f64),
    Unknown,
}

impl Value {
    /// Orders values by severity: the larger is the worse.
    fn severity(self) -> f64 {
        match self {
            Value::Exactly(value) | Value::MoreThan(value) => value,
            Value::Unknown => f64::INFINITY,
        }
    }
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

/// The worse of two statistics: over successful exchanges only, and over all. Fast errors must not improve a tail, and slow
/// errors must count.
fn worst(metric: LoadMetric, tried: &ProbeMetrics<'_>) -> Value {
    let of = |point, latency: &Latencies| match point {
        Statistic::Quantile(q) => latency.quantile(q).into(),
        Statistic::Max => latency.max().map_or(Value::Unknown, Value::from),
        Statistic::Mean => latency.mean_ns().map_or(Value::Unknown, Value::Exactly),
    };
    match metric {
        LoadMetric::Latency(_, point) if tried.wrong == 0 => of(point, tried.latency),
        LoadMetric::Latency(_, point) => {
            let (all, ok) = (of(point, tried.latency), of(point, tried.latency_ok));
            match all.severity() >= ok.severity() {
                true => all,
                false => ok,
            }
        }
        LoadMetric::Rate => Value::Exactly(tried.ok_per_s),
        LoadMetric::Errors => Value::Exactly(tried.wrong as f64),
        LoadMetric::ErrorRate => match tried.exchanges {
            0 => Value::Unknown,
            all => Value::Exactly(tried.wrong as f64 / all as f64),
        },
    }
}

fn format_value(metric: LoadMetric, value: Value) -> String {
    let figure = |value: f64| match metric {
        LoadMetric::ErrorRate => format!("{} %", rounded(value * 100.0)),
        LoadMetric::Errors => format!("{value}"),
        LoadMetric::Rate => format!("{}/s", rounded(value)),
        LoadMetric::Latency(..) => time(value),
    };
    match value {
        Value::Exactly(value) => figure(value),
        Value::MoreThan(value) => format!("> {}", figure(value)),
        Value::Unknown => "–".into(),
    }
}

/// A latency with its unit, to three significant digits.
pub(crate) fn time(ns: f64) -> String {
    let (scaled, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", rounded(scaled))
}

/// Rounds to three significant digits.
fn rounded(value: f64) -> f64 {
    significant(value, 3)
}

/// Rounds to this many significant digits.
pub(crate) fn significant(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // Factors above 1 only: they are exact.
    let shift = digits - 1 - value.abs().log10().floor() as i32;
    let scale = 10_f64.powi(shift.abs());
    match shift >= 0 {
        true => (value * scale).round() / scale,
        false => (value / scale).round() * scale,
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, condition) in self.conditions.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", condition.metric, format_limit(condition))?;
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

/// Parses a condition; only those that more load can only make worse are allowed.
fn condition(text: &str) -> Result<Condition, String> {
    let read: Condition = text.parse().map_err(|error| format!("{text:?}: {error}"))?;
    match read.metric {
        LoadMetric::Rate => Err("the rate is what is searched for: limit it by --max-rate".into()),
        LoadMetric::Latency(TimeKind::Response | TimeKind::Service | TimeKind::Lateness, _) => {
            Err(format!(
                "{text:?}: a search limits latencies, or else a queue would not count: write p99 < 5ms"
            ))
        }
        _ if read.comparison.wants_more() => Err(format!(
            "{text:?}: a search limits from above: write p99 < 5ms or errors < 0.1%"
        )),
        LoadMetric::Latency(TimeKind::Latency, _) | LoadMetric::Errors | LoadMetric::ErrorRate => {
            Ok(read)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_stats::Range;

    const MS: u64 = 1_000_000;

    /// A thousand answers, ten of them slow.
    fn latencies() -> Latencies {
        let mut latency = Latencies::new(Range::default()).unwrap();
        latency.record_many(MS, 985);
        latency.record_many(9 * MS, 15);
        latency
    }

    fn missed(text: &str, wrong: u64, achieved_per_s: f64) -> Vec<String> {
        let tried = ProbeMetrics {
            latency: &latencies(),
            latency_ok: &latencies(),
            exchanges: 1000,
            wrong,
            offered_per_s: 100.0,
            ok_per_s: achieved_per_s,
            wrong_per_s: 0.0,
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
        assert_eq!(
            missed("mean < 5ms", 0, 98.9),
            ["only 98.9/s answered successfully"]
        );
        assert_eq!(missed("max < 5ms", 0, 100.0).len(), 1);
        assert_eq!(missed("p99 < 5ms", 0, f64::NAN).len(), 2);
    }

    #[test]
    fn fast_errors_neither_flatter_a_tail_nor_count_as_the_rate() {
        let (mut fast, mut slow) = (latencies(), latencies());
        fast.record_many(MS / 10, 100_000);
        slow.record_many(50 * MS, 1000);
        let tried = ProbeMetrics {
            latency: &fast,
            latency_ok: &slow,
            exchanges: 102_000,
            wrong: 100_000,
            offered_per_s: 100.0,
            ok_per_s: 2.0,
            wrong_per_s: 98.0,
        };
        let missed = |text: &str| text.parse::<Objective>().unwrap().missed(&tried);
        assert_eq!(missed("p99 < 100ms"), ["only 2/s answered successfully"]);
        assert_eq!(missed("p90 < 5ms, errors < 100%").len(), 1);
        assert_eq!(missed("p90 < 100ms, errors < 100%"), [""; 0]);
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
        let share = |text: &str, errors| text.parse::<Objective>().unwrap().share(errors);
        let p999 = share("p50 < 1ms, p99.9 < 2ms", ErrorsShown::Yes).unwrap();
        assert!((p999 - 0.001).abs() < 1e-12);
        let both = "errors < 0.03%, p99 < 1s";
        assert!((share(both, ErrorsShown::Yes).unwrap() - 0.001).abs() < 1e-12);
        assert!((share(both, ErrorsShown::No).unwrap() - 0.01).abs() < 1e-12);
        assert_eq!(share("max < 1s, errors <= 0%", ErrorsShown::Yes), None);
    }

    #[test]
    fn what_is_no_objective_says_how_to_write_one() {
        let wrong = |text: &str| text.parse::<Objective>().unwrap_err();
        assert!(wrong("p99").contains("p99<5ms"));
        assert!(wrong("speed < 5ms").contains("\"speed\""));
        assert!(wrong("p100 < 5ms").contains("between 0 and 100"));
        assert!(wrong("p99 < soon").contains("soon"));
        assert!(wrong("p99 > 5ms").contains("from above"));
        assert!(wrong("rate >= 100").contains("--max-rate"));
        assert!(wrong("service-p99 < 5ms").contains("limits latencies"));
        let good = "p99.9<=5ms , errors < 0.1%".parse::<Objective>().unwrap();
        assert_eq!(good.to_string(), "p99.9 <= 5 ms, errors < 0.1 %");
    }
}
