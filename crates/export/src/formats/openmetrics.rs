//! OpenMetrics 1.0 as text: for Prometheus, its Pushgateway, and the textfile collector of its node exporter.

use std::fmt::Write as _;

use crate::error::ExportError;
use crate::formats::{Format, FormatOptions};
use crate::metrics::{MetricKind, Metrics};
use crate::run_metrics;
use crate::subject::ExportSubject;

/// Content type of a page.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The format.
pub struct OpenMetrics;

impl Format for OpenMetrics {
    fn text(&self, subjects: &[ExportSubject], _: FormatOptions) -> Result<String, ExportError> {
        let mut metrics = Metrics::default();
        for subject in subjects {
            metrics.extend(run_metrics::all(&subject.view, &subject.counters));
        }
        Ok(text(&metrics))
    }
}

/// Metrics as a page.
#[must_use]
pub fn text(metrics: &Metrics) -> String {
    let mut text = String::new();
    for family in metrics.families() {
        let def = family.def;
        let (kind, total) = match def.kind {
            MetricKind::Gauge => ("gauge", ""),
            MetricKind::Counter => ("counter", "_total"),
            MetricKind::Summary => ("summary", ""),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# TYPE {} {kind}", def.name);
        let unit = def.unit.suffix();
        if !unit.is_empty() {
            let _ = writeln!(text, "# UNIT {} {unit}", def.name);
        }
        let _ = writeln!(text, "# HELP {} {}", def.name, escaped(def.about));
        for (labels, value) in &family.values {
            let labels: Vec<String> = labels
                .iter()
                .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
                .collect();
            let labels = labels.join(",");
            let _ = writeln!(text, "{}{total}{{{labels}}} {value}", def.name);
        }
    }
    text + "# EOF\n"
}

/// A label's value, or a help text. (OpenMetrics 1.0, escaping)
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics;

    #[test]
    fn a_page_has_each_value_once_and_escapes_labels() {
        let mut page = Metrics::default();
        let labels = [("run", "a\"b\\c\nü")];
        page.set(&metrics::LIVE_RESPONSES, &labels, 9.0);
        page.set(&metrics::LIVE_RESPONSES, &labels, 10.0);
        page.set(&metrics::LIVE_RESPONSES, &[("run", "none")], f64::NAN);
        page.set(&metrics::RUN_EXCHANGES, &[], 3.0);
        assert_eq!(
            text(&page),
            "# TYPE tare_live_responses_per_second gauge\n\
             # UNIT tare_live_responses_per_second per_second\n\
             # HELP tare_live_responses_per_second Responses per second of what is measured now.\n\
             tare_live_responses_per_second{run=\"a\\\"b\\\\c\\nü\"} 10\n\
             # TYPE tare_run_exchanges counter\n\
             # HELP tare_run_exchanges Exchanges of all fit trials of a cell, by outcome.\n\
             tare_run_exchanges_total{} 3\n\
             # EOF\n"
        );
    }
}
