//! A month of nights with a planted step: when it is named, with what, and what the readers say of it.

use std::fs;

use tare_record::api::{Confirmation, NightChange, NightReport};
use tare_record::metric::Metric;

use crate::rig::{NEXT_RUN, Place, nights, report};

const NIGHTS: u64 = 30;
/// The first night with the new version.
const STEP: u64 = 18;
const SUITE: &str = "acknowledged: known.yaml\nentries:\n- experiment: sidecar\n";
/// What the proxy adds to the latency of the direct arm, and what a median of both 10 % higher needs.
const ADDED_US: f64 = 150.0;

/// A month whose runs are prepared: the new version makes the median 10 % higher.
fn month() -> Place {
    let place = Place::new(SUITE, &[("sidecar", NEXT_RUN)]);
    place.write("known.yaml", "changes: []\n");
    place.prepare(0, ADDED_US, "1.40.0");
    place.run();
    let median = median(&place);
    for night in 1..NIGHTS {
        let (added, version) = match night < STEP {
            true => (ADDED_US, "1.40.0"),
            false => (ADDED_US + 0.1 * median, "1.41.0"),
        };
        place.prepare(night, added, version);
    }
    place
}

/// The median of the arm with a proxy in the first run, µs.
fn median(place: &Place) -> f64 {
    let run = tare_report::read(&place.at("runs/night-00")).unwrap();
    let view = tare_report::view(&run);
    let cell = view.levels[0]
        .cells
        .iter()
        .find(|cell| cell.arm == "client-sidecar");
    let mut figures = cell.unwrap().figures.iter();
    let figure = figures.find(|figure| figure.metric == Metric::Median);
    figure.unwrap().value.unwrap() / 1000.0
}

/// What is said of the median.
fn of_median(report: &NightReport) -> Option<&NightChange> {
    report
        .changes
        .iter()
        .find(|one| one.key.metric == Metric::Median)
}

#[test]
fn a_step_is_named_within_five_nights_with_its_run_and_what_changed_with_it() {
    let place = month();
    let mut named_after = None;
    for night in 1..NIGHTS {
        let report = place.run();
        let worse = report.changes.iter().any(|one| one.change.is_worse);
        assert!(
            night >= STEP || !worse,
            "night {night}: {:?}",
            report.changes
        );
        assert_eq!(report.exit_code, u8::from(worse), "night {night}");
        let Some(change) = of_median(&report) else {
            assert!(
                named_after.is_none(),
                "night {night}: it is not named any more"
            );
            continue;
        };
        let first = named_after.is_none();
        named_after.get_or_insert(night + 1 - STEP);
        // With few runs after it, the place can be one off.
        let near = [STEP - 1, STEP].map(|night| format!("night-{night}"));
        assert!(near.contains(&change.change.run), "{change:?}");
        assert_eq!(change.is_new, first, "night {night}");
        assert!((change.change.change - 0.1).abs() < 0.04, "{change:?}");
        let changed: Vec<String> = change
            .change
            .changed
            .iter()
            .map(|one| format!("{one:?}"))
            .collect();
        assert!(
            changed.len() == 1 && changed[0].contains("1.41.0"),
            "{changed:?}"
        );
    }
    println!("named after {named_after:?} nights");
    assert!(
        named_after.is_some_and(|nights| nights <= 5),
        "{named_after:?}"
    );

    let last = nights(&place).pop().unwrap();
    let markdown = fs::read_to_string(last.join("night.md")).unwrap();
    let html = fs::read_to_string(last.join("night.html")).unwrap();
    for said in [
        "Changes for the worse",
        "median +1",
        "since night-18 of 2026-12-09",
        "envoy 1.40.0 became 1.41.0",
    ] {
        assert!(
            markdown.contains(said) && html.contains(said),
            "{said}: {markdown}"
        );
    }
    let folder = last.to_string_lossy().into_owned();
    assert!(
        html.contains("<svg") && !html.contains("<script"),
        "{folder}"
    );

    // Known since its date; another arm's is not.
    for (known, exit_code) in [
        (
            "{experiment: istio-performance/sidecar, arm: direct, since: 2026-12-09, note: as planned}",
            1,
        ),
        (
            "{experiment: istio-performance/sidecar, since: 2026-12-01, note: too early}",
            1,
        ),
        (
            "{experiment: istio-performance/sidecar, metric: p99, since: 2026-12-09, note: another metric}",
            1,
        ),
        (
            "{experiment: istio-performance/sidecar, since: 2026-12-09, note: as planned}",
            0,
        ),
        (
            "{experiment: istio-performance/sidecar, metric: median, level: 400/s, since: 2026-12-10, note: as planned}",
            0,
        ),
        (
            "{experiment: istio-performance/sidecar, since: night-18, note: as planned}",
            0,
        ),
    ] {
        place.write("known.yaml", &format!("changes:\n- {known}\n"));
        // The last run again.
        place.write(
            "do/sidecar",
            &format!("echo '{{\"folder\":\"'$out'/night-{}\"}}'", NIGHTS - 1),
        );
        let report = place.run();
        assert_eq!(report.exit_code, exit_code, "{known}: {:?}", report.changes);
    }
    let report = place.run();
    assert!(of_median(&report).unwrap().acknowledged.as_deref() == Some("as planned"));
    assert!(report.unmatched.is_empty(), "{:?}", report.unmatched);
    what_matches_no_change_is_said(&place);
}

/// What acknowledgements mean nothing says the night and `tare history --changes`, each with the reason.
fn what_matches_no_change_is_said(place: &Place) {
    let sidecar = "experiment: istio-performance/sidecar";
    let known = [
        format!("{sidecar}, since: night-18, note: as planned"),
        format!(
            "{sidecar}, arm: client-sidecar, metric: median, since: 2026-11-24, note: too early"
        ),
        format!("{sidecar}, since: 2027-12-09, note: too late"),
        format!("{sidecar}, since: night-77, note: no run"),
        format!("{sidecar}, arm: server-sidecar, since: 2026-12-09, note: no arm"),
        "experiment: sidecar, since: 2026-12-09, note: short name".to_owned(),
        "experiment: mesh/gone, since: 2026-12-09, note: no experiment".to_owned(),
    ];
    let text = known.map(|one| format!("- {{{one}}}\n")).concat();
    place.write("known.yaml", &format!("changes:\n{text}"));
    let report = place.run();
    let reasons = [
        "acknowledged \"too early\" (istio-performance/sidecar, arm client-sidecar, metric median, since 2026-11-24) matches no change: \
         no series changed within 2 runs of it",
        "acknowledged \"too late\" (istio-performance/sidecar, since 2027-12-09) matches no change: there is no run of that date or later",
        "acknowledged \"no run\" (istio-performance/sidecar, since night-77) matches no change: there is no run of that name, and it is no date",
        "acknowledged \"no arm\" (istio-performance/sidecar, arm server-sidecar, since 2026-12-09) matches no change: \
         istio-performance/sidecar has no arm \"server-sidecar\": there are client-sidecar, direct",
        "acknowledged \"short name\" (sidecar, since 2026-12-09) matches no change: give the whole name, istio-performance/sidecar",
        "acknowledged \"no experiment\" (mesh/gone, since 2026-12-09) matches no change: \
         no complete run of \"mesh/gone\": known are istio-performance/sidecar; `tare history` lists the experiments",
    ];
    assert_eq!(report.unmatched, reasons);
    assert_eq!(report.exit_code, 0, "that is no change for the worse");
    let night = nights(place).pop().unwrap();
    let read = |name: &str| fs::read_to_string(night.join(name)).unwrap();
    let (markdown, html) = (read("night.md"), read("night.html"));
    for page in [&markdown, &html] {
        assert!(page.contains("Acknowledged without a change"), "{page}");
        assert_eq!(page.matches("matches no change").count(), reasons.len());
    }
    let history = place.history("istio-performance/sidecar");
    for said in reasons {
        assert!(history.contains(said), "{said}: {history}");
    }
    assert!(history.contains("; acknowledged: as planned"), "{history}");
    // One that is not valid is said as well.
    place.write("known.yaml", "changes:\n- {note: x}\n");
    let history = place.history("istio-performance/sidecar");
    assert!(history.contains("known.yaml:2:3"), "{history}");
}

#[test]
fn a_new_change_for_the_worse_is_confirmed_where_both_versions_can_be_run() {
    let verdict = |outcome: &str| {
        format!(
            "cat <<'EOF'\n{{\n  \"verdicts\": [{{\"metric\": \"median\", \"level\": \"400/s\", \"outcome\": \"{outcome}\", \"more\": 1}}]\n}}\nEOF\n"
        )
    };
    let error = r#"echo '{"error":{"message":"envoy 1.41.0 is not pinned","exit_code":2,"causes":[]}}'; exit 2"#;
    let not_testable = |reason: &str| Confirmation::NotTestable {
        reason: reason.to_owned(),
    };
    let place = month();
    for _ in 1..NIGHTS {
        place.run();
    }
    let state = fs::read_to_string(place.at("runs/.suite.json")).unwrap();
    let state = state.replace("\"run\": \"night-18\"", "\"run\": \"night-02\"");
    place.write(
        "do/sidecar",
        &format!("echo '{{\"folder\":\"'$out'/night-{}\"}}'", NIGHTS - 1),
    );
    for (does, wanted) in [
        (verdict("worse"), Confirmation::Confirmed),
        (verdict("same"), Confirmation::NotConfirmed),
        (verdict("undecided"), Confirmation::Undecided),
        (error.to_owned(), not_testable("envoy 1.41.0 is not pinned")),
        (
            verdict("worse").replace("400/s", "1/s"),
            not_testable("the comparison has no verdict on median at 400/s"),
        ),
    ] {
        // As if it had not been reported.
        fs::write(place.at("runs/.suite.json"), &state).unwrap();
        place.write("do/ab", &does);
        place.calls();
        let output = place
            .command(|options| options.confirm = true)
            .output()
            .unwrap();
        let night = report(&output);
        let change = of_median(&night).unwrap();
        assert_eq!(change.confirmation, Some(wanted));
        let calls = place.calls();
        let compared: Vec<&String> = calls
            .iter()
            .filter(|call| call.starts_with("ab "))
            .collect();
        let called = "ab --target=envoy --old-version=1.40.0 --new-version=1.41.0 --arm=client-sidecar --all-levels --json --out runs -- istio-performance/sidecar";
        assert_eq!(compared, [called], "one run for all metrics of the arm");
    }
    let night = report(
        &place
            .command(|options| options.confirm = true)
            .output()
            .unwrap(),
    );
    assert_eq!(
        of_median(&night).unwrap().confirmation,
        None,
        "it is not new any more"
    );
}
