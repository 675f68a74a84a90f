//! Exchanges that failed are the finding, and what the others say is no verdict.

use tare_record::agent::{ErrorSource, OutcomeCount};
use tare_record::metric::Metric;
use tare_record::record::TrialRecord;
use tare_record::view::{Outcome, SentenceKind, View};
use tare_report::compare::{OnMismatch, compare, terminal as two_runs};
use tare_report::terminal::{Colour, Screen, terminal};

use crate::fixture::{Exchanges, SampleRun};
use crate::{cell, closed, figure, in_memory, levels, overhead, sentences, view_of, waterfalls};

/// So many exchanges of a trial failed at once with this class; their latencies are not those of answers.
pub fn fail(
    record: &mut TrialRecord,
    exchanges: &mut Exchanges,
    count: u64,
    class: &str,
    by: ErrorSource,
) {
    for quantity in ["latency", "service"] {
        let answers = exchanges.tag(&format!("client.echo.{quantity}"));
        answers.truncate(answers.len() - usize::try_from(count).unwrap());
    }
    let role = &mut record.load[0];
    role.ok -= count;
    role.errors += count;
    role.completed_in_window.ok -= count;
    role.completed_in_window.errors += count;
    role.outcomes.push(OutcomeCount {
        request: "echo".into(),
        class: class.into(),
        error_source: by,
        count,
        example: None,
    });
}

/// Half as long: who is refused leaves more of the machine to the others.
fn faster(exchanges: &mut Exchanges) {
    for quantity in ["latency", "service"] {
        for (_, ns) in exchanges.tag(&format!("client.echo.{quantity}")) {
            *ns /= 2;
        }
    }
}

/// One level of 2000 exchanges a second, 12,000 in a trial.
fn one_level() -> SampleRun {
    SampleRun {
        rates_per_s: vec![2000],
        ..SampleRun::sidecar()
    }
}

/// One of ten exchanges of an arm is refused; 400 exchanges a trial.
fn small(arm: &'static str) -> SampleRun {
    SampleRun {
        rates_per_s: vec![400],
        window_s: 1,
        ..SampleRun::sidecar()
    }
    .edit(move |record, exchanges| {
        if record.arm == arm {
            fail(record, exchanges, 40, "status-503", ErrorSource::Target);
        }
    })
}

fn is_none(view: &View, arm: &str, against: &str, metric: Metric) -> bool {
    let level = view.levels.last().unwrap();
    let overhead = overhead(view, arm, against, &level.name, metric);
    let is_none = matches!(overhead.outcome, Outcome::None { .. });
    // What has no verdict for its failures has no estimate either.
    assert_eq!(is_none, overhead.added.is_none(), "{overhead:?}");
    is_none
}

fn shown(view: &View) -> String {
    let width = 200;
    let colour = Colour::Off;
    terminal(view, Screen { width, colour })
}

#[test]
fn an_arm_that_refuses_nearly_everything_at_once_is_not_called_faster() {
    let view = view_of(&one_level().edit(|record, exchanges| {
        if record.arm == "client-sidecar" {
            fail(record, exchanges, 11_880, "status-503", ErrorSource::Target);
            faster(exchanges);
        }
    }));
    for metric in [Metric::Median, Metric::Mean, Metric::Cpu, Metric::Memory] {
        assert!(
            is_none(&view, "client-sidecar", "direct", metric),
            "{metric:?}"
        );
    }
    let median = overhead(&view, "client-sidecar", "direct", "2000/s", Metric::Median);
    assert_eq!(
        median.outcome_text,
        "no verdict: 99 % of the requests failed"
    );
    let findings = sentences(&view, SentenceKind::Finding);
    assert_eq!(
        findings[0],
        "client-sidecar at 2000 requests/s: 99 % of the requests failed (99 % status 503 by the target), against 0 % in direct, \
         99.0 percentage points (98.9–99.1) more; no verdict on the median, p99 and CPU."
    );
    let others = &findings[1..];
    assert!(
        others.iter().all(|text| !text.contains("client-sidecar ")
            && !text.contains("n Envoy sidecar on the client ")
            && !text.contains(" off ")),
        "{findings:?}"
    );
    assert!(
        !sentences(&view, SentenceKind::Warning)
            .iter()
            .any(|text| text.contains("exchanges failed")),
        "it is said once"
    );
    // What was answered rightly a second is a figure of all exchanges, and the other arms are judged as before.
    assert!(!is_none(
        &view,
        "client-sidecar",
        "direct",
        Metric::Throughput
    ));
    assert!(!is_none(&view, "both-sidecars", "direct", Metric::Median));
    // A step from an arm without a verdict is none.
    assert!(is_none(
        &view,
        "both-sidecars",
        "client-sidecar",
        Metric::Median
    ));
    // Every form of the report says so.
    let markdown = tare_report::markdown::markdown(&view);
    for text in [shown(&view), markdown] {
        for wanted in [
            "99 % of the requests failed (99 % status 503 by the target)",
            "percentage points",
            "no verdict",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
    }
    let csv = tare_report::csv::csv(&view);
    assert!(
        csv.contains("2000/s,client-sidecar,,failed,0.99,share"),
        "{csv}"
    );
    assert!(csv.contains("2000/s,direct,,failed,0,share"), "{csv}");
    let json = tare_report::json(&view).unwrap();
    let back: View = serde_json::from_str(&json).unwrap();
    assert_eq!(
        back.failures[0].no_verdict,
        [Metric::Median, Metric::P99, Metric::Cpu]
    );
    assert!(
        tare_report::html::html(&view)
            .unwrap()
            .contains("99 % status 503 by the target")
    );
}

#[test]
fn one_right_answer_in_a_fit_trial_is_no_verdict() {
    let view = view_of(&small("none").edit(|record, exchanges| {
        if record.arm == "both-sidecars" {
            fail(record, exchanges, 399, "reset", ErrorSource::Peer);
        }
    }));
    for metric in Metric::ALL.into_iter().filter(|m| !m.may_be_absent()) {
        if metric != Metric::Throughput {
            assert!(
                is_none(&view, "both-sidecars", "direct", metric),
                "{metric:?}"
            );
        }
    }
    let first = sentences(&view, SentenceKind::Finding)[0];
    assert!(
        first.contains(": over 99 % of the requests failed (over 99 % reset by the peer)"),
        "what is not all is not 100 %: {first}"
    );
}

#[test]
fn errors_of_the_baseline_alone_leave_all_arms_without_the_verdicts_they_reach() {
    let view = view_of(&one_level().edit(|record, exchanges| {
        if record.arm == "direct" {
            fail(record, exchanges, 348, "status-503", ErrorSource::Target);
            fail(record, exchanges, 36, "reset", ErrorSource::Peer);
        }
    }));
    for arm in ["client-sidecar", "both-sidecars", "both-sidecars-mtls"] {
        assert!(is_none(&view, arm, "direct", Metric::P99));
        assert!(is_none(&view, arm, "direct", Metric::Cpu));
        assert!(!is_none(&view, arm, "direct", Metric::Median));
    }
    // Steps do not meet the baseline.
    assert!(!is_none(
        &view,
        "both-sidecars",
        "client-sidecar",
        Metric::P99
    ));
    let p99 = overhead(&view, "both-sidecars", "direct", "2000/s", Metric::P99);
    assert_eq!(
        p99.outcome_text,
        "no verdict: 3.2 % of the requests failed in direct"
    );
    let findings = sentences(&view, SentenceKind::Finding);
    assert_eq!(
        findings[1],
        "both-sidecars at 2000 requests/s: 0 % of the requests failed, against 3.2 % (2.9 % status 503 by the target, \
         0.30 % reset by the peer) in direct, 3.20 percentage points (3.06–3.34) fewer; no verdict on p99 and CPU."
    );
    assert!(
        findings
            .iter()
            .any(|text| text.contains("add") && text.contains("to the median at 2000")),
        "{findings:?}"
    );
}

#[test]
fn one_failure_in_two_thousand_takes_the_verdict_on_p99_9_and_leaves_that_on_p99() {
    let mut run = one_level().edit(|record, exchanges| {
        if record.arm == "both-sidecars" {
            fail(record, exchanges, 6, "reset", ErrorSource::Peer);
        }
    });
    run.plan_edit = Some(|plan| plan.primary.push(Metric::P999));
    let view = view_of(&run);
    assert!(!is_none(&view, "both-sidecars", "direct", Metric::P99));
    assert!(is_none(&view, "both-sidecars", "direct", Metric::P999));
    assert!(is_none(&view, "both-sidecars", "direct", Metric::Max));
    let first = sentences(&view, SentenceKind::Finding)[0];
    assert!(
        first.starts_with(
            "both-sidecars at 2000 requests/s: 0.050 % of the requests failed (0.050 % reset by the peer), against 0 % in direct, 0.05 percentage points ("
        ) && first.ends_with("more; no verdict on p99.9."),
        "{first}"
    );
    assert_eq!(view.failures.len(), 1);
}

#[test]
fn more_failures_than_the_baseline_are_a_finding_and_a_few_in_one_block_are_a_warning() {
    let few = |block: fn(u32) -> bool| {
        let run = small("none").edit(move |record, exchanges| {
            if record.arm == "both-sidecars" && block(record.block) {
                let count = 1 + u64::from(record.block % 2);
                fail(record, exchanges, count, "reset", ErrorSource::Peer);
            }
        });
        view_of(&SampleRun {
            window_s: 3,
            plan_edit: Some(|plan| plan.primary = vec![Metric::Median]),
            ..run
        })
    };
    let always = few(|_| true);
    let one = &always.failures[0];
    assert!(one.no_verdict.is_empty());
    let difference = one.difference.unwrap();
    // Seven or eight of 6000, one or two in each block.
    assert!((difference.estimate - 8.0 / 6000.0).abs() < 1e-9);
    assert!(difference.low.unwrap() > 0.0 && difference.high.unwrap() < 0.003);
    let first = sentences(&always, SentenceKind::Finding)[0];
    assert!(first.ends_with(" more."), "{first}");
    // One each in four blocks could be chance, though they are all alike.
    let rare = view_of(&small("none").edit(|record, exchanges| {
        if record.arm == "both-sidecars" && record.block < 5 {
            fail(record, exchanges, 1, "reset", ErrorSource::Peer);
        }
    }));
    assert_eq!(rare.failures[0].difference_text, "–");
    let once = few(|block| block == 3);
    assert_eq!(once.failures, []);
    let warnings = sentences(&once, SentenceKind::Warning);
    assert!(
        warnings.contains(
            &"both-sidecars at 400/s: 2 of 6000 exchanges failed (2 errors, 0 unfinished, 0 never sent, most of them reset)."
        ),
        "{warnings:?}"
    );
}

#[test]
fn what_is_unanswered_at_the_end_and_what_a_full_queue_turns_away_failed_too() {
    let view = view_of(&small("none").edit(|record, exchanges| {
        if record.arm == "both-sidecars" {
            fail(record, exchanges, 16, "timeout", ErrorSource::Target);
            let role = &mut record.load[0];
            // Twelve more were never answered, and twelve never left.
            (role.errors, role.unfinished) = (4, 12);
            role.outcomes[1].count = 4;
            (role.intended, role.overflow) = (412, 12);
        }
    }));
    let failed = &cell(&view, "both-sidecars", "400/s").failed;
    // 384 right, 4 + 12 + 12 of 412.
    assert_eq!(failed.share, Some(28.0 / 412.0));
    assert_eq!(
        failed.classes,
        "2.9 % unfinished, 2.9 % never sent, 0.97 % timeout by the target"
    );
    assert!(is_none(&view, "both-sidecars", "direct", Metric::Median));
}

#[test]
fn a_provisional_table_names_what_failed_behind_its_own_label() {
    let view = view_of(&SampleRun {
        blocks: 1,
        ..small("both-sidecars")
    });
    let findings = sentences(&view, SentenceKind::Finding);
    assert!(findings[0].starts_with("Provisional"), "{findings:?}");
    assert!(
        findings[1].starts_with("both-sidecars at 400 requests/s: 10 % of the requests failed (")
            && findings[1].ends_with("in direct; no verdict on the median, p99 and CPU."),
        "{findings:?}"
    );
}

#[test]
fn published_figures_do_not_stand_beside_those_of_what_did_not_fail() {
    let view = view_of(&small("both-sidecars-mtls"));
    assert_eq!(view.published[0].measured, "–");
}

#[test]
fn a_sum_has_no_step_to_or_from_an_arm_that_failed_too_often() {
    let run = waterfalls::run().edit(|record, exchanges| {
        if record.arm == "both-sidecars" && record.level == "2000/s" {
            fail(record, exchanges, 384, "status-503", ErrorSource::Target);
        }
    });
    let view = view_of(&run);
    for metric in [Metric::Mean, Metric::Cpu] {
        let forward = &waterfalls::of(&view, "2000/s", metric).sequences[0];
        let told: Vec<bool> = forward
            .steps
            .iter()
            .map(|one| one.added.is_some())
            .collect();
        assert_eq!(told, [true, false, false]);
        assert_eq!(forward.steps[1].added_text, "–");
        assert_eq!((forward.steps[1].to, forward.steps[2].from), (None, None));
        assert!(forward.total.is_some() && forward.missing.is_none());
        let other = &waterfalls::of(&view, "400/s", metric).sequences[0];
        assert!(other.steps.iter().all(|step| step.added.is_some()));
    }
    let findings = sentences(&view, SentenceKind::Finding);
    assert!(
        findings[0].starts_with("both-sidecars at 2000 requests/s: 3.2 % of the requests failed")
            && findings[0].ends_with("no verdict on p99, CPU and the mean."),
        "{findings:?}"
    );
}

#[test]
fn producers_whose_records_fail_have_no_verdict_on_what_they_write_at_full_speed() {
    let run = levels::producers().edit(|record, exchanges| {
        if record.level == "producers=3" {
            fail(
                record,
                exchanges,
                60,
                "not-enough-replicas",
                ErrorSource::Target,
            );
        }
    });
    let view = view_of(&run);
    let written = overhead(
        &view,
        "direct",
        "direct",
        "producers=3",
        Metric::RecordsProduced,
    );
    assert_eq!(
        written.outcome_text,
        "no verdict: 10 % of the records failed"
    );
    let findings = sentences(&view, SentenceKind::Finding);
    assert_eq!(
        findings,
        [
            "direct at producers=3: 10 % of the records failed (10 % not enough replicas by the target), against 0 % at producers=1, \
             10.0 percentage points (8.9–11.1) more; no verdict on records produced."
        ]
    );
    assert!(
        view.published.iter().take(2).all(|one| one.measured == "–"),
        "{:?}",
        view.published
    );
    // A ratio of two levels that the plan does not compare is none either.
    assert_eq!(view.published[3].measured, "–");
}

#[test]
fn clients_that_are_refused_have_no_knee_and_no_verdict_on_throughput() {
    let mut run = closed::closed().edit(|record, exchanges| {
        if record.level == "405/s" {
            fail(record, exchanges, 10, "status-429", ErrorSource::Target);
        }
    });
    run.noise = 0.001;
    let view = view_of(&run);
    let throughput = overhead(
        &view,
        "both-sidecars",
        "direct",
        "405/s",
        Metric::Throughput,
    );
    assert_eq!(
        throughput.outcome_text,
        "no verdict: 2.5 % of the requests failed"
    );
    let notes = sentences(&view, SentenceKind::Note);
    assert!(
        notes.contains(&"Knee of direct not determined: 2.5 % of the requests failed at 405/s."),
        "{notes:?}"
    );
    assert!(
        figure(&view, "direct", "405/s", Metric::Throughput)
            .value
            .is_some(),
        "the figure itself stays"
    );
}

#[test]
fn two_runs_of_which_one_failed_are_not_compared_in_what_is_left() {
    let places = (in_memory(), in_memory());
    let failing = small("none").edit(|record, exchanges| match record.arm.as_str() {
        "client-sidecar" => fail(record, exchanges, 40, "status-503", ErrorSource::Target),
        "both-sidecars" => fail(record, exchanges, 1, "reset", ErrorSource::Peer),
        _ => {}
    });
    let read = |run: &SampleRun, place: &tempfile::TempDir| {
        tare_report::read(&run.write(place.path()).unwrap()).unwrap()
    };
    let runs = (read(&small("none"), &places.0), read(&failing, &places.1));
    let found = compare(&runs.0, &runs.1, OnMismatch::Refuse).unwrap();
    let row = |arm: &str, metric| {
        let mut rows = found.rows.iter();
        rows.find(|row| row.arm == arm && row.metric == metric)
            .unwrap()
    };
    for metric in [Metric::Median, Metric::Cpu] {
        let row = row("client-sidecar", metric);
        assert_eq!(
            row.outcome_text,
            "no verdict: 10 % of the requests failed in the run after"
        );
        assert_eq!((row.ratio, row.added), (None, None));
    }
    assert!(row("both-sidecars", Metric::Median).ratio.is_some());
    let said = |kind| {
        let sentences = found.verdict.iter().filter(move |one| one.kind == kind);
        sentences.map(|one| one.text.as_str()).collect::<Vec<_>>()
    };
    assert!(
        said(SentenceKind::Finding).contains(
            &"client-sidecar at 400/s: 10 % of the requests failed (10 % status 503 by the target), against 0 % in the run before; \
             no verdict on the median, p99 and CPU."
        ),
        "{:?}",
        found.verdict
    );
    let changed = "both-sidecars at 400/s: 0.25 % of the requests failed (0.25 % reset by the peer), against 0 % in the run before; no verdict on p99.";
    assert!(
        said(SentenceKind::Finding).contains(&changed),
        "{:?}",
        found.verdict
    );
    let width = 100;
    let colour = Colour::Off;
    assert!(two_runs(&found, Screen { width, colour }).contains("10 % of the requests"));
}
