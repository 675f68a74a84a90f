//! Two runs compared.

use tare_record::metric::Metric;
use tare_record::view::{Outcome, SentenceKind};
use tare_report::Run;
use tare_report::compare::{CompareError, OnMismatch, RunComparison, compare, markdown, terminal};
use tare_report::terminal::{Colour, Screen};

use crate::fixture::SampleRun;
use crate::in_memory;

fn read(run: &SampleRun, place: &tempfile::TempDir) -> Run {
    tare_report::read(&run.write(place.path()).unwrap()).unwrap()
}

fn two(
    before: &SampleRun,
    after: &SampleRun,
    on_mismatch: OnMismatch,
) -> Result<RunComparison, CompareError> {
    let places = (in_memory(), in_memory());
    compare(
        &read(before, &places.0),
        &read(after, &places.1),
        on_mismatch,
    )
}

#[test]
fn a_slower_run_is_found_and_only_where_it_is_slower() {
    let mut slower = SampleRun {
        seed: 11,
        ..SampleRun::sidecar()
    };
    slower.arms[1].added_us = 230.0;
    let found = two(&SampleRun::sidecar(), &slower, OnMismatch::Refuse).unwrap();
    let row = |arm: &str| {
        found
            .rows
            .iter()
            .find(|r| r.arm == arm && r.level == "2000/s" && r.metric == Metric::Median)
            .unwrap()
    };
    assert!(matches!(
        row("client-sidecar").outcome,
        Outcome::Differs {
            within_margin: false
        }
    ));
    // 400 + 230 µs against 400 + 150 µs.
    let ratio = row("client-sidecar").ratio.unwrap();
    assert!(
        ratio.low.unwrap() < 630.0 / 550.0 && 630.0 / 550.0 < ratio.high.unwrap(),
        "{ratio:?}"
    );
    assert!(!matches!(row("direct").outcome, Outcome::Differs { .. }));
    let notes: Vec<_> = found
        .verdict
        .iter()
        .filter(|s| s.kind == SentenceKind::Note)
        .collect();
    assert!(
        notes[0]
            .text
            .contains("do not hold what changes from run to run")
    );
    let text = terminal(
        &found,
        Screen {
            width: 100,
            colour: Colour::Off,
        },
    );
    assert!(text.lines().all(|line| line.chars().count() <= 100));
    assert!(markdown(&found).contains("| client-sidecar |"));
    assert!(
        found.changed.iter().any(|c| c.starts_with("the seed")),
        "{:?}",
        found.changed
    );
}

#[test]
fn runs_of_one_machine_with_two_ways_of_addressing_are_refused_unless_forced() {
    let other = SampleRun {
        environment_edit: Some(|environment| environment.addressing = "namespaces".into()),
        ..SampleRun::sidecar()
    };
    let error = two(&SampleRun::sidecar(), &other, OnMismatch::Refuse)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("have loopback as addresses, those of the other namespaces"),
        "{error}"
    );
    assert!(two(&SampleRun::sidecar(), &other, OnMismatch::Compare).is_ok());
}

#[test]
fn runs_of_two_machines_or_two_files_are_refused_unless_forced() {
    let other = SampleRun {
        environment_edit: Some(|environment| {
            environment.fingerprint = "ffff0000".into();
            environment.cores = 64;
        }),
        plan_edit: Some(|plan| plan.file_digest = "another".into()),
        ..SampleRun::sidecar()
    };
    let error = two(&SampleRun::sidecar(), &other, OnMismatch::Refuse)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("fingerprint a1b2c3d4 against ffff0000 (cores 2 against 64)"),
        "{error}"
    );
    assert!(
        error.contains("file was changed") && error.contains("--force"),
        "{error}"
    );
    let forced = two(&SampleRun::sidecar(), &other, OnMismatch::Compare).unwrap();
    let warned = forced
        .verdict
        .iter()
        .filter(|s| s.kind == SentenceKind::Warning);
    assert_eq!(
        warned
            .filter(|s| s.text.starts_with("Not the same in both runs: "))
            .count(),
        2
    );
}

#[test]
fn a_run_of_two_blocks_has_no_verdict_against_another() {
    let short = SampleRun {
        blocks: 2,
        ..SampleRun::sidecar()
    };
    let found = two(&SampleRun::sidecar(), &short, OnMismatch::Refuse).unwrap();
    assert!(
        found
            .rows
            .iter()
            .all(|row| matches!(row.outcome, Outcome::None { .. }))
    );
    assert!(
        found.verdict[0].text.contains("24 have no verdict"),
        "{}",
        found.verdict[0].text
    );
}

#[test]
fn runs_without_a_common_cell_are_refused_even_by_force() {
    let other = SampleRun {
        rates_per_s: vec![777],
        ..SampleRun::sidecar()
    };
    assert_eq!(
        two(&SampleRun::sidecar(), &other, OnMismatch::Compare).unwrap_err(),
        CompareError::Nothing
    );
}

#[test]
fn a_block_that_is_only_a_bound_leaves_no_verdict_on_the_metric() {
    let bounded = SampleRun::sidecar().edit(|record, exchanges| {
        if record.arm == "direct" && record.level == "2000/s" && record.block == 2 {
            let late = exchanges.tag("client.echo.latency.timeout");
            late.extend(vec![(1, 5_000_000_000); 600]);
        }
    });
    let found = two(&SampleRun::sidecar(), &bounded, OnMismatch::Refuse).unwrap();
    let row = |metric| {
        let of = |r: &&tare_report::compare::Row| {
            r.arm == "direct" && r.level == "2000/s" && r.metric == metric
        };
        found.rows.iter().find(of).unwrap()
    };
    let p99 = row(Metric::P99);
    assert!(
        matches!(&p99.outcome, Outcome::None { reason } if reason.contains("unanswered")),
        "{p99:?}"
    );
    assert_eq!((p99.ratio, p99.added), (None, None));
    assert!(!matches!(row(Metric::Median).outcome, Outcome::None { .. }));
}

#[test]
fn a_cell_that_was_repeated_far_more_often_in_one_run_is_judged_and_warned_of() {
    let repeated = SampleRun::sidecar().edit(|record, _| {
        if record.arm == "client-sidecar" && record.block <= 2 {
            record.attempt = 1;
        }
    });
    let found = two(&SampleRun::sidecar(), &repeated, OnMismatch::Refuse).unwrap();
    let judged = found.rows.iter().filter(|row| row.ratio.is_some());
    for row in judged {
        assert!(!matches!(row.outcome, Outcome::None { .. }), "{row:?}");
    }
    let warned: Vec<&str> = found
        .verdict
        .iter()
        .filter(|s| s.kind == SentenceKind::Warning && s.text.contains("were repeated"))
        .map(|s| s.text.as_str())
        .collect();
    assert_eq!(
        warned,
        [
            "2 of 5 trials of client-sidecar at 400/s were repeated, 0 of 5 of the run before.",
            "2 of 5 trials of client-sidecar at 2000/s were repeated, 0 of 5 of the run before.",
        ]
    );
}
