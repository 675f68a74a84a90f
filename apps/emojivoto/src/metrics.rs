//! Counters of a service, and their page in the Prometheus text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter family: a metric with one label, whose values are known from the start.
///
/// Counting takes no lock and allocates nothing.
#[derive(Debug)]
pub struct Family {
    metric: &'static str,
    help: &'static str,
    label: &'static str,
    fixed: Vec<(&'static str, String)>,
    counts: BTreeMap<String, AtomicU64>,
}

impl Family {
    /// A family with a counter for each label value.
    #[must_use]
    pub fn new(
        metric: &'static str,
        help: &'static str,
        label: &'static str,
        values: impl IntoIterator<Item = String>,
    ) -> Family {
        Family {
            metric,
            help,
            label,
            fixed: Vec::new(),
            counts: values
                .into_iter()
                .map(|value| (value, AtomicU64::new(0)))
                .collect(),
        }
    }

    /// The same with another label that has a constant value.
    #[must_use]
    pub fn with(mut self, label: &'static str, value: &str) -> Family {
        self.fixed.push((label, value.to_owned()));
        self
    }

    /// Adds one; unknown label values are ignored.
    pub fn count(&self, value: &str) {
        if let Some(count) = self.counts.get(value) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The page: families of one metric are grouped, each metric with one description.
#[must_use]
pub fn page<'a>(families: impl IntoIterator<Item = &'a Family>) -> String {
    let mut metrics: BTreeMap<&str, Vec<&Family>> = BTreeMap::new();
    for family in families {
        metrics.entry(family.metric).or_default().push(family);
    }
    let mut page = String::new();
    for (metric, families) in metrics {
        let help = families.first().map_or("", |family| family.help);
        // Writing to a string cannot fail.
        let _ = writeln!(page, "# HELP {metric} {help}\n# TYPE {metric} counter");
        for family in families {
            for (value, count) in &family.counts {
                let mut labels = String::new();
                for (label, value) in &family.fixed {
                    let _ = write!(labels, "{label}=\"{value}\",");
                }
                let _ = write!(labels, "{}=\"{value}\"", family.label);
                let count = count.load(Ordering::Relaxed);
                let _ = writeln!(page, "{metric}{{{labels}}} {count}");
            }
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_counter_from_the_start_and_each_description_once() {
        let calls = |edge| {
            Family::new(
                "calls_total",
                "Calls made.",
                "method",
                [String::from("Find")],
            )
            .with("edge", edge)
        };
        let (emoji, voting) = (calls("a__b"), calls("a__c"));
        emoji.count("Find");
        emoji.count("Find");
        emoji.count("nobody knows this one");
        let expected = "# HELP calls_total Calls made.\n# TYPE calls_total counter\n\
            calls_total{edge=\"a__b\",method=\"Find\"} 2\n\
            calls_total{edge=\"a__c\",method=\"Find\"} 0\n";
        assert_eq!(page([&emoji, &voting]), expected);
    }
}
