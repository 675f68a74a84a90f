//! What stands beside the figures: packets, links between sites, the machine, other people's figures, and why a figure is missing.

use tare_record::metric::Metric;
use tare_record::plan::{Capacity, Published, PublishedFigure, SkippedLevel};
use tare_record::record::{LinkDirectionUsage, LinkRtt, LinkUsage, PodUsage};
use tare_record::topology::SiteLink;
use tare_record::view::{SentenceKind, View};

use crate::fixture::SampleRun;
use crate::{cell, figure, overhead, row, sentences, texts, view_of};

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
            node: None,
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
    let server = row(&view, "pods", Some("400/s"), &["direct", "server"]);
    // 400 exchanges: 2.2 packets in, 2.1 out, 100 bytes in, 1200 out of each.
    assert_eq!(
        texts(server),
        ["2200", "2100", "100 B", "1.20 kB", "16", "–"]
    );
    let host = row(&view, "host-usage", Some("400/s"), &["direct"]);
    assert_eq!(host[0].text, "3.5 %");
    let shown = terminal(&view);
    assert!(shown.contains("400/s: pod network traffic"), "{shown}");
    let markdown = tare_report::markdown::markdown(&view);
    assert!(
        markdown.contains("| direct | server | 2200 | 2100 |"),
        "{markdown}"
    );
    assert!(markdown.contains("400/s: host"), "{markdown}");
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

/// A run at two sites: 400 exchanges a trial, a packet of 120 bytes each way each.
fn at_two_sites() -> SampleRun {
    let mut run = small().edit(|record, _| {
        let way = |from: &str, to: &str| LinkDirectionUsage {
            from: from.into(),
            to: to.into(),
            packets_in: 404,
            bytes_in: 48_480,
            packets_out: 400,
            bytes_out: 48_000,
            lost_packets: 4,
            overflowed_packets: Some(0),
            ..LinkDirectionUsage::default()
        };
        let directions = vec![way("east", "west"), way("west", "east")];
        let link = "east-west".into();
        record.machine.as_mut().unwrap().links = vec![LinkUsage { link, directions }];
    });
    run.plan_edit = Some(|plan| {
        plan.site_links = vec![SiteLink {
            between_clusters: false,
            between: ["east", "west"].map(String::from),
            one_way_ns: 12_000_000,
            jitter_ns: 0,
            rate_bits_per_s: None,
            queue_bytes: 0,
            loss: 0.01,
        }];
    });
    run.environment_edit = Some(|environment| {
        environment.link_rtts = vec![LinkRtt {
            link: "east-west".into(),
            sent: 1100,
            answered: 1079,
            p50_ns: Some(24_034_200),
            p99_ns: Some(24_151_900),
            min_ns: Some(24_003_000),
            max_ns: Some(25_000_000),
        }];
    });
    run
}

#[test]
fn what_lies_between_sites_and_what_crossed_it_is_shown_everywhere() {
    let view = view_of(&at_two_sites());
    let found = [
        "east–west 24ms, 1% lost",
        "24.034 ms",
        "24.152 ms",
        "1079 of 1100",
    ];
    let rtts = row(&view, "link-rtts", None, &[]);
    assert_eq!(texts(rtts), found);
    assert_eq!(rtts[1].value, Some(24_034_200.0));
    let traffic = |direction| row(&view, "link-traffic", Some("400/s"), &["direct", direction]);
    // 4 of 404 got lost.
    let crossed = ["1000", "120 B", "0.99 %", "0", "0", "0"];
    assert_eq!(texts(traffic("east → west")), crossed);
    assert_eq!(texts(traffic("west → east")), crossed);
    let shown = terminal(&view);
    assert!(
        shown.contains(found[0]) && shown.contains(found[1]),
        "{shown}"
    );
    assert!(shown.contains("400/s: link traffic"));
    assert!(shown.contains("west → east"));
    let markdown = tare_report::markdown::markdown(&view);
    let row = format!("| {} |", found.join(" | "));
    assert!(markdown.contains(&row), "{markdown}");
    let row = format!("| direct | east → west | {} |", crossed.join(" | "));
    assert!(markdown.contains(&row), "{markdown}");
    let csv = tare_report::csv::csv(&view);
    for line in [
        ",,,\"round trip east-west, median\",24034200,ns\n",
        "400/s,direct,,\"packets, east to west\",1000,per 1000\n",
        "400/s,direct,,\"packets lost, east to west\",0.009900990099009901,share\n",
    ] {
        assert!(csv.contains(line), "{line}{csv}");
    }
    let warnings = sentences(&view, SentenceKind::Warning);
    assert!(
        !warnings.iter().any(|text| text.contains("east")),
        "{warnings:?}"
    );
    // Everything at one site: none of it.
    let shown = terminal(&view_of(&small()));
    assert!(!shown.contains("sites"), "{shown}");
}

#[test]
fn a_link_that_was_not_as_asked_for_is_told() {
    let run = at_two_sites().edit(|record, _| {
        let east = &mut record.machine.as_mut().unwrap().links[0].directions[0];
        east.late_writes = 40;
        if record.block == 2 && record.arm == "direct" && record.aa_copy == 0 {
            east.no_buffer_packets = 3;
            east.overflowed_packets = Some(4);
        }
    });
    let view = view_of(&run);
    let drops = |arm| {
        let names = [arm, "east → west"];
        row(&view, "link-traffic", Some("400/s"), &names)[4].value
    };
    let found = (drops("direct"), drops("client-sidecar"));
    assert_eq!(found, (Some(7.0), Some(0.0)));
    let warnings = sentences(&view, SentenceKind::Warning);
    let dropped = "The link from east to west dropped 7 packets beyond its configured loss, in 1 of 25 trials: their retransmission is in the latencies.";
    let late = "10 % of the packets from east to west arrived over 0.2 ms later than configured: the machine was too busy to keep the delay of the link.";
    assert!(warnings.contains(&dropped), "{warnings:?}");
    assert!(warnings.contains(&late), "{warnings:?}");
}

#[test]
fn what_makes_the_distance_is_shown_and_is_no_part_of_what_is_measured() {
    let with_links = small().edit(|record, _| {
        record.instances.push(tare_record::record::InstanceUsage {
            instance: "links".into(),
            role: "link".into(),
            cpu_ns: Some(400_000_000),
            ..Default::default()
        });
    });
    let (with_links, without) = (view_of(&with_links), view_of(&small()));
    let cpu = |view, metric| figure(view, "direct", "400/s", metric).value.unwrap();
    let under_test = cpu(&without, Metric::Cpu);
    assert!((cpu(&with_links, Metric::Cpu) - under_test).abs() < 1e-12);
    // A CPU-second per 1000 exchanges more of all parts together: the total hides nothing.
    let more = cpu(&with_links, Metric::CpuTotal) - cpu(&without, Metric::CpuTotal);
    assert!((more - 1.0).abs() < 1e-9, "{more}");
    let links = cell(&with_links, "direct", "400/s").parts.iter();
    assert!(links.clone().any(|part| part.instance == "links"));
    assert!(terminal(&with_links).contains("links"));
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
            .contains("too few exchanges in a trial: p99 needs 1000, one had 400"),
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
        requires: None,
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
    let by_source = |view: &View| {
        let mut tables = view.tables.iter();
        let found = tables.find(|table| table.id == "published-by-source");
        found.cloned()
    };
    let table = by_source(&view).unwrap();
    let labels = table.columns.iter().map(|column| column.label.as_str());
    let labels: Vec<&str> = labels.collect();
    assert!(
        labels.ends_with(&["no mesh", "Another 2.11.1"]),
        "{labels:?}"
    );
    let found = texts(row(&view, &table.id, None, &["400/s", "median"]));
    assert!(found.ends_with(&["6.00 ms", "+8.0 ms"]), "{found:?}");
    assert!(
        !found[0].starts_with('+') && found[1].starts_with('+'),
        "{found:?}"
    );
    assert!(terminal(&view).contains("Another 2.11.1"));
    for published in &mut run.published {
        published.figure = PublishedFigure::Ratio(0.8);
    }
    assert!(by_source(&view_of(&run)).is_none(), "ratios stand in rows");
    // One source needs no columns: its figures stand beside ours row by row.
    assert!(by_source(&view_of(&small())).is_none());
}

#[test]
fn what_is_not_alike_is_said_once_for_all_sources_that_share_it() {
    let mut run = small();
    run.rates_per_s = vec![200, 400];
    let figure = |metric, level: &str, source: &str, caveat: &str| Published {
        arm: "client-sidecar".into(),
        against: "direct".into(),
        metric,
        level: Some(level.into()),
        figure: PublishedFigure::AddedNs(8_000_000),
        requires: None,
        source: source.into(),
        caveat: Some(caveat.into()),
    };
    run.published = vec![
        figure(Metric::Max, "200/s", "Another 2.11.1", "a disturbance"),
        figure(Metric::Median, "200/s", "Another 2.11.1", "another machine"),
        figure(Metric::Median, "200/s", "a mesh", "another machine"),
        figure(Metric::Median, "400/s", "Another 2.11.1", "another machine"),
        figure(Metric::Median, "400/s", "a mesh", "another machine"),
        figure(Metric::Median, "400/s", "a gateway", "another machine"),
        figure(Metric::Median, "200/s", "a study", "one machine"),
        figure(Metric::Median, "400/s", "a study", "one machine"),
        // The metric does not tell it from the others, its arm does.
        Published {
            arm: "both-sidecars".into(),
            ..figure(Metric::Median, "200/s", "a study", "read as alike")
        },
    ];
    let view = view_of(&run);
    let mut notes = sentences(&view, SentenceKind::Note);
    notes.retain(|note| note.contains("comparable"));
    assert_eq!(
        notes,
        [
            "Another 2.11.1 is not directly comparable: another machine. Of the maximum at 200 requests/s: a disturbance.",
            "a mesh and a gateway are not directly comparable: another machine.",
            "a study is not directly comparable: one machine. Of both-sidecars: read as alike.",
        ]
    );
}

#[test]
fn a_level_that_was_left_out_and_the_addressing_that_was_chosen_are_told() {
    let mut run = small();
    run.plan_edit = Some(|plan| {
        plan.addressing = tare_record::plan::Addressing::Auto;
        plan.capacity = Some(Capacity {
            arm: "both-sidecars-mtls".into(),
            achieved_per_s: 1450.0,
            measured_unix_us: 1,
        });
        plan.skipped_levels = vec![SkippedLevel {
            level: "2000/s".into(),
            reason: "both-sidecars-mtls sustains 1450/s at max rate here".into(),
        }];
    });
    let view = view_of(&run);
    let warnings = sentences(&view, SentenceKind::Warning);
    assert!(
        warnings
            .contains(&"2000/s was skipped: both-sidecars-mtls sustains 1450/s at max rate here."),
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
        of("sustained at max rate"),
        Some("1450/s (both-sidecars-mtls)")
    );
}

#[test]
fn what_is_observed_for_a_part_of_the_window_counts_for_all_of_it() {
    let cpu = |share: f64| {
        let run = small().edit(move |record, _| {
            let machine = record.machine.as_mut().unwrap();
            machine.window_ns = (machine.window_ns as f64 * share) as u64;
        });
        let view = view_of(&run);
        let parts = &view.levels[0].cells[0].parts;
        parts[0].cpu_s_per_1000.unwrap()
    };
    let whole = cpu(1.0);
    assert!((cpu(0.8) / whole - 1.25).abs() < 1e-6);
    // A load that ended by itself was observed until the last of its agents had ended, too.
    assert!((cpu(2.0) / whole - 1.0).abs() < 1e-9);
}
