//! Counters of a service by method, route or edge.

use std::collections::BTreeMap;

use serving::metrics::{Counter, MetricsPage};

/// A counter family: a metric with one label, whose values are known from the start.
///
/// Counting takes no lock and allocates nothing.
#[derive(Debug)]
pub struct Family {
    metric: &'static str,
    help: &'static str,
    label: &'static str,
    fixed: Vec<(&'static str, String)>,
    counts: BTreeMap<String, Counter>,
}

impl Family {
    /// A family with a counter for each label value.
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
                .map(|value| (value, Counter::default()))
                .collect(),
        }
    }

    /// The same with another label that has a constant value.
    pub fn with(mut self, label: &'static str, value: &str) -> Family {
        self.fixed.push((label, value.to_owned()));
        self
    }

    /// Adds one; unknown label values are ignored.
    pub fn count(&self, value: &str) {
        if let Some(count) = self.counts.get(value) {
            count.count();
        }
    }
}

pub fn page<'a>(families: impl IntoIterator<Item = &'a Family>) -> String {
    let mut page = MetricsPage::default();
    for family in families {
        for (value, count) in &family.counts {
            let own = [(family.label, value.clone())];
            let labels = family.fixed.iter().chain(&own);
            let labels: Vec<_> = labels
                .map(|(label, value)| format!("{label}=\"{value}\""))
                .collect();
            page.counter(family.metric, family.help, &labels.join(","), count);
        }
    }
    page.text()
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
