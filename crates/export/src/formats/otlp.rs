//! OpenTelemetry metrics (OTLP) as JSON: a resource per run, gauges with attributes, and sums for counts.

use serde_json::{Value, json};
use tare_record::text::word_of;

use crate::error::ExportError;
use crate::formats::{Format, FormatOptions};
use crate::metrics::{Labels, MetricDef, MetricKind, Metrics};
use crate::run_metrics;
use crate::subject::ExportSubject;

/// The format.
pub struct Otlp;

impl Format for Otlp {
    fn text(&self, subjects: &[ExportSubject], _: FormatOptions) -> Result<String, ExportError> {
        let resources = subjects.iter().map(|subject| {
            let metrics = run_metrics::all(&subject.view, &subject.counters);
            resource(&ResourceHead::of(subject), &metrics)
        });
        document(resources.collect())
    }
}

/// What the metrics are of, and when.
pub struct ResourceHead<'a> {
    pub run: &'a str,
    /// Experiment and form; `None`: not known yet.
    pub experiment: Option<(&'a str, String)>,
    pub tare: &'a str,
    pub started_unix_ns: u64,
    pub at_unix_ns: u64,
}

impl<'a> ResourceHead<'a> {
    /// That of the figures of a run.
    #[must_use]
    pub fn of(subject: &'a ExportSubject) -> ResourceHead<'a> {
        let run = &subject.view.run;
        ResourceHead {
            run: &run.id,
            experiment: Some((&run.experiment, word_of(&run.form))),
            tare: &run.tare,
            started_unix_ns: subject.started_unix_us.saturating_mul(1000),
            at_unix_ns: subject.ended_unix_ns(),
        }
    }
}

/// The body of a request.
///
/// # Errors
/// When it cannot be written, which does not happen.
pub fn document(resources: Vec<Value>) -> Result<String, ExportError> {
    Ok(serde_json::to_string(
        &json!({ "resourceMetrics": resources }),
    )?)
}

/// The metrics of one run.
#[must_use]
pub fn resource(of: &ResourceHead<'_>, metrics: &Metrics) -> Value {
    let mut attributes = vec![
        attribute("service.name", "tare"),
        attribute("service.version", of.tare),
        attribute("tare.run.id", of.run),
    ];
    if let Some((experiment, form)) = &of.experiment {
        attributes.push(attribute("tare.experiment", experiment));
        attributes.push(attribute("tare.form", form));
    }
    let metrics = metrics.families().map(|family| {
        let points = family.values.iter();
        let points = points.map(|(labels, value)| point(of, family.def, labels, *value));
        metric(family.def, points.collect())
    });
    json!({
        "resource": { "attributes": attributes },
        "scopeMetrics": [{
            "scope": { "name": "tare", "version": of.tare },
            "metrics": metrics.collect::<Vec<Value>>(),
        }],
    })
}

/// The name without its unit, which has a field of its own: `tare.result.latency`.
fn name(def: &MetricDef) -> String {
    let name = def.name.strip_suffix(def.unit.suffix());
    let name = name.unwrap_or(def.name).trim_end_matches('_');
    name.replace('_', ".")
}

fn metric(def: &MetricDef, points: Vec<Value>) -> Value {
    let (name, unit) = (name(def), def.unit.ucum());
    match def.kind {
        MetricKind::Gauge | MetricKind::Summary => json!({
            "name": name, "description": def.about, "unit": unit, "gauge": { "dataPoints": points },
        }),
        // 2: AGGREGATION_TEMPORALITY_CUMULATIVE
        MetricKind::Counter => json!({
            "name": name, "description": def.about, "unit": unit,
            "sum": { "dataPoints": points, "aggregationTemporality": 2, "isMonotonic": true },
        }),
    }
}

/// A value with its labels; those of the resource are left out.
fn point(of: &ResourceHead<'_>, def: &MetricDef, labels: &Labels, value: f64) -> Value {
    let own = labels.iter().filter(|(name, _)| *name != "run");
    let own = own.map(|(name, value)| attribute(name, value));
    let mut point = json!({
        "attributes": own.collect::<Vec<Value>>(),
        // 64-bit numbers are texts in the JSON of Protocol Buffers.
        "timeUnixNano": of.at_unix_ns.to_string(),
        "asDouble": value,
    });
    if def.kind == MetricKind::Counter {
        point["startTimeUnixNano"] = of.started_unix_ns.to_string().into();
    }
    point
}

fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::metrics::ALL;

    #[test]
    fn every_metric_has_a_name_of_its_own_without_its_unit() {
        let names: BTreeSet<String> = ALL.iter().map(|def| name(def)).collect();
        assert_eq!(names.len(), ALL.len(), "{names:?}");
        assert!(names.contains("tare.result.latency"), "{names:?}");
        assert!(!names.iter().any(|name| name.ends_with("seconds")));
    }
}
