//! What stands beside the figures: packets, the machine, other people's figures, and why a figure is missing.

use tare_schema::metric::Metric;
use tare_schema::plan::{Ceiling, LeftOut, Published, PublishedFigure};
use tare_schema::record::PodUsage;
use tare_schema::view::{SentenceKind, View};

use crate::fixture::SampleRun;
use crate::{cell, overhead, sentences, view_of};

/// One level of little load, so that it is made in a moment.
fn small() -> SampleRun {
    SampleRun {
        rates_per_s: vec![400],
        window_s: 1,
        ..SampleRun::sidecar()
    }
}

fn terminal(view: &View) -> String {
    let screen = tare_report::terminal::Screen {
        width: 160,
        colour: tare_report::terminal::Colour::Off,
    };
    tare_report::terminal::terminal(view, screen)
}

#[test]
fn what_passed_through_pods_and_what_the_machine_did_is_shown_everywhere() {
    let run = small().edit(|record, _| {
        let machine = record.machine.as_mut().unwrap();
        machine.pods = vec![PodUsage {
            pod: "server".into(),
            packets_in: Some(880),
            packets_out: Some(840),
            bytes_in: Some(40_000),
            bytes_out: Some(480_000),
            tcp_opened: Some(0),
            tcp_accepted: Some(16),
            tcp_segments_sent: Some(840),
            tcp_retransmits: None,
        }];
        machine.softirq_share = Some(0.035);
    });
    let view = view_of(&run);
    let server = &cell(&view, "direct", "400/s").pods[0];
    // 400 exchanges: 2.2 packets in, 2.1 out, 100 bytes in, 1200 out of each.
    assert_eq!(
        server.texts,
        ["2200", "2100", "100 B", "1.20 kB", "16", "–"]
    );
    assert_eq!(cell(&view, "direct", "400/s").machine.texts[0], "3.5 %");
    let shown = terminal(&view);
    assert!(shown.contains("400/s: what passed through pods"), "{shown}");
    let markdown = tare_report::markdown::markdown(&view);
    assert!(
        markdown.contains("| direct | server | 2200 | 2100 |"),
        "{markdown}"
    );
    assert!(
        markdown.contains("400/s: what the machine did"),
        "{markdown}"
    );
    let csv = tare_report::csv::csv(&view);
    assert!(
        csv.contains("400/s,direct,,\"packets in, pod server\",2200,per 1000"),
        "{csv}"
    );
    assert!(csv.contains("400/s,direct,,softirq,0.035,share"));
    assert!(
        !csv.contains("retransmits"),
        "what is not known has no line"
    );
}

#[test]
fn a_quantile_that_needs_more_exchanges_says_how_many() {
    let view = view_of(&small());
    assert_eq!(
        view.levels[0].missing,
        ["too few exchanges in a trial, 400: p99 needs 1000, p99.9 needs 10,000"]
    );
    let p99 = overhead(&view, "client-sidecar", "direct", "400/s", Metric::P99);
    assert!(
        p99.outcome_text
            .contains("too few exchanges in a trial: p99 needs 1000, there were 400"),
        "{}",
        p99.outcome_text
    );
    assert!(terminal(&view).contains("p99 needs 1000"));
}

#[test]
fn every_source_has_a_column_of_its_own_beside_ours() {
    let mut run = small();
    let figure = |arm: &str, figure, source: &str| Published {
        arm: arm.into(),
        against: "direct".into(),
        metric: Metric::Median,
        level: Some("400/s".into()),
        figure,
        source: source.into(),
        caveat: None,
    };
    run.published = vec![
        figure("direct", PublishedFigure::Value(6e6), "no mesh"),
        figure(
            "client-sidecar",
            PublishedFigure::AddedNs(8_000_000),
            "Another 2.11.1",
        ),
    ];
    let view = view_of(&run);
    let columns = view.published_columns.as_ref().unwrap();
    assert_eq!(columns.theirs, ["no mesh", "Another 2.11.1"]);
    let row = &columns.rows[0];
    assert_eq!(row.theirs, ["6.00 ms", "+8.0 ms"]);
    assert!(
        !row.ours[0].starts_with('+') && row.ours[1].starts_with('+'),
        "{row:?}"
    );
    assert!(terminal(&view).contains("Another 2.11.1"));
    // One source needs no columns: its figures stand beside ours row by row.
    assert!(view_of(&small()).published_columns.is_none());
}

#[test]
fn a_level_that_was_left_out_and_the_addressing_that_was_chosen_are_told() {
    let mut run = small();
    run.plan_edit = Some(|plan| {
        plan.addressing = tare_schema::plan::Addressing::Auto;
        plan.ceiling = Some(Ceiling {
            arm: "both-sidecars-mtls".into(),
            carried_per_s: 1450.0,
            measured_unix_us: 1,
        });
        plan.left_out = vec![LeftOut {
            level: "2000/s".into(),
            why: "both-sidecars-mtls carries 1450/s at full speed here".into(),
        }];
    });
    let view = view_of(&run);
    let warnings = sentences(&view, SentenceKind::Warning);
    assert!(
        warnings.contains(
            &"2000/s was left out: both-sidecars-mtls carries 1450/s at full speed here."
        ),
        "{warnings:?}"
    );
    let facts: Vec<&(String, String)> = view.facts.iter().flat_map(|group| &group.facts).collect();
    let of = |name: &str| {
        facts
            .iter()
            .find(|fact| fact.0 == name)
            .map(|fact| fact.1.as_str())
    };
    assert_eq!(of("placement"), Some("loopback addresses"));
    assert_eq!(
        of("carried at full speed"),
        Some("1450/s (both-sidecars-mtls)")
    );
}
