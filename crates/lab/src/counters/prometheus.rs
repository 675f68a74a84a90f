//! Parser of the Prometheus text format, as far as counters need it; other lines are skipped.

use std::collections::BTreeMap;

use tare_record::counter::PrometheusSource;

use super::CounterValue;
use super::jmx::unquoted;

/// One sample line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample<'a> {
    pub(super) metric: &'a str,
    /// Labels with escapes undone.
    pub(super) labels: BTreeMap<&'a str, String>,
    pub(super) value: f64,
}

/// Sums of a source's samples by edge and label.
pub(super) fn find(text: &str, from: &PrometheusSource) -> Vec<CounterValue> {
    let mut sums: BTreeMap<(Option<String>, Option<String>), f64> = BTreeMap::new();
    let lines = text.lines().filter(|line| line.starts_with(&from.metric));
    for sample in lines.filter_map(sample) {
        let wanted = |(name, value): (&String, &String)| {
            sample
                .labels
                .get(name.as_str())
                .is_some_and(|found| found == value)
        };
        if sample.metric != from.metric
            || !from.only.iter().all(wanted)
            || !sample.value.is_finite()
        {
            continue;
        }
        let label = |name: &Option<String>| match name {
            // An empty label is the same as none (Prometheus' data model).
            Some(name) => {
                let found = sample.labels.get(name.as_str());
                found.filter(|value| !value.is_empty()).cloned().map(Some)
            }
            None => Some(None),
        };
        // A sample without the label of the edge belongs to something else.
        if let (Some(edge), Some(kept)) = (label(&from.edge), label(&from.label)) {
            let kept = kept.or_else(|| from.fixed_label.clone());
            *sums.entry((edge, kept)).or_default() += sample.value;
        }
    }
    sums.into_iter()
        .map(|((edge, label), value)| CounterValue { edge, label, value })
        .collect()
}

/// Parses `name{label="value",…} value [timestamp]`; anything else, comments too, is `None`.
pub(super) fn sample(line: &str) -> Option<Sample<'_>> {
    let line = line.trim();
    let end = line.find(|c: char| c == '{' || c.is_ascii_whitespace())?;
    let (metric, rest) = line.split_at(end);
    if metric.is_empty() || metric.starts_with('#') {
        return None;
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (BTreeMap::new(), rest),
    };
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Sample {
        metric,
        labels,
        value,
    })
}

/// Labels up to the closing brace, and what follows it.
fn labels(mut rest: &str) -> Option<(BTreeMap<&str, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, after) = rest.split_once('=')?;
        let (value, after) = unquoted(after.strip_prefix('"')?)?;
        labels.insert(name.trim(), value);
        rest = after;
    }
}
