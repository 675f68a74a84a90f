//! Levels compared with each other: what is said, drawn and printed beside published figures, of records where records are counted.

use tare_record::agent::{RecordDirection, RecordFlow};
use tare_record::load::Pacing;
use tare_record::metric::Metric;
use tare_record::plan::{Compare, Need, Plan, Published, PublishedFigure};
use tare_record::record::{TargetCounter, TrialRecord};
use tare_record::view::{SentenceKind, View};

use crate::fixture::SampleRun;
use crate::{figure, sentences, texts, view_of};

fn published(figure: PublishedFigure, requires: Option<Need>) -> Published {
    Published {
        arm: "producers=3".into(),
        against: "producers=1".into(),
        metric: Metric::RecordsProduced,
        level: None,
        figure,
        requires,
        source: "theirs".into(),
        caveat: None,
    }
}

/// The name of a level, by the rate that it has in the fixture.
fn renamed(level: &str) -> String {
    match level {
        "400/s" => "producers=1",
        _ => "producers=3",
    }
    .into()
}

/// One producer that writes 400 records of 100 bytes a second and three that write 600, as fast as they can.
pub fn producers() -> SampleRun {
    let mut run = SampleRun {
        compare: Compare::Levels,
        rates_per_s: vec![400, 600],
        window_s: 1,
        ..SampleRun::sidecar()
    };
    run.arms.truncate(1);
    run.published = vec![
        published(PublishedFigure::Ratio(2.73), Some(Need::Headroom)),
        published(PublishedFigure::Words("linear".into()), None),
        published(PublishedFigure::Value(3_500_000.0), None),
        Published {
            arm: "producers=1".into(),
            against: "producers=3".into(),
            ..published(PublishedFigure::Ratio(0.4), None)
        },
    ];
    run.plan_edit = Some(|plan: &mut Plan| {
        plan.primary = vec![Metric::RecordsProduced];
        for (level, count) in plan.levels.iter_mut().zip([1, 3]) {
            level.name = format!("producers={count}");
            level.values = [("load.producers.agents".into(), count.into())].into();
        }
        for cell in &mut plan.cells {
            cell.level = renamed(&cell.level);
            cell.load[0].load.pacing = Pacing::Max;
        }
    });
    run.edit(|record, _| {
        record.level = renamed(&record.level);
        let role = &mut record.load[0];
        role.offered_per_s = None;
        // A little scatter: without any there is no interval to speak of.
        let count = role.ok + u64::from(record.trial % 3);
        role.flow = Some(RecordFlow {
            direction: RecordDirection::Produced,
            count,
            bytes: Some(count * 100),
            negative_end_to_end: None,
        });
        tell(record);
    })
}

/// What two brokers say of themselves.
fn tell(record: &mut TrialRecord) {
    let one = |instance: &str, name: &str, label: Option<&str>, value: f64| TargetCounter {
        instance: instance.into(),
        name: name.into(),
        label: label.map(String::from),
        value,
    };
    let own = format!("tare-{}", record.trial);
    record.target_counters = vec![
        one("broker-1", "bytes-in", None, 5e6),
        one("broker-2", "bytes-in", None, 7e6),
        one("broker-1", "topic-messages-in", Some(&own), 9.0),
        one("broker-1", "topic-messages-in", Some("tare-0"), 0.0),
        one("broker-1", "produce-requests", None, 4.0),
        one("broker-1", "produce-ms", Some("Total"), 10.0),
    ];
}

fn shown(view: &View) -> String {
    let screen = tare_report::terminal::Screen {
        width: 160,
        colour: tare_report::terminal::Colour::Off,
    };
    tare_report::terminal::terminal(view, screen)
}

#[test]
fn a_level_is_told_as_a_share_of_the_first_and_drawn_against_the_factor() {
    let view = view_of(&producers());
    let first = sentences(&view, SentenceKind::Finding)[0];
    assert!(
        first.starts_with("With 3 producers, against 1: records produced rise to × 1.5")
            && first.ends_with(")."),
        "{first}"
    );
    let [drawn] = view.factors.as_slice() else {
        panic!("{:?}", view.factors);
    };
    assert_eq!(
        (drawn.factor.as_str(), drawn.metric),
        ("load.producers.agents", Metric::RecordsProduced)
    );
    let points = &drawn.lines[0].points;
    let at: Vec<_> = points.iter().map(|point| point.at).collect();
    assert_eq!(at, [Some(1.0), Some(3.0)]);
    let (one, three) = (points[0].value.unwrap(), points[1].value.unwrap());
    assert!(three.low.unwrap() < three.estimate && (three.estimate - 601.0).abs() < 2.0);
    let theirs = points[1].published.unwrap();
    assert!((theirs / one.estimate - 2.73).abs() < 1e-9, "{theirs}");
    let text = shown(&view);
    for wanted in [
        "records produced",
        "bytes produced",
        "compared against producers=1",
        "× 1.5",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(
        !text.contains("throughput"),
        "records are the throughput: {text}"
    );
    let markdown = tare_report::markdown::markdown(&view);
    assert!(markdown.contains("by the published ratio"), "{markdown}");
}

#[test]
fn published_growth_is_not_testable_where_the_first_level_fills_the_machine() {
    let roomy = view_of(&producers());
    let ours: Vec<&str> = roomy
        .published
        .iter()
        .map(|one| one.measured.as_str())
        .collect();
    assert!(
        ours[0].starts_with("× 1.5") && ours[1].starts_with("× 1.5"),
        "{ours:?}"
    );
    assert_eq!(roomy.published[0].published, "× 2.7");
    assert_eq!(roomy.published[1].published, "linear");
    assert_eq!(
        roomy.published[2].against, "producers=3",
        "a value is compared with nothing"
    );
    assert_eq!(roomy.published[3].published, "× 0.40 against producers=3");
    assert_eq!(roomy.published[3].measured, "× 0.67 (no interval)");
    let full = view_of(&producers().edit(|record, _| record.saturated = true));
    let theirs = &full.published[0];
    assert!(
        theirs.measured.starts_with(
            "not testable here: at producers=1 the parts' cores were saturated already; × 1.5"
        ),
        "{theirs:?}"
    );
    assert!(
        full.published[1].measured.starts_with("× 1.5"),
        "words need no headroom"
    );
    let warnings = sentences(&full, SentenceKind::Warning).join(" ");
    assert!(
        warnings.contains("The parts' cores were saturated with 1 producer already"),
        "{warnings}"
    );
    assert!(
        warnings.contains("saturated in 10 of 10 trials"),
        "{warnings}"
    );
    assert!(full.levels.iter().all(|level| level.beyond_knee.is_none()));
    assert!(
        full.factors[0].lines[0]
            .points
            .iter()
            .all(|point| point.saturated)
    );
}

#[test]
fn a_busy_agent_fills_the_machine_as_well_as_busy_parts_do() {
    let view = view_of(&producers().edit(|record, _| {
        let ours = &mut record.load[0].generator;
        ours.cpu_ns = 950_000_000 + ours.worker_spun_ns.iter().sum::<u64>();
    }));
    let theirs = &view.published[0].measured;
    assert!(
        theirs.starts_with("not testable here: at producers=1 the agents' cores were saturated"),
        "{theirs}"
    );
    // Spinning is no work.
    let spun = view_of(&producers().edit(|record, _| {
        let ours = &mut record.load[0].generator;
        ours.cpu_ns = 950_000_000;
        ours.worker_spun_ns = vec![500_000_000];
    }));
    assert!(!spun.published[0].measured.starts_with("not testable here"));
}

#[test]
fn records_and_their_bytes_count_by_their_way_and_cost_is_per_record() {
    let view = view_of(&producers());
    let value = |metric| figure(&view, "direct", "producers=1", metric).value;
    let written = value(Metric::RecordsProduced).unwrap();
    assert!((value(Metric::BytesProduced).unwrap() / written - 100.0).abs() < 1e-9);
    assert_eq!(value(Metric::Throughput), Some(written));
    assert_eq!(value(Metric::RecordsConsumed), None);
    let read = view_of(&producers().edit(|record, _| {
        let role = &mut record.load[0];
        role.flow = Some(RecordFlow {
            direction: RecordDirection::Consumed,
            count: role.ok * 1000,
            bytes: None,
            negative_end_to_end: Some(0),
        });
    }));
    let cost = |view: &View| {
        figure(view, "direct", "producers=1", Metric::Cpu)
            .value
            .unwrap()
    };
    let ratio = cost(&view) / cost(&read);
    assert!(
        (ratio - 1000.0).abs() < 10.0,
        "a fetch brings many records: {ratio}"
    );
    let read = figure(&read, "direct", "producers=1", Metric::BytesConsumed);
    assert_eq!(read.value, None, "what is not known is not 0");
}

#[test]
fn what_parts_say_of_themselves_is_shown_per_part_with_means_of_what_is_counted() {
    let view = view_of(&producers());
    let mut tables = view.tables.iter();
    let told = tables.find(|table| table.id == "target-counters").unwrap();
    let labels: Vec<&str> = told.columns.iter().map(|one| one.label.as_str()).collect();
    assert_eq!(labels, ["figure", "broker-1", "broker-2"]);
    let rows: Vec<(&str, Vec<&str>)> = told
        .rows
        .iter()
        .map(|row| (row.cells[0].text.as_str(), texts(&row.cells[1..])))
        .collect();
    assert_eq!(
        rows,
        [
            ("bytes-in", vec!["5.00 MB", "7.00 MB"]),
            ("topic-messages-in (this trial's)", vec!["9", "–"]),
            ("topic-messages-in (tare-0)", vec!["0", "–"]),
            ("produce-requests", vec!["4", "–"]),
            ("produce-ms, mean (Total)", vec!["2.50 ms", "–"]),
        ]
    );
    let csv = tare_report::csv::csv(&view);
    assert!(
        csv.contains("producers=1,direct,,\"produce-ms, mean (Total), broker-1\",2.5,ms"),
        "{csv}"
    );
    assert!(
        tare_report::markdown::markdown(&view)
            .contains("| produce-ms, mean (Total) | 2.50 ms | – |")
    );
}
