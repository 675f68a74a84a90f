//! What a verdict says beside the difference: repeats, reasons common to several cells, the baseline measured twice, the margin.

use tare_record::agent::LoadEnd;
use tare_record::load::session::{Cookies, SessionSpec};
use tare_record::metric::Metric;
use tare_record::record::{AuditResult, TrialStatus};
use tare_record::view::{Outcome, SentenceKind, View};

use crate::fixture::SampleRun;
use crate::{cell, figure, overhead, sentences, sidecar, view_of};

/// Trials of client-sidecar at 2000/s after the third block are unfit and not repeated.
fn disturbed(from_block: u32) -> SampleRun {
    SampleRun::sidecar().edit(move |record, _| {
        if record.arm == "client-sidecar" && record.level == "2000/s" && record.block >= from_block
        {
            record.status = TrialStatus::Unfit {
                reasons: vec!["31 % of the starts were bunched".into()],
            };
        }
    })
}

#[test]
fn an_arm_that_was_repeated_far_more_often_has_its_verdict_and_says_so() {
    let view = view_of(&disturbed(4));
    let median = overhead(&view, "client-sidecar", "direct", "2000/s", Metric::Median);
    assert!(
        matches!(median.outcome, Outcome::Differs { .. }),
        "{median:?}"
    );
    assert_eq!(median.pairs, 3);
    let said = "2 of 5 trials of client-sidecar were repeated, 0 of 10 of direct.";
    assert_eq!(median.repeats.as_deref(), Some(said));
    let findings = sentences(&view, SentenceKind::Finding);
    let sentence = findings.iter().find(|text| text.contains(said)).unwrap();
    assert!(
        sentence.starts_with("An Envoy sidecar on the client adds "),
        "{sentence}"
    );
    let share = |arm| cell(&view, arm, "2000/s").repeated_share;
    assert_eq!(
        (share("client-sidecar"), share("direct")),
        (Some(0.4), Some(0.0))
    );
    // One of five is no more than a fifth.
    let few = view_of(&disturbed(5));
    let median = overhead(&few, "client-sidecar", "direct", "2000/s", Metric::Median);
    assert_eq!(median.repeats, None);
    let warnings = sentences(&view, SentenceKind::Warning);
    assert!(
        warnings
            .iter()
            .any(|w| w.contains("2 trials discarded as unfit")),
        "{warnings:?}"
    );
}

#[test]
fn a_trial_that_does_not_count_is_reported_with_the_cause_in_its_record() {
    let view = view_of(&SampleRun::sidecar().edit(|record, _| {
        let reasons = |first: &str| vec![first.to_owned()];
        match record.trial {
            2 | 3 => {
                record.proofs[0].passed = false;
                record.status = TrialStatus::Invalid {
                    reasons: reasons("server requests over client->server: 9 instead of 10"),
                };
            }
            4 => {
                record.audits.push(AuditResult {
                    about: "every booking is stored".into(),
                    request: "GET /sum".into(),
                    actual: "409".into(),
                    passed: false,
                });
                record.status = TrialStatus::Invalid {
                    reasons: reasons("audit GET /sum: 409"),
                };
            }
            5 => {
                record.status = TrialStatus::Invalid {
                    reasons: reasons("3 of 100 acknowledged records are lost (97 read back)"),
                };
            }
            6 => {
                record.load[0].ended = LoadEnd::Aborted;
                record.status = TrialStatus::Unfit {
                    reasons: reasons("the load of role client was aborted: no group"),
                };
            }
            7 | 8 => {
                record.status = TrialStatus::Failed {
                    reason: "no request succeeded; most failed with refused (no example)".into(),
                    log_tail: Vec::new(),
                };
            }
            9..=12 => {
                record.status = TrialStatus::Failed {
                    reason: format!("the step `{}`: refused", record.trial),
                    log_tail: Vec::new(),
                };
            }
            _ => {}
        }
    }));
    let warnings = sentences(&view, SentenceKind::Warning);
    let excluded: Vec<&str> = warnings
        .into_iter()
        .filter(|text| text.contains(" discarded as "))
        .collect();
    assert_eq!(
        excluded,
        [
            "1 trial discarded as unfit: a load ended early (trial 6: the load of role client was aborted: no group).",
            "2 trials discarded as invalid: a path proof failed (trial 2: server requests over client->server: 9 instead of 10).",
            "1 trial discarded as invalid: an audit failed (trial 4: audit GET /sum: 409).",
            "1 trial discarded as invalid: the read-back failed (trial 5: 3 of 100 acknowledged records are lost (97 read back)).",
            "2 trials discarded as failed (trial 7: no request succeeded; most failed with refused (no example)).",
            "1 trial discarded as failed (trial 9: the step `9`: refused).",
            "1 trial discarded as failed (trial 10: the step `10`: refused).",
            "2 trials discarded as failed, for other reasons.",
        ]
    );
}

#[test]
fn a_reason_that_is_common_to_several_comparisons_is_said_once() {
    let view = view_of(&disturbed(2));
    let reasons: Vec<&str> = sentences(&view, SentenceKind::Finding)
        .into_iter()
        .filter(|text| text.starts_with("No verdict"))
        .collect();
    assert_eq!(
        reasons,
        [
            "No verdict on the median, p99 and CPU of client-sidecar at 2000 requests/s: only 1 block has a trial of both that counts; 3 are needed."
        ]
    );
    let none = view_of(&SampleRun::sidecar().edit(|record, _| {
        if record.arm == "direct" {
            record.status = TrialStatus::Failed {
                reason: "it ended".into(),
                log_tail: Vec::new(),
            };
        }
    }));
    let findings = sentences(&none, SentenceKind::Finding);
    let told = |text: &&&str| text.contains("no block has a trial of both that counts");
    assert_eq!(findings.iter().filter(told).count(), 1, "{findings:?}");
    assert!(
        findings
            .iter()
            .any(|text| text.starts_with("No verdict on any comparison: ")),
        "{findings:?}"
    );
}

#[test]
fn the_baseline_measured_twice_is_one_quiet_line_unless_it_differs_from_itself() {
    let view = view_of(&SampleRun {
        seed: 8,
        ..SampleRun::sidecar()
    });
    let check = view.baseline_check.as_ref().unwrap();
    // Two levels, three primary metrics.
    assert_eq!(check.comparisons, 6);
    let notes = sentences(&view, SentenceKind::Note);
    assert!(
        notes.contains(&"The baseline measured twice: no difference shown in 6 comparisons."),
        "{notes:?}"
    );
    let biased = view_of(&SampleRun::sidecar().edit(|record, _| {
        if record.aa_copy == 1 && record.level == "2000/s" {
            for part in &mut record.instances {
                part.cpu_ns = part.cpu_ns.map(|ns| ns + ns / 4);
            }
        }
    }));
    let second = &biased.verdict[1];
    assert_eq!(second.kind, SentenceKind::Warning);
    assert!(
        second
            .text
            .starts_with("The baseline measured twice differs from itself: CPU +2"),
        "{second:?}"
    );
    assert!(second.text.contains(" at 2000 requests/s. "), "{second:?}");
    let notes = sentences(&biased, SentenceKind::Note);
    assert!(!notes.iter().any(|note| note.contains("measured twice")));
    // No margin is wider for it.
    let margin = |view: &View| {
        overhead(view, "both-sidecars", "direct", "2000/s", Metric::Cpu)
            .margin
            .unwrap()
    };
    assert_eq!((margin(&view), margin(&biased)), (0.05, 0.05));
    let once = view_of(&SampleRun {
        aa_check: false,
        ..SampleRun::sidecar()
    });
    assert_eq!(once.baseline_check, None);
}

#[test]
fn the_margin_of_a_short_latency_is_an_amount() {
    let view = view_of(&SampleRun {
        rates_per_s: vec![400],
        plan_edit: Some(|plan| plan.margin_absolute_ns = 40_000),
        ..SampleRun::sidecar()
    });
    let of = |metric| {
        let one = overhead(&view, "client-sidecar", "direct", "400/s", metric);
        (
            one.margin.unwrap(),
            one.margin_text.as_str(),
            one.base.unwrap(),
        )
    };
    // 40 µs are 10 % of a median of 0.4 ms.
    let (margin, text, base) = of(Metric::Median);
    assert_eq!((margin, text), (40_000.0 / base, "40 µs"));
    let (margin, text, _) = of(Metric::Cpu);
    assert_eq!((margin, text), (0.05, "5 %"));
}

#[test]
fn response_time_from_the_intended_start_stands_beside_the_latency() {
    let view = sidecar();
    let of = |metric| {
        let figure = figure(&view, "direct", "2000/s", metric);
        figure.value.unwrap()
    };
    // 9 µs of lateness were planted.
    let more = of(Metric::ResponseMedian) - of(Metric::Median);
    assert!((5_000.0..15_000.0).contains(&more), "{more}");
    let cell = cell(&view, "direct", "2000/s");
    assert!(cell.response.len() > 10);
    let generator = &cell.generator;
    assert_eq!(generator.bunched_share, Some(0.001));
    // Twice the lateness was planted as receive lag.
    let p99_ns = [generator.lateness_p99_ns, generator.receive_lag_p99_ns].map(Option::unwrap);
    let ratio = p99_ns[1] as f64 / p99_ns[0] as f64;
    assert!((1.99..2.01).contains(&ratio), "{p99_ns:?}");
}

#[test]
fn an_arm_without_a_path_proof_is_named_at_the_top() {
    let unproved = |run: &SampleRun| -> Vec<String> {
        let view = view_of(run);
        let warnings = sentences(&view, SentenceKind::Warning);
        let about = |text: &&str| text.contains("Path not verified");
        warnings
            .into_iter()
            .filter(about)
            .map(str::to_owned)
            .collect()
    };
    assert!(unproved(&SampleRun::sidecar()).is_empty());
    let one_trial = SampleRun::sidecar().edit(|record, _| {
        if record.arm == "direct" && record.block == 1 {
            record.proofs.clear();
        }
    });
    assert!(unproved(&one_trial).is_empty());
    let arm = SampleRun::sidecar().edit(|record, _| {
        if record.arm == "client-sidecar" {
            record.proofs.clear();
        }
    });
    assert_eq!(
        unproved(&arm),
        ["Path not verified in client-sidecar: no counters. Results are kept."]
    );
}

#[test]
fn a_rate_of_sessions_is_not_called_one_of_requests() {
    let mut run = SampleRun::sidecar();
    run.plan_edit = Some(|plan| {
        for cell in &mut plan.cells {
            cell.load[0].load.mix.session = Some(SessionSpec {
                steps: Vec::new(),
                cookies: Cookies::Kept,
            });
        }
    });
    let view = view_of(&run);
    let findings = sentences(&view, SentenceKind::Finding).join("\n");
    assert!(findings.contains("at 2000 sessions/s"), "{findings}");
    assert!(!findings.contains("2000 requests/s"), "{findings}");
}
