//! Assertions are held against intervals, not estimates.

use tare_record::agent::ErrorSource;
use tare_record::metric::Metric;
use tare_record::plan::{Assertion, AssertionSubject, Comparator, Plan};
use tare_record::view::{AssertionOutcome, SentenceKind, View};

use crate::fixture::SampleRun;
use crate::{failures, sentences, view_of};

fn asserted(
    arm: Option<&str>,
    of: AssertionSubject,
    comparison: Comparator,
    limit: f64,
) -> Assertion {
    Assertion {
        text: format!("{of:?} {limit}"),
        arm: arm.map(String::from),
        level: Some("2000/s".into()),
        of,
        comparison,
        limit,
    }
}

fn outcomes(view: &View) -> Vec<AssertionOutcome> {
    view.assertions.iter().map(|one| one.outcome).collect()
}

/// Both sidecars with mTLS add 0.31 ms to a median of 0.4 ms, with an interval of about ± 0.02 ms.
fn claims(plan: &mut Plan) {
    let arm = Some("both-sidecars-mtls");
    let median = AssertionSubject::Added(Metric::Median);
    plan.assertions = vec![
        asserted(arm, median, Comparator::Below, 400_000.0),
        asserted(arm, median, Comparator::Below, 315_000.0),
        asserted(arm, median, Comparator::Below, 200_000.0),
        asserted(
            arm,
            AssertionSubject::AddedShare(Metric::Median),
            Comparator::AtMost,
            0.9,
        ),
        asserted(
            arm,
            AssertionSubject::AddedShare(Metric::Median),
            Comparator::Above,
            0.9,
        ),
        asserted(
            None,
            AssertionSubject::Value(Metric::P99),
            Comparator::Below,
            2e6,
        ),
        asserted(
            None,
            AssertionSubject::Value(Metric::P99),
            Comparator::Below,
            0.8e6,
        ),
        asserted(None, AssertionSubject::Errors, Comparator::Below, 0.001),
        asserted(None, AssertionSubject::Errors, Comparator::Below, 0.000_01),
    ];
}

#[test]
fn the_whole_interval_decides_whether_an_assertion_holds() {
    use AssertionOutcome::{Failed, Passed, Undecided};
    let view = view_of(&SampleRun {
        plan_edit: Some(claims),
        ..SampleRun::sidecar()
    });
    assert_eq!(
        outcomes(&view),
        [
            Passed, Undecided, Failed, Passed, Failed, Passed, Failed, Passed,
            // No error in 60,000 exchanges leaves 0.006 % open.
            Undecided
        ],
        "{:?}",
        view.assertions
    );
    let reason: Vec<&str> = view
        .assertions
        .iter()
        .map(|one| one.reason.as_str())
        .collect();
    assert!(
        reason[0].starts_with("both-sidecars-mtls at 2000/s: +0.3"),
        "{reason:?}"
    );
    assert_eq!(reason[5], "in all 4 cells");
    // The cell that breaks it is named.
    assert!(
        reason[6].starts_with("client-sidecar at 2000/s: 0."),
        "{reason:?}"
    );
    let findings = sentences(&view, SentenceKind::Finding);
    let broken = findings.iter().filter(|text| text.starts_with("Failed: `"));
    assert_eq!(broken.count(), 3, "{findings:?}");
    assert!(
        findings[0].starts_with("Both sidecars with mTLS add"),
        "the answer comes first"
    );
    let screen = tare_report::terminal::Screen {
        width: 120,
        colour: tare_report::terminal::Colour::Off,
    };
    let terminal = tare_report::terminal::terminal(&view, screen);
    let markdown = tare_report::markdown::markdown(&view);
    assert!(
        terminal.contains("\nassertions\n") && terminal.contains("failed"),
        "{terminal}"
    );
    assert!(
        markdown.contains("### Assertions") && markdown.contains("| passed |"),
        "{markdown}"
    );
}

#[test]
fn without_an_interval_or_with_failures_an_assertion_is_undecided_and_says_why() {
    let two = view_of(&SampleRun {
        blocks: 2,
        plan_edit: Some(claims),
        ..SampleRun::sidecar()
    });
    assert!(
        outcomes(&two)
            .iter()
            .all(|one| *one == AssertionOutcome::Undecided),
        "{two:?}"
    );
    let failed = view_of(&SampleRun {
        plan_edit: Some(claims),
        ..SampleRun::sidecar().edit(|record, exchanges| {
            if record.arm == "both-sidecars-mtls" {
                failures::fail(record, exchanges, 60, "reset", ErrorSource::Peer);
            }
        })
    });
    let p99 = &failed.assertions[5];
    assert_eq!(p99.outcome, AssertionOutcome::Undecided);
    assert!(
        p99.reason.contains("0.50 % of the requests failed"),
        "{p99:?}"
    );
    let errors = &failed.assertions[7];
    assert_eq!(errors.outcome, AssertionOutcome::Failed);
    assert!(
        errors
            .reason
            .starts_with("both-sidecars-mtls at 2000/s: 0.5"),
        "{errors:?}"
    );
}
