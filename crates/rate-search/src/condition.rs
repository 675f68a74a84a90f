//! One condition on a load, `p99 < 5ms`: metric, comparison and limit.

use std::fmt;
use std::str::FromStr;

pub use tare_record::plan::Comparator;
use tare_record::units::{Period, Share};

/// The names of metrics, for hints.
const METRICS: &str = "p50 … p99.99, max, mean, each also as response-p50 …, service-p50 … and lateness-p99, rate, errors, error-rate";

/// A limit on a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    pub metric: LoadMetric,
    pub comparison: Comparator,
    /// The limit: nanoseconds, answers per second, a count, or a share.
    pub limit: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoadMetric {
    /// A latency in ns.
    Latency(TimeKind, Statistic),
    /// Answers per second within the window.
    Rate,
    /// Failed exchanges.
    Errors,
    /// Share of the exchanges that failed.
    ErrorRate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeKind {
    /// Latency, from the release.
    Latency,
    /// Response time, from the intended start.
    Response,
    /// Service time, from sending.
    Service,
    /// Lateness of the generator.
    Lateness,
}

/// A statistic of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// A quantile from 0 to 1.
    Quantile(f64),
    /// The largest.
    Max,
    Mean,
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, comparison, limit) =
            Comparator::split(text).ok_or_else(|| match text.contains('=') {
                true => "a measured value never equals another: compare with <, <=, > or >=",
                false => "it compares nothing: write METRIC<LIMIT, as in p99<5ms or rate>=1000",
            })?;
        let metric = match name.parse()? {
            // With a percent sign a share, else a count.
            LoadMetric::Errors if limit.ends_with('%') => LoadMetric::ErrorRate,
            metric => metric,
        };
        Ok(Self {
            metric,
            comparison,
            limit: metric.read_limit(limit)?,
        })
    }
}

impl FromStr for LoadMetric {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "rate" => return Ok(LoadMetric::Rate),
            "errors" => return Ok(LoadMetric::Errors),
            "error-rate" => return Ok(LoadMetric::ErrorRate),
            _ => {}
        }
        let (of, point) = match name.split_once('-') {
            Some(("response", point)) => (TimeKind::Response, point),
            Some(("service", point)) => (TimeKind::Service, point),
            Some(("lateness", point)) => (TimeKind::Lateness, point),
            Some(("latency", point)) => (TimeKind::Latency, point),
            _ => (TimeKind::Latency, name),
        };
        let unknown = || format!("{name:?} is nothing that is measured: use {METRICS}");
        let point = match point {
            "max" => Statistic::Max,
            "mean" => Statistic::Mean,
            _ => {
                let percent = point.strip_prefix('p').ok_or_else(unknown)?;
                let percent: f64 = percent.parse().map_err(|_| unknown())?;
                if !(0.0 < percent && percent < 100.0) {
                    return Err(format!(
                        "there is no {name}: a percentile lies between 0 and 100, as in p99.9"
                    ));
                }
                Statistic::Quantile(percent / 100.0)
            }
        };
        Ok(LoadMetric::Latency(of, point))
    }
}

impl LoadMetric {
    fn read_limit(self, text: &str) -> Result<f64, String> {
        let number = |text: &str| {
            let number = text.parse::<f64>().ok();
            number.filter(|number| number.is_finite() && *number >= 0.0)
        };
        match self {
            LoadMetric::Latency(..) => text
                .parse::<Period>()
                .map(|period| period.as_ns() as f64)
                .map_err(|error| error.to_string()),
            LoadMetric::Rate => number(text.trim_end_matches("/s")).ok_or_else(|| {
                format!("invalid rate {text:?}: write answers a second, as in 1000")
            }),
            LoadMetric::Errors => number(text)
                .filter(|count| count.fract() == 0.0)
                .ok_or_else(|| {
                    format!(
                        "{text:?} is neither a count nor a share: write errors<10 or errors<0.1%"
                    )
                }),
            LoadMetric::ErrorRate => text
                .parse::<Share>()
                .map(|share| share.0)
                .map_err(|error| error.to_string()),
        }
    }
}

impl fmt::Display for LoadMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (of, point) = match self {
            LoadMetric::Rate => return f.write_str("rate"),
            LoadMetric::Errors | LoadMetric::ErrorRate => return f.write_str("errors"),
            LoadMetric::Latency(of, point) => (of, point),
        };
        f.write_str(match of {
            TimeKind::Latency => "",
            TimeKind::Response => "response-",
            TimeKind::Service => "service-",
            TimeKind::Lateness => "lateness-",
        })?;
        match point {
            Statistic::Quantile(q) => write!(f, "p{}", (q * 1e6).round() / 1e4),
            Statistic::Max => f.write_str("max"),
            Statistic::Mean => f.write_str("mean"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Condition {
        text.parse().unwrap()
    }

    #[test]
    fn a_condition_reads_as_it_is_spoken() {
        let p99 = read("p99<5ms");
        assert_eq!(
            p99.metric,
            LoadMetric::Latency(TimeKind::Latency, Statistic::Quantile(0.99))
        );
        assert_eq!((p99.comparison, p99.limit), (Comparator::Below, 5e6));
        assert_eq!(
            read("service-p99.9 <= 1s").metric,
            LoadMetric::Latency(TimeKind::Service, Statistic::Quantile(99.9 / 100.0))
        );
        assert_eq!(
            read("lateness-p99<100us").metric,
            LoadMetric::Latency(TimeKind::Lateness, Statistic::Quantile(0.99))
        );
        assert_eq!(read("rate>=1000/s").limit, 1000.0);
        assert_eq!(read("error-rate<0.1%").limit, 0.001);
        assert_eq!(read("errors<=0").comparison, Comparator::AtMost);
    }

    #[test]
    fn errors_are_a_share_with_a_per_cent_sign_and_a_count_without() {
        assert_eq!(read("errors < 0.1%"), read("error-rate < 0.1%"));
        assert_eq!(read("errors < 3").metric, LoadMetric::Errors);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_the_next_step() {
        let said = |text: &str| text.parse::<Condition>().unwrap_err();
        assert!(said("p99").contains("as in p99<5ms"));
        assert!(said("p99=5ms").contains("<, <=, > or >="));
        assert!(said("p99<5").contains("no unit"));
        assert!(said("p101<5ms").contains("between 0 and 100"));
        assert!(said("latency<5ms").contains("p50 … p99.99"));
        assert!(said("errors<0.1").contains("errors<0.1%"));
        assert!(said("rate>fast").contains("as in 1000"));
    }
}
