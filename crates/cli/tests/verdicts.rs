//! Exit codes of a judged run: assertions that failed, and `--require-verdict`.

#![expect(clippy::unwrap_used, reason = "a test ends where its assumption fails")]

#[path = "../../report/tests/fixture/mod.rs"]
mod fixture;

use std::process::Command;

use fixture::SampleRun;
use tare_record::metric::Metric;
use tare_record::plan::{Assertion, AssertionSubject, Comparator, Plan};

/// What `tare report` says of a run on standard error, and its exit code.
fn report(run: &SampleRun, flags: &[&str]) -> (String, Option<i32>) {
    let place = tempfile::tempdir().unwrap();
    let folder = run.write(place.path()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
    let output = command
        .arg("report")
        .arg(folder)
        .args(flags)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    (said, output.status.code())
}

fn small(plan_edit: fn(&mut Plan)) -> SampleRun {
    SampleRun {
        rates_per_s: vec![400],
        blocks: 3,
        blocks_planned: 3,
        window_s: 3,
        plan_edit: Some(plan_edit),
        ..SampleRun::sidecar()
    }
}

/// Both sidecars with mTLS add about 0.42 s of CPU for 1000 requests.
fn claim(plan: &mut Plan, limit: f64) {
    plan.primary = vec![Metric::Cpu];
    plan.assertions = vec![Assertion {
        text: "both-sidecars-mtls: cpu adds < …".into(),
        arm: Some("both-sidecars-mtls".into()),
        level: None,
        of: AssertionSubject::Added(Metric::Cpu),
        comparison: Comparator::Below,
        limit,
    }];
}

#[test]
fn a_failed_assertion_ends_with_1_in_every_form_and_one_that_passed_with_0() {
    let broken = small(|plan| claim(plan, 0.2));
    for form in [&[][..], &["--md"], &["--json"], &["--csv"], &["--html"]] {
        let (said, code) = report(&broken, form);
        assert_eq!(code, Some(1), "{form:?}: {said}");
        assert!(
            said.contains("assertion failed: both-sidecars-mtls: cpu adds"),
            "{said}"
        );
    }
    let holds = small(|plan| claim(plan, 0.8));
    assert_eq!(report(&holds, &["--md", "--require-verdict"]).1, Some(0));
}

#[test]
fn what_is_undecided_ends_with_1_only_where_a_verdict_is_required() {
    // The planted truth lies on the limit.
    let open = small(|plan| claim(plan, 0.42));
    assert_eq!(report(&open, &["--md"]).1, Some(0));
    let (said, code) = report(&open, &["--md", "--require-verdict"]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("undecided: both-sidecars-mtls: cpu adds"),
        "{said}"
    );
    // Two blocks carry no verdict on anything.
    let short = SampleRun {
        blocks: 2,
        ..small(|plan| plan.primary = vec![Metric::Cpu])
    };
    assert_eq!(report(&short, &["--md"]).1, Some(0));
    let (said, code) = report(&short, &["--md", "--require-verdict"]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("undecided: CPU per 1000 of client-sidecar at 400/s"),
        "{said}"
    );
}

#[test]
fn a_run_without_a_fit_trial_has_a_report_and_no_verdict() {
    let nothing = small(|_| {}).edit(|record, _| {
        record.status = tare_record::record::TrialStatus::Unfit {
            reasons: vec!["all of it left in bursts".into()],
        };
    });
    assert_eq!(report(&nothing, &["--md"]).1, Some(0));
    let (said, code) = report(&nothing, &["--md", "--require-verdict"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("--require-verdict"), "{said}");
}
