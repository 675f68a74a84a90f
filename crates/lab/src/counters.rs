//! Reads the counters of an instance: Prometheus text, JSON, JMX beans, other text, logs or the output of a command.

mod exporter;
mod jmx;
mod log;
mod prometheus;

use std::collections::BTreeMap;
use std::time::Duration;

use regex::Regex;
use tare_record::counter::{
    CommandSource, CounterKind, CounterReading, CounterSource, IfAbsent, JmxSource, JsonSource,
    PrometheusSource,
};
use tare_record::external::{CPU_SECONDS, MEMORY_BYTES};

use crate::LabError;
use crate::connector::Connector;
use crate::environment::{HttpResponse, InstanceCounters};
use crate::http::{self, RequestOptions};
use crate::render::{Beans, Counter, Login, Rendered};

pub(crate) use exporter::ExporterPage;
pub use jmx::BeanQuery;
pub(crate) use jmx::{BeanValues, bean_queries, bulk_request};

/// Timeout of one page or command.
const LIMIT: Duration = Duration::from_secs(5);

/// Reads the counters of one instance during its lifetime.
///
/// It counts its own reads of each page, because some software counts them as requests.
#[derive(Debug)]
pub struct CounterReader {
    instance: String,
    edges: BTreeMap<String, String>,
    counters: Vec<Counter>,
    beans: Option<Beans>,
    own_readings: BTreeMap<String, u32>,
    connector: Connector,
    login: Option<Login>,
}

/// The values of one source.
type Found = Result<Vec<CounterValue>, String>;

/// A value found at a source, before it gets the name of its counter.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct CounterValue {
    edge: Option<String>,
    label: Option<String>,
    value: f64,
}

impl CounterReader {
    /// A reader for an instance that has just been started.
    #[must_use]
    pub fn new(rendered: &Rendered, connector: Connector) -> CounterReader {
        CounterReader {
            instance: rendered.instance.clone(),
            edges: rendered.edges.iter().cloned().collect(),
            counters: rendered.counters.clone(),
            beans: rendered.beans.clone(),
            own_readings: BTreeMap::new(),
            connector,
            login: Some(rendered.login.clone()),
        }
    }

    /// A reader of HTTP pages of an external part, reachable from this host; `edges` maps ids to names.
    pub(crate) fn of_pages(
        instance: &str,
        (edges, connector): (BTreeMap<String, String>, Connector),
        counters: Vec<Counter>,
    ) -> CounterReader {
        CounterReader {
            instance: instance.to_owned(),
            edges,
            counters,
            beans: None,
            own_readings: BTreeMap::new(),
            connector,
            login: None,
        }
    }

    /// A reader of the CPU time and the memory of a process, from its page of Prometheus' client library.
    pub(crate) fn of_process(instance: &str, url: &str, connector: Connector) -> CounterReader {
        let counter = |name: &str, metric: &str, kind: CounterKind| Counter {
            name: name.to_owned(),
            edge: None,
            source: CounterSource::Prometheus(PrometheusSource::of_metric(url, metric)),
            scale: 1.0,
            kind,
        };
        let counters = vec![
            counter(
                CPU_SECONDS,
                "process_cpu_seconds_total",
                CounterKind::Counter,
            ),
            counter(
                MEMORY_BYTES,
                "process_resident_memory_bytes",
                CounterKind::Gauge,
            ),
        ];
        CounterReader::of_pages(instance, (BTreeMap::new(), connector), counters)
    }

    /// Reads all counters; each page is fetched once.
    ///
    /// # Errors
    /// The counter that could not be read, and why.
    pub fn read(&mut self) -> Result<InstanceCounters, LabError> {
        let (connector, login) = (&self.connector, self.login.as_ref());
        let mut pages: BTreeMap<String, Result<String, String>> = BTreeMap::new();
        let mut page = |url: &str, is_self_counted: bool, parse: &dyn Fn(&str) -> Found| -> Found {
            let text = pages.entry(url.to_owned()).or_insert_with(|| {
                *self.own_readings.entry(url.to_owned()).or_default() += 1;
                let json_body = None;
                fetch(connector, url, RequestOptions { json_body, login })
            });
            let own = match is_self_counted {
                false => 0,
                true => self.own_readings.get(url).copied().unwrap_or(0),
            };
            let mut found = parse(text.as_ref().map_err(Clone::clone)?)?;
            for found in &mut found {
                found.value -= f64::from(own);
            }
            Ok(found)
        };
        let mut beans: Option<Result<BeanValues, String>> = None;
        let mut all = Vec::new();
        for counter in &self.counters {
            let found = match &counter.source {
                CounterSource::Prometheus(from) => page(&from.url, from.self_counted, &|text| {
                    Ok(prometheus::find(text, from))
                }),
                CounterSource::Json(from) => page(&from.url, from.self_counted, &|text| {
                    json_number(text, from)
                }),
                CounterSource::Text(from) => page(&from.url, from.self_counted, &|text| {
                    by_pattern(text, &from.pattern)
                }),
                CounterSource::Jmx(from) => {
                    let values = beans.get_or_insert_with(|| match &self.beans {
                        Some(queries) => read_beans(connector, queries, login),
                        None => Ok(BeanValues::default()),
                    });
                    let values = values.as_ref().map_err(Clone::clone);
                    values.and_then(|values| values.find(from))
                }
                CounterSource::Log(from) => log::count(connector, from),
                CounterSource::Command(from) => from_command(connector, from),
            };
            all.push(found.map_err(|reason| LabError::Counter {
                instance: self.instance.clone(),
                counter: counter.name.clone(),
                reason,
            })?);
        }
        let counters = self.counters.iter().zip(all);
        let readings = counters
            .flat_map(|(counter, found)| self.named(counter, self.with_zeros(counter, found)));
        Ok(InstanceCounters {
            instance: self.instance.clone(),
            readings: summed(readings.collect()),
        })
    }

    /// Adds zeros for values that the target declares to be zero when missing, one per edge where edges are told
    /// apart. A counter by label has no such zero.
    fn with_zeros(&self, counter: &Counter, mut found: Vec<CounterValue>) -> Vec<CounterValue> {
        let CounterSource::Prometheus(from) = &counter.source else {
            return found;
        };
        if from.missing == IfAbsent::Unknown || from.label.is_some() {
            return found;
        }
        if from.edge.is_none() {
            if found.is_empty() {
                found.push(CounterValue::default());
            }
            return found;
        }
        for id in self.edges.keys() {
            if !found.iter().any(|found| found.edge.as_ref() == Some(id)) {
                found.push(CounterValue {
                    edge: Some(id.clone()),
                    ..CounterValue::default()
                });
            }
        }
        found
    }

    /// Replaces edge ids by edge names; drops values of unknown edges.
    fn named(&self, counter: &Counter, found: Vec<CounterValue>) -> Vec<CounterReading> {
        let only_edge = match self.edges.len() {
            1 => self.edges.values().next(),
            _ => None,
        };
        let name = |found: CounterValue| {
            let edge = match (found.edge, &counter.edge) {
                (Some(id), _) => Some(self.edges.get(&id)?.clone()),
                (None, Some(edge)) => Some(edge.clone()),
                // With one edge, all that is counted belongs to it.
                (None, None) => only_edge.cloned(),
            };
            Some(CounterReading {
                name: counter.name.clone(),
                edge,
                label: found.label,
                value: found.value * counter.scale,
                kind: counter.kind,
            })
        };
        found.into_iter().filter_map(name).collect()
    }
}

/// Adds up readings of one name, edge and label: several counters may feed one name.
fn summed(readings: Vec<CounterReading>) -> Vec<CounterReading> {
    let mut sums: Vec<CounterReading> = Vec::new();
    for reading in readings {
        let same = sums.iter_mut().find(|sum| {
            sum.name == reading.name && sum.edge == reading.edge && sum.label == reading.label
        });
        match same {
            Some(sum) => sum.value += reading.value,
            None => sums.push(reading),
        }
    }
    sums
}

/// The readings of an instance without edges, from JMX beans.
pub(crate) fn of_beans(
    counters: &[Counter],
    find: impl Fn(&JmxSource) -> Result<Vec<CounterValue>, String>,
) -> Result<Vec<CounterReading>, String> {
    let mut readings = Vec::new();
    for counter in counters {
        let CounterSource::Jmx(from) = &counter.source else {
            continue;
        };
        readings.extend(find(from)?.into_iter().map(|found| CounterReading {
            name: counter.name.clone(),
            edge: None,
            label: found.label,
            value: found.value * counter.scale,
            kind: counter.kind,
        }));
    }
    Ok(summed(readings))
}

/// Reads all JMX attributes that the counters need.
fn read_beans(
    connector: &Connector,
    Beans { url, bean_queries }: &Beans,
    login: Option<&Login>,
) -> Result<BeanValues, String> {
    let bulk_request = bulk_request(bean_queries);
    let json_body = Some(&*bulk_request);
    let text = fetch(connector, url, RequestOptions { json_body, login })?;
    BeanValues::parse(&text, bean_queries).map_err(|reason| format!("{url}: {reason}"))
}

fn fetch(connector: &Connector, url: &str, options: RequestOptions<'_>) -> Result<String, String> {
    match http::get_or_post(connector, url, options, LIMIT)? {
        HttpResponse { status: 200, text } => Ok(text),
        HttpResponse { status, .. } => Err(format!("{url} answered {status}, not 200")),
    }
}

fn from_command(connector: &Connector, from: &CommandSource) -> Found {
    let output = connector.run(&from.command, LIMIT)?;
    if !output.success {
        let (words, last) = (from.command.join(" "), output.last_line());
        return Err(format!("`{words}` {}: {last}", output.how));
    }
    by_pattern(&output.stdout, &from.pattern)
}

/// The number of a source; a value that is no number is an error, not a zero.
fn json_number(text: &str, from: &JsonSource) -> Result<Vec<CounterValue>, String> {
    let page: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| format!("{} is not valid JSON: {error}", from.url))?;
    let value = match page.pointer(&from.pointer) {
        Some(value) => Some(
            value
                .as_f64()
                .ok_or_else(|| format!("`{}` is not a number", from.pointer))?,
        ),
        None if from.missing == IfAbsent::Zero => Some(0.0),
        None => None,
    };
    let found = |value| CounterValue {
        value,
        ..CounterValue::default()
    };
    Ok(value.into_iter().map(found).collect())
}

/// Every match is a value; a value that is no number is an error, not a zero.
fn by_pattern(text: &str, pattern: &str) -> Result<Vec<CounterValue>, String> {
    let regex = Regex::new(pattern).map_err(|error| format!("`{pattern}`: {error}"))?;
    let mut all = Vec::new();
    for captures in regex.captures_iter(text) {
        let group = |name: &str| captures.name(name).map(|found| found.as_str().to_owned());
        let value = group("value").unwrap_or_default();
        all.push(CounterValue {
            edge: group("edge"),
            label: group("label"),
            value: value
                .parse()
                .map_err(|_| format!("`{value}`, found by `{pattern}`, is not a number"))?,
        });
    }
    Ok(all)
}

/// Entry point of the fuzz target: the response of an instance, read for a source. The number of values in it.
///
/// # Errors
/// Why it has none.
pub fn fuzz_entry(source: &CounterSource, response: &[u8]) -> Result<usize, String> {
    let HttpResponse { text, .. } = http::parse(response)?;
    let found = match source {
        CounterSource::Prometheus(from) => prometheus::find(&text, from),
        CounterSource::Json(from) => json_number(&text, from)?,
        CounterSource::Text(from) => by_pattern(&text, &from.pattern)?,
        CounterSource::Command(from) => by_pattern(&text, &from.pattern)?,
        CounterSource::Log(from) => by_pattern(&text, &from.pattern)?,
        CounterSource::Jmx(from) => {
            let exported = ExporterPage::parse(&text).and_then(|page| page.find(from, &[]));
            let queries = bean_queries([from])?;
            match BeanValues::parse(&text, &queries) {
                Ok(values) => values.find(from)?,
                Err(_) => exported?,
            }
        }
    };
    Ok(found.len())
}

#[cfg(test)]
mod tests;
