//! Sentences on failures: the share that failed, the causes, the comparison, and the metrics without a verdict.

use tare_record::metric::Metric;
use tare_record::plan::Plan;
use tare_record::view::{FailedShare, FailureView, View};

use super::clauses::{list, object};
use super::{at_level, level_words};
use crate::quantity::MISSING;

/// A sentence for each comparison with relevant failures.
pub fn failures(plan: &Plan, view: &View) -> Vec<String> {
    view.failures
        .iter()
        .map(|one| pair_sentence(plan, one))
        .collect()
}

fn pair_sentence(plan: &Plan, one: &FailureView) -> String {
    let what = format!("{}{}", one.arm, at_level(plan, &one.level));
    let against = match one.against_level == one.level {
        true => format!("in {}", one.against),
        false => format!("at {}", level_words(plan, &one.against_level)),
    };
    let difference = Some(one.difference_text.as_str()).filter(|text| *text != MISSING);
    sentence(
        &what,
        &one.failed,
        (&one.against_failed, &against),
        difference,
        &one.no_verdict,
    )
}

/// "both-sidecars: 3.2 % of the requests failed (2.9 % status 503 by the target, 0.3 % reset by the peer), against 0 % in
/// direct, 3.2 percentage points (3.0–3.4) more; no verdict on p99."
pub fn sentence(
    what: &str,
    failed: &FailedShare,
    (base, against): (&FailedShare, &str),
    difference: Option<&str>,
    no_verdict: &[Metric],
) -> String {
    let classes = |of: &FailedShare| match of.classes.as_str() {
        "" => String::new(),
        classes => format!(" ({classes})"),
    };
    let mut text = format!(
        "{what}: {} of the {} failed{}, against {}{} {against}",
        failed.text,
        failed.what,
        classes(failed),
        base.text,
        classes(base),
    );
    if let Some(difference) = difference {
        text.push_str(&format!(", {difference}"));
    }
    if !no_verdict.is_empty() {
        let metrics: Vec<String> = no_verdict.iter().map(|m| object(*m).to_owned()).collect();
        text.push_str(&format!("; no verdict on {}", list(&metrics)));
    }
    text.push('.');
    text
}
