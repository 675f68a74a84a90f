//! The page of a Prometheus exporter of management beans (jmx_exporter), by the names that it gives itself and by those of rules.

use std::collections::BTreeMap;

use regex::Regex;
use tare_schema::target::{Bean, ExportDef, JmxSource, value_pattern};

use super::Found;
use super::prometheus::{Sample, sample};

/// A page, by metric.
pub(crate) struct Exported<'a> {
    samples: BTreeMap<String, Vec<Sample<'a>>>,
}

/// A metric that may hold an attribute: its name, the labels it has and no others, and the factor to the attribute's unit.
struct Metric {
    name: String,
    labels: Vec<(String, Regex)>,
    scale: f64,
}

impl<'a> Exported<'a> {
    /// Reads a page.
    pub(crate) fn parse(text: &'a str) -> Result<Exported<'a>, String> {
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
            true => Err("what answers is no page in the text format of Prometheus: give the path of that page, usually /metrics".to_owned()),
            false => Ok(Exported { samples }),
        }
    }

    /// The numbers that a source asks for. What is not on the page is not known: rules leave out what they like.
    pub(crate) fn find(&self, from: &JmxSource, rules: &[ExportDef]) -> Result<Vec<Found>, String> {
        let mut all = Vec::new();
        for (choice, bean) in Bean::parse(&from.bean)?.spelled() {
            let values = self.values(&bean, &from.attribute, rules)?;
            let factors = match &from.times {
                None => None,
                Some(times) => Some(self.values(&bean, times, rules)?),
            };
            for (label, value) in values {
                let factor = match &factors {
                    None => Some(1.0),
                    Some(factors) => factors.get(&label).copied(),
                };
                all.extend(factor.map(|factor| Found {
                    edge: None,
                    label: choice.clone().or(label),
                    value: value * factor,
                }));
            }
        }
        Ok(all)
    }

    /// By label, from the first metric of those it may be that is there.
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
    /// `None`: it is a sample of something else. Its label, where there is one.
    fn label(&self, sample: &Sample<'_>) -> Option<Option<String>> {
        // The exporter marks what would be the same otherwise (`_objectname`).
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

/// What an attribute may be called, in order.
fn metrics(bean: &Bean, attribute: &str, rules: &[ExportDef]) -> Result<Vec<Metric>, String> {
    let mut all = Vec::new();
    // Its own: the domain, the first property's value, the attribute; the other properties are labels.
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

/// The properties after the first so many bytes of a bean's name, where one ends there.
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

/// Without letters that a metric cannot have, as the exporter does it.
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

/// The name whatever an exporter is set to: small letters or not, with the ending of counters or without.
fn plain(metric: &str) -> String {
    let mut name = metric.to_ascii_lowercase();
    if name.ends_with("_total") {
        name.truncate(name.len() - "_total".len());
    }
    name
}

#[cfg(test)]
mod tests;
