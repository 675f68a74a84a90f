//! Metrics page of a JMX exporter for Prometheus (jmx_exporter), with its default names and names by rules.

use std::collections::BTreeMap;

use regex::Regex;
use tare_experiment::target::{Bean, ExportDef, value_pattern};
use tare_record::counter::JmxSource;

use super::CounterValue;
use super::prometheus::{Sample, sample};

/// Samples of a page by metric name.
pub(crate) struct ExporterPage<'a> {
    samples: BTreeMap<String, Vec<Sample<'a>>>,
}

/// A metric that may hold an attribute: its name, exactly these labels, and the factor to the attribute's unit.
struct Metric {
    name: String,
    labels: Vec<(String, Regex)>,
    scale: f64,
}

impl<'a> ExporterPage<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<ExporterPage<'a>, String> {
        let mut samples: BTreeMap<String, Vec<Sample<'a>>> = BTreeMap::new();
        for sample in text.lines().filter_map(sample) {
            if sample.value.is_finite() {
                samples
                    .entry(plain(sample.metric))
                    .or_default()
                    .push(sample);
            }
        }
        match samples.is_empty() {
            true => Err("what answers is not a page in the text format of Prometheus: give the path of that page, usually /metrics".to_owned()),
            false => Ok(ExporterPage { samples }),
        }
    }

    /// The values of a source. What is not on the page is unknown, not zero: rules may leave it out.
    pub(crate) fn find(
        &self,
        from: &JmxSource,
        rules: &[ExportDef],
    ) -> Result<Vec<CounterValue>, String> {
        let mut all = Vec::new();
        for (choice, bean) in Bean::parse(&from.bean)?.spelled() {
            let values = self.values(&bean, &from.attribute, rules)?;
            let factors = match &from.multiply_by {
                None => None,
                Some(factor) => Some(self.values(&bean, factor, rules)?),
            };
            for (label, value) in values {
                let factor = match &factors {
                    None => Some(1.0),
                    Some(factors) => factors.get(&label).copied(),
                };
                all.extend(factor.map(|factor| CounterValue {
                    edge: None,
                    label: choice.clone().or(label),
                    value: value * factor,
                }));
            }
        }
        Ok(all)
    }

    /// Values by label, from the first candidate metric that is on the page.
    fn values(
        &self,
        bean: &Bean,
        attribute: &str,
        rules: &[ExportDef],
    ) -> Result<BTreeMap<Option<String>, f64>, String> {
        let mut found: BTreeMap<Option<String>, f64> = BTreeMap::new();
        for metric in metrics(bean, attribute, rules)? {
            for sample in self.samples.get(&metric.name).into_iter().flatten() {
                if let Some(label) = metric.label(sample) {
                    *found.entry(label).or_default() += sample.value * metric.scale;
                }
            }
            if !found.is_empty() {
                break;
            }
        }
        Ok(found)
    }
}

impl Metric {
    /// The label of a sample, if it has one; `None`: the sample does not match.
    fn label(&self, sample: &Sample<'_>) -> Option<Option<String>> {
        // The exporter tells apart samples of equal names by such labels (`_objectname`).
        let theirs = sample
            .labels
            .iter()
            .filter(|(name, _)| !name.starts_with('_'));
        let theirs: Vec<_> = theirs.collect();
        if theirs.len() != self.labels.len() {
            return None;
        }
        let mut label = None;
        for (name, pattern) in &self.labels {
            let same = |(theirs, _): &&(&&str, &String)| theirs.eq_ignore_ascii_case(name);
            let (_, text) = theirs.iter().find(same)?;
            if let Some(part) = pattern.captures(text)?.name("label") {
                label = Some(part.as_str().to_owned());
            }
        }
        Some(label)
    }
}

/// Candidate metrics of an attribute, in order.
fn metrics(bean: &Bean, attribute: &str, rules: &[ExportDef]) -> Result<Vec<Metric>, String> {
    let mut all = Vec::new();
    // Default name: domain, value of the first property, attribute; the other properties are labels.
    if let Some(((_, first), others)) = bean.properties.split_first()
        && !first.contains(['*', '<'])
    {
        let name = format!("{}_{first}_{attribute}", bean.domain);
        all.push(Metric {
            name: plain(&safe(&name)),
            labels: labels(others, &BTreeMap::new())?,
            scale: 1.0,
        });
    }
    let text = bean.to_string();
    for rule in rules.iter().filter(|rule| rule.attribute == attribute) {
        let regex = Regex::new(&rule.bean).map_err(|error| format!("`{}`: {error}", rule.bean))?;
        let Some(found) = regex.captures(&text) else {
            continue;
        };
        let whole = found.get_match();
        let Some(others) = after(bean, whole.end()).filter(|_| whole.start() == 0) else {
            continue;
        };
        let mut name = String::new();
        found.expand(&rule.metric, &mut name);
        let mut labels = labels(others, &rule.labels)?;
        for (name, value) in &rule.only {
            let value = Regex::new(&format!(r"\A{}\z", regex::escape(value)));
            labels.push((name.clone(), value.map_err(|error| error.to_string())?));
        }
        all.push(Metric {
            name: plain(&name),
            labels,
            scale: rule.scale,
        });
    }
    Ok(all)
}

/// The properties of a bean after the first `bytes` bytes of its name, if a property ends there.
fn after(bean: &Bean, bytes: usize) -> Option<&[(String, String)]> {
    let mut end = bean.domain.len() + 1;
    for (at, (key, value)) in bean.properties.iter().enumerate() {
        end += usize::from(at > 0) + key.len() + 1 + value.len();
        if end == bytes {
            return bean.properties.get(at + 1..);
        }
    }
    None
}

fn labels(
    properties: &[(String, String)],
    names: &BTreeMap<String, String>,
) -> Result<Vec<(String, Regex)>, String> {
    let label = |(key, value): &(String, String)| {
        let name = names.get(key).unwrap_or(key);
        let pattern = value_pattern(value).map_err(|error| error.to_string())?;
        Ok((safe(name), pattern))
    };
    properties.iter().map(label).collect()
}

/// Replaces characters that a metric name cannot have, as the exporter does.
fn safe(text: &str) -> String {
    let mut name = String::new();
    for letter in text.chars() {
        match letter.is_ascii_alphanumeric() {
            true => name.push(letter),
            false if name.ends_with('_') => {}
            false => name.push('_'),
        }
    }
    name
}

/// Normal form of a metric name, whatever the exporter's settings: lower case, without `_total`.
fn plain(metric: &str) -> String {
    let mut name = metric.to_ascii_lowercase();
    if name.ends_with("_total") {
        name.truncate(name.len() - "_total".len());
    }
    name
}

#[cfg(test)]
mod tests;
