//! Planted differences come out as what they are.

use tare_record::metric::Metric;
use tare_record::plan::{Compare, Subject};
use tare_record::record::{BackgroundLoad, TrialStatus};
use tare_record::view::{Family, Outcome, SentenceKind, View, ViewState};

use crate::fixture::{SampleArm, SampleRun};
use crate::{cell, figure, overhead, row, sentences, sidecar, texts, view_of};

#[test]
fn a_planted_overhead_is_found_and_said_in_the_first_sentence() {
    let view = sidecar();
    let median = overhead(
        &view,
        "both-sidecars-mtls",
        "direct",
        "2000/s",
        Metric::Median,
    );
    let added = median.added.unwrap();
    assert!(
        added.low.unwrap() < 310_000.0 && 310_000.0 < added.high.unwrap(),
        "{added:?}"
    );
    assert_eq!(
        median.outcome,
        Outcome::Differs {
            within_margin: false
        }
    );
    let cpu = overhead(&view, "both-sidecars-mtls", "direct", "2000/s", Metric::Cpu)
        .added
        .unwrap();
    assert!(
        cpu.low.unwrap() < 0.42 && 0.42 < cpu.high.unwrap(),
        "{cpu:?}"
    );
    let first = sentences(&view, SentenceKind::Finding)[0];
    let told = median.added_text.trim_start_matches('+');
    let start = format!("Both sidecars with mTLS add {told} to the median and ");
    assert!(first.starts_with(&start), "{first}");
    assert!(
        first.contains(" at 2000 requests/s, and cost 0.42"),
        "{first}"
    );
    assert_eq!(view.run.state, ViewState::Complete);
}

#[test]
fn an_arm_that_extends_another_is_compared_with_it_too() {
    let view = sidecar();
    let steps: Vec<(&str, &str)> = view
        .overheads
        .iter()
        .filter(|o| o.family == Family::Step && o.metric == Metric::Cpu && o.level == "400/s")
        .map(|o| (o.arm.as_str(), o.against.as_str()))
        .collect();
    assert_eq!(
        steps,
        [
            ("both-sidecars", "client-sidecar"),
            ("both-sidecars-mtls", "both-sidecars")
        ]
    );
    // 30 + 2 × 210 µs against 30 + 2 × 180 µs: 15.4 % more.
    let mtls = overhead(
        &view,
        "both-sidecars-mtls",
        "both-sidecars",
        "2000/s",
        Metric::Cpu,
    );
    let ratio = mtls.ratio.unwrap();
    assert!(
        ratio.low.unwrap() < 450.0 / 390.0 && 450.0 / 390.0 < ratio.high.unwrap(),
        "{ratio:?}"
    );
    assert!(sentences(&view, SentenceKind::Finding).iter().any(|s| {
        s.starts_with("On top of both-sidecars, mTLS adds ")
            && s.contains(" s (")
            && s.contains(") of CPU per 1000 requests")
    }));
}

fn twins(added_us: f64) -> SampleRun {
    let mut run = SampleRun::sidecar();
    run.arms.truncate(1);
    run.arms.push(SampleArm {
        name: "twin",
        about: "the same once more",
        subject: Subject::singular("twin"),
        added_us,
        ..run.arms[0].clone()
    });
    run.published.clear();
    run
}

#[test]
fn two_arms_that_are_alike_are_not_called_different() {
    // A verdict of "differs" is allowed in 5 runs of 100; 12 seeds with none or one are well within that.
    let mut called = 0;
    for seed in 0..12 {
        let view = view_of(&SampleRun {
            seed,
            rates_per_s: vec![400],
            window_s: 3,
            ..twins(0.0)
        });
        let differs = |o: &&tare_record::view::Overhead| {
            o.family == Family::Primary && matches!(o.outcome, Outcome::Differs { .. })
        };
        called += u32::from(view.overheads.iter().any(|o| differs(&o)));
    }
    assert!(
        called <= 2,
        "{called} of 12 runs without a difference called one"
    );
}

#[test]
fn a_missing_pair_costs_its_block_and_is_listed() {
    let run = SampleRun::sidecar().edit(|record, _| {
        if (record.arm.as_str(), record.level.as_str(), record.block)
            == ("both-sidecars", "2000/s", 2)
        {
            record.status = TrialStatus::Failed {
                reason: "server-sidecar ended with code 139".into(),
                log_tail: vec!["segmentation fault".into()],
            };
        }
    });
    let view = view_of(&run);
    assert_eq!(
        overhead(&view, "both-sidecars", "direct", "2000/s", Metric::Median).pairs,
        4
    );
    assert_eq!(
        overhead(&view, "both-sidecars", "direct", "400/s", Metric::Median).pairs,
        5
    );
    let figure = figure(&view, "both-sidecars", "2000/s", Metric::Median);
    assert_eq!(figure.by_block.iter().filter(|v| v.is_none()).count(), 1);
    let warnings = sentences(&view, SentenceKind::Warning);
    assert!(
        warnings
            .iter()
            .any(|w| w.contains("1 trial discarded as failed") && w.contains("code 139")),
        "{warnings:?}"
    );
}

#[test]
fn unanswered_exchanges_turn_the_quantiles_they_reach_into_bounds() {
    let run = SampleRun::sidecar().edit(|record, exchanges| {
        if record.arm == "client-sidecar" && record.level == "2000/s" {
            // 5 % of the exchanges were still open when the drain ended, 10 s old.
            let latency = exchanges.tag("client.echo.latency");
            let open = latency.len() / 20;
            latency.truncate(latency.len() - open);
            for _ in 0..open {
                exchanges
                    .tag("client.echo.latency.unfinished")
                    .push((1, 10_000_000_000));
            }
            record.load[0].ok -= open as u64;
            record.load[0].completed_in_window.ok -= open as u64;
            record.load[0].unfinished += open as u64;
        }
    });
    let view = view_of(&run);
    let p99 = figure(&view, "client-sidecar", "2000/s", Metric::P99);
    assert!(p99.is_lower_bound, "{p99:?}");
    assert_eq!(p99.text, "> 10.00 s".replace(".00", ".0"));
    let median = figure(&view, "client-sidecar", "2000/s", Metric::Median);
    assert!(!median.is_lower_bound, "{median:?}");
    let outcome = &overhead(&view, "client-sidecar", "direct", "2000/s", Metric::P99).outcome;
    assert!(
        matches!(outcome, Outcome::None { reason } if reason.contains("unanswered")),
        "{outcome:?}"
    );
    let curve = &cell(&view, "client-sidecar", "2000/s").latency;
    assert!(curve.last().unwrap().is_lower_bound && !curve[0].is_lower_bound);
    // 5 % of what was offered never came: the rate was not carried, and that is said loudly.
    let warnings = sentences(&view, SentenceKind::Warning);
    assert!(
        warnings
            .iter()
            .any(|w| w.starts_with("OFFERED RATE NOT ACHIEVED: client-sidecar at 2000")),
        "{warnings:?}"
    );
}

#[test]
fn a_timeout_is_an_exchange_that_took_longer() {
    let run = SampleRun::sidecar().edit(|record, exchanges| {
        if record.arm == "client-sidecar" && record.level == "2000/s" {
            for quantity in ["latency", "service"] {
                let late = exchanges.tag(&format!("client.echo.{quantity}.timeout"));
                late.extend(vec![(1, 5_000_000_000); 600]);
            }
        }
    });
    let view = view_of(&run);
    for metric in [Metric::P99, Metric::ServiceP99] {
        let p99 = figure(&view, "client-sidecar", "2000/s", metric);
        assert!(p99.is_lower_bound && p99.text.starts_with("> 5"), "{p99:?}");
    }
    let median = figure(&view, "client-sidecar", "2000/s", Metric::Median);
    assert!(!median.is_lower_bound, "{median:?}");
}

#[test]
fn rates_and_costs_are_of_what_was_answered_in_the_window() {
    // Of the exchanges intended in the window, a tenth was answered in the drain.
    let in_drain = |record: &mut tare_record::record::TrialRecord| {
        let role = &mut record.load[0];
        role.completed_in_window.ok = role.ok * 9 / 10;
    };
    let plain = sidecar();
    let late = view_of(&SampleRun::sidecar().edit(move |record, _| in_drain(record)));
    let of = |view: &View, metric| {
        let value = figure(view, "client-sidecar", "2000/s", metric).value;
        value.unwrap()
    };
    for (metric, times) in [(Metric::Throughput, 0.9), (Metric::Cpu, 1.0 / 0.9)] {
        let ratio = of(&late, metric) / of(&plain, metric);
        assert!((ratio - times).abs() < 1e-3, "{metric:?}: {ratio}");
    }
    assert!(cell(&plain, "client-sidecar", "2000/s").rate_reached);
    assert!(!cell(&late, "client-sidecar", "2000/s").rate_reached);
}

#[test]
fn what_was_not_measured_was_neither_reached_nor_free() {
    let view = view_of(&SampleRun::sidecar().edit(|record, _| {
        if record.arm == "client-sidecar" {
            record.status = TrialStatus::Unfit {
                reasons: vec!["late".into()],
            };
        } else if record.arm == "both-sidecars" {
            record
                .instances
                .retain(|part| part.role == "agent" || part.role == "conductor");
        }
    }));
    assert!(!cell(&view, "client-sidecar", "2000/s").rate_reached);
    let cpu = figure(&view, "both-sidecars", "2000/s", Metric::Cpu);
    assert_eq!((cpu.value, cpu.text.as_str()), (None, "–"));
}

#[test]
fn a_quantile_without_ten_observations_beyond_it_is_not_shown() {
    let view = view_of(&SampleRun {
        rates_per_s: vec![400],
        ..SampleRun::sidecar()
    });
    // 2400 exchanges a trial: p99 has 24 beyond it, p99.9 has 2.
    assert!(
        figure(&view, "direct", "400/s", Metric::P99)
            .value
            .is_some()
    );
    let p999 = figure(&view, "direct", "400/s", Metric::P999);
    assert_eq!((p999.value, p999.text.as_str()), (None, "–"));
}

#[test]
fn a_level_at_which_the_cores_were_saturated_is_beyond_the_knee_and_not_the_answer() {
    let run = SampleRun::sidecar().edit(|record, _| {
        record.saturated = record.level == "2000/s" && record.arm.starts_with("both-sidecars");
    });
    let view = view_of(&run);
    assert!(view.levels[0].beyond_knee.is_none());
    assert!(
        view.levels[1]
            .beyond_knee
            .as_ref()
            .unwrap()
            .contains("saturated in 5 of 5 trials of both-sidecars")
    );
    let first = sentences(&view, SentenceKind::Finding)[0];
    assert!(first.contains("at 400 requests/s"), "{first}");
    let warnings = sentences(&view, SentenceKind::Warning);
    assert!(
        warnings
            .iter()
            .any(|w| w.starts_with("2000/s lies beyond the knee")),
        "{warnings:?}"
    );
}

#[test]
fn before_the_third_block_there_are_estimates_and_no_verdict() {
    let view = view_of(&SampleRun {
        blocks: 2,
        ..SampleRun::sidecar()
    });
    assert_eq!(view.run.state, ViewState::Provisional);
    for overhead in &view.overheads {
        assert!(
            overhead
                .ratio
                .is_none_or(|r| r.low.is_none() && r.high.is_none())
        );
        assert!(
            matches!(overhead.outcome, Outcome::None { .. }),
            "{overhead:?}"
        );
    }
    let findings = sentences(&view, SentenceKind::Finding);
    assert!(
        findings[0].starts_with("Provisional, after 2 blocks of 5"),
        "{findings:?}"
    );
    assert!(findings[1].contains("median +0.3"), "{findings:?}");
}

#[test]
fn levels_are_compared_when_the_experiment_asks_for_it() {
    let mut run = SampleRun {
        compare: Compare::Levels,
        ..SampleRun::sidecar()
    };
    run.arms.truncate(1);
    run.published.clear();
    let view = view_of(&run);
    assert!(view.arms.iter().all(|arm| !arm.baseline));
    let median = overhead(&view, "direct", "direct", "2000/s", Metric::Median);
    assert_eq!(median.against_level, "400/s");
    assert_eq!(median.pairs, 5);
    let throughput = overhead(&view, "direct", "direct", "2000/s", Metric::Throughput);
    assert!((throughput.ratio.unwrap().estimate - 5.0).abs() < 1e-9);
    let first = sentences(&view, SentenceKind::Finding)[0];
    assert!(
        first.starts_with("At 2000 requests/s, against 400 requests/s: "),
        "{first}"
    );
}

#[test]
fn what_else_the_machine_did_is_said() {
    let run = SampleRun::sidecar().edit(|record, _| {
        if let Some(machine) = record.machine.as_mut() {
            machine.core_busy[0] = 0.92;
            machine.background = Some(BackgroundLoad {
                target_cores: 0.3,
                agent_cores: Some(0.12),
            });
            machine.steal_share = Some(0.05);
        }
    });
    let view = view_of(&run);
    let warnings = sentences(&view, SentenceKind::Warning);
    for said in [
        "Other programs used 30 % of the parts' cores and 12 % of the generator's core during the run.",
        "the parts' cores were 92 % busy, 30 points of it other programs.",
    ] {
        assert!(
            warnings.iter().any(|w| w.ends_with(said)),
            "{said}: {warnings:?}"
        );
    }
    let host = row(&view, "host-usage", Some("400/s"), &["direct"]);
    assert_eq!(texts(host)[2..5], ["92 %", "30 %", "12 %"]);
    assert!(
        warnings.iter().any(|w| w.contains("took 5 % of the time")),
        "{warnings:?}"
    );
}

#[test]
fn a_part_that_its_cpu_limit_held_back_is_said_with_the_arm_and_the_share() {
    let run = SampleRun::sidecar().edit(|record, _| {
        let is_held = record.arm == "both-sidecars";
        for part in &mut record.instances {
            part.quota_periods = Some(200);
            part.throttled_periods = Some(u64::from(is_held && part.instance == "server") * 82);
        }
    });
    let view = view_of(&run);
    let warnings = sentences(&view, SentenceKind::Warning);
    let said = "The CPU limit of server held it back in both-sidecars (41 %)";
    let of_limits: Vec<&&str> = warnings
        .iter()
        .filter(|w| w.contains("CPU limit"))
        .collect();
    assert!(
        of_limits.len() == 1 && of_limits[0].starts_with(said),
        "{warnings:?}"
    );
}

#[test]
fn instances_of_other_arms_are_said_apart_from_other_programs() {
    let run = SampleRun::sidecar().edit(|record, _| {
        if let Some(machine) = record.machine.as_mut() {
            machine.core_busy[0] = 0.92;
            machine.background = Some(BackgroundLoad {
                target_cores: 0.03,
                agent_cores: Some(0.0),
            });
            machine.other_arms = Some(0.18);
        }
    });
    let view = view_of(&run);
    let warnings = sentences(&view, SentenceKind::Warning);
    for said in [
        "used 18 % of the parts' cores; other programs 3 %. The results hold for",
        "the parts' cores were 92 % busy, 18 points of it instances of other arms.",
    ] {
        assert!(
            warnings.iter().any(|w| w.contains(said)),
            "{said}: {warnings:?}"
        );
    }
    assert!(
        !warnings.iter().any(|w| w.starts_with("Other programs")),
        "{warnings:?}"
    );
    let host = row(&view, "host-usage", Some("400/s"), &["direct"]);
    assert_eq!(host[5].text, "18 %");
}

#[test]
fn a_load_at_full_speed_says_where_the_generator_was_the_limit() {
    let said = |schedule: Option<u64>| {
        let run = SampleRun::sidecar().edit(move |record, _| {
            for role in &mut record.load {
                role.generator.bunched = schedule;
                role.generator.worker_cpu_ns = vec![role.window_ns * 95 / 100];
                role.generator.worker_spun_ns = vec![role.window_ns * 5 / 100];
            }
        });
        let view = view_of(&run);
        sentences(&view, SentenceKind::Warning)
            .iter()
            .any(|w| w.starts_with("The generator was the limit"))
    };
    assert!(said(None));
    // On a schedule it would have made the trial unfit.
    assert!(!said(Some(0)));
}

#[test]
fn a_published_figure_stands_beside_ours_with_its_caveat() {
    let view = sidecar();
    let row = &view.published[0];
    assert_eq!(
        (row.published.as_str(), view.published.len()),
        ("+10 ms", 1)
    );
    assert!(
        row.measured.starts_with("+0.3") && row.measured.contains('('),
        "{}",
        row.measured
    );
    let notes = sentences(&view, SentenceKind::Note);
    assert!(
        notes
            .iter()
            .any(|n| n.contains("policy and telemetry service")),
        "{notes:?}"
    );
}
