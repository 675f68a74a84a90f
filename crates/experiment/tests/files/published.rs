//! Published figures as they are written: with a unit that fits the metric, or as a number in the metric's own.

use tare_record::plan::{Form, PublishedFigure};

use crate::bench::plan;

fn published(metric: &str, value: &str) -> Result<PublishedFigure, String> {
    let text = format!(
        "question: What costs what?\n\
         workload: echo\n\
         arms:\n  - name: direct\n  - name: both\n    sidecars: {{on: all, proxy: envoy}}\n\
         load: {{rate: 400, duration: 3s}}\n\
         published:\n  - {{arm: both, metric: {metric}, value: {value}, source: theirs}}\n"
    );
    let plan = plan(&text, Form::Full).map_err(|problems| problems.to_string())?;
    Ok(plan.published[0].figure.clone())
}

#[test]
fn a_value_has_the_metrics_unit_or_a_unit_of_its_own() {
    for (metric, value, expected) in [
        ("median", "6ms", 6e6),
        ("median", "6000000", 6e6),
        ("max", "1.5s", 1.5e9),
        ("proxy-memory", "26.3MB", 26.3e6),
        ("throughput", "95", 95.0),
    ] {
        let found = published(metric, value);
        assert_eq!(
            found,
            Ok(PublishedFigure::Value(expected)),
            "{metric} {value}"
        );
    }
}

#[test]
fn a_value_whose_unit_does_not_fit_is_refused() {
    for (metric, value, words) in [
        ("median", "6MB", "MB"),
        ("proxy-memory", "6ms", "ms"),
        ("cpu", "6ms", "write a number"),
    ] {
        let said = published(metric, value).unwrap_err();
        assert!(
            said.contains(words) && said.contains("case.yaml:9:"),
            "{said}"
        );
    }
}
