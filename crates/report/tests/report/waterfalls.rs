//! Planted parts come out as what they are, add up, and are compared between orders.

use tare_record::metric::Metric;
use tare_record::plan::{Sequence, Subject};
use tare_record::view::{SentenceKind, View, WaterfallView};

use crate::fixture::SampleRun;
use crate::view_of;

pub fn run() -> SampleRun {
    let mut run = SampleRun::sidecar();
    run.plan_edit = Some(|plan| {
        let all: Vec<String> = plan.arms.iter().map(|arm| arm.name.clone()).collect();
        let ends = vec![all[0].clone(), all[all.len() - 1].clone()];
        let order = |name: &str, arms| Sequence {
            name: name.into(),
            arms,
            adds: Default::default(),
        };
        let mut short = all.clone();
        short.remove(1);
        plan.waterfall = vec![
            order("forward", all),
            order("short", short),
            order("at-once", ends),
        ];
    });
    run
}

pub fn of<'a>(view: &'a View, level: &str, metric: Metric) -> &'a WaterfallView {
    let mut all = view.waterfalls.iter();
    all.find(|w| w.level == level && w.metric == metric)
        .unwrap()
}

#[test]
fn steps_telescope_to_the_total_and_the_total_is_what_was_planted() {
    let view = view_of(&run());
    assert_eq!(view.waterfalls.len(), 4, "two levels, mean and CPU");
    for waterfall in &view.waterfalls {
        for sequence in &waterfall.sequences {
            let total = sequence.total.unwrap();
            let added = sequence
                .steps
                .iter()
                .map(|step| step.added.unwrap().estimate);
            let sum: f64 = added.sum();
            assert!((sum - total.estimate).abs() <= 1e-12 * total.estimate.abs());
            assert_eq!(sequence.steps[0].from, sequence.start);
            assert_eq!(sequence.steps.last().unwrap().to, sequence.end);
            for pair in sequence.steps.windows(2) {
                assert_eq!(pair[0].to, pair[1].from);
            }
            assert_eq!(sequence.blocks, 5);
        }
        let totals: Vec<f64> = waterfall
            .sequences
            .iter()
            .map(|sequence| sequence.total.unwrap().estimate)
            .collect();
        assert!((totals[0] - totals[2]).abs() <= 1e-9 * totals[0].abs());
    }
    let cpu = of(&view, "2000/s", Metric::Cpu).sequences[0].total.unwrap();
    assert!(
        cpu.low.unwrap() < 0.42 && 0.42 < cpu.high.unwrap(),
        "{cpu:?}"
    );
}

#[test]
fn steps_are_named_by_what_is_more_and_compared_between_orders() {
    let view = view_of(&run());
    let waterfall = of(&view, "400/s", Metric::Mean);
    let what: Vec<&str> = waterfall.sequences[0]
        .steps
        .iter()
        .map(|step| step.what.as_str())
        .collect();
    assert_eq!(what, ["client-sidecar", "server-sidecar", "mTLS"]);
    let parts: Vec<&str> = waterfall.parts.iter().map(|p| p.what.as_str()).collect();
    assert_eq!(parts, ["mTLS"]);
    assert_eq!(waterfall.parts[0].added_texts[2], "–");
    assert_eq!(
        waterfall.checks,
        ["in the order short the one part that both orders add alone agrees within its interval"]
    );
}

#[test]
fn every_text_form_has_the_steps_and_only_where_there_are_any() {
    let view = view_of(&run());
    let screen = tare_report::terminal::Screen {
        width: 100,
        colour: tare_report::terminal::Colour::Off,
    };
    let terminal = tare_report::terminal::terminal(&view, screen);
    assert!(terminal.contains("400/s: mean, order forward (5 blocks)"));
    assert!(terminal.contains("+ mTLS") && terminal.contains('█'));
    let markdown = tare_report::markdown::markdown(&view);
    assert!(markdown.contains("| + mTLS |"), "{markdown}");
    let csv = tare_report::csv::csv(&view);
    assert!(csv.contains("mean: mTLS adds (forward)"));
    assert!(csv.contains("\"mean: mTLS adds, low (forward)\""));
    let without = tare_report::csv::csv(&view_of(&SampleRun::sidecar()));
    assert!(!without.contains("adds"));
}

#[test]
fn the_verdict_tells_the_sum_and_then_each_step_by_its_name() {
    let mut run = run();
    let edit = run.plan_edit.unwrap();
    // A plain function cannot hold the first edit: it is made again.
    run.plan_edit = Some(|plan| {
        let arms = plan.arms.iter().map(|arm| arm.name.clone()).collect();
        plan.waterfall = vec![Sequence {
            name: "forward".into(),
            arms,
            adds: [(
                "client-sidecar".to_owned(),
                Subject::singular("the client's sidecar"),
            )]
            .into(),
        }];
    });
    let findings = |run: &SampleRun| -> Vec<String> {
        let view = view_of(run);
        let found = view.verdict.into_iter();
        found
            .filter(|sentence| sentence.kind == SentenceKind::Finding)
            .map(|sentence| sentence.text)
            .collect()
    };
    let found = findings(&run);
    assert!(
        found[0].starts_with("All 3 steps from direct to both-sidecars-mtls together add 0.3")
            && found[0].contains(" to the mean and cost 0.42")
            && found[0].ends_with(" per 1000 requests at 2000 requests/s."),
        "{found:?}"
    );
    assert!(
        found[1].starts_with("The client's sidecar adds 0.1")
            && found[1].contains(" to the mean and costs 0.1"),
        "{found:?}"
    );
    assert!(
        found[3].starts_with("On top of both-sidecars, mTLS "),
        "{found:?}"
    );
    assert!(found[4].contains("at 400 requests/s"), "{found:?}");
    assert_eq!(found.len(), 5, "{found:?}");
    run.plan_edit = Some(edit);
    let checked = findings(&run);
    assert!(
        checked
            .iter()
            .any(|text| text.starts_with("Mean: in the order short the one part")),
        "{checked:?}"
    );
}
