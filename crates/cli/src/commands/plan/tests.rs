//! Tests of `tare plan` with the experiment `istio-performance/sidecar`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tare_experiment::estimate::StartupTimes;
use tare_experiment::find::Library;
use tare_experiment::resolve::{ResolveOptions, resolve};
use tare_record::metric::Metric;
use tare_record::plan::{BeyondKnee, Capacity, Form, Plan};
use tare_record::view::Noise;

use super::noise::{Detectable, Earlier, detectable_with, earlier};
use super::{as_json, text};

fn plan(form: Form) -> Plan {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = Library::in_directory(&repository, tare_load::protocols::infos());
    let source = library.find("istio-performance/sidecar").unwrap();
    resolve(
        &source,
        &library.catalog,
        &ResolveOptions::new(form, vec![0, 1]),
    )
    .unwrap()
}

fn said(plan: &Plan, earlier: &Earlier) -> String {
    text::text(
        plan,
        (earlier, &StartupTimes::default()),
        Path::new("runs"),
        None,
    )
}

#[test]
fn the_ways_of_all_arms_are_drawn() {
    let said = said(&plan(Form::Full), &Earlier::None);
    for line in [
        "direct (baseline): direct, no proxy",
        "  client ─▶ server\n",
        "  client ─▶ client-sidecar (envoy) ─▶ server\n",
        "  client ─▶ client-sidecar (envoy) ═mTLS═▶ server-sidecar (envoy) ─▶ server\n",
    ] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
}

#[test]
fn size_time_and_published_figures_are_told() {
    let said = said(&plan(Form::Full), &Earlier::None);
    for words in [
        "400/s · 2000/s",
        "8 (4 arms × 2 levels)",
        "open loop at a constant rate, http1 over 16 connections, warm-up 700ms, window 3s",
        "for 50 trials",
        "arms in random order",
        "the baseline runs twice in each",
        "both-sidecars-mtls against direct, median at 400/s: +10ms [Istio 0.7.1",
        "load from core 1, everything else on core 0",
    ] {
        assert!(said.contains(words), "{words} in\n{said}");
    }
}

#[test]
fn time_is_told_from_what_starting_took_here() {
    let plan = plan(Form::Quick);
    let of =
        |times: &StartupTimes| text::text(&plan, (&Earlier::None, times), Path::new("runs"), None);
    let guessed = of(&StartupTimes::default());
    assert!(
        guessed.contains("(the time that envoy and origin take to start here is a guess"),
        "{guessed}"
    );
    let mut usual = StartupTimes::default();
    usual.usual.insert("envoy".into(), Duration::from_secs(60));
    let usual = of(&usual);
    assert!(
        usual.contains("about 1") && usual.contains("guess"),
        "{usual}"
    );
    let mut times = StartupTimes::default();
    for target in ["envoy", "origin"] {
        times.starts.insert(target.into(), Duration::from_secs(60));
    }
    let known = of(&times);
    assert!(!known.contains("guess"), "{known}");
    // Five test beds per block, of one to three instances each: more than 10 minutes per block.
    assert!(
        known.contains("about 3") && guessed.contains("about 0:"),
        "{known}\n{guessed}"
    );
}

#[test]
fn without_an_earlier_run_nothing_is_promised() {
    let said = said(&plan(Form::Full), &Earlier::None);
    assert!(said.contains("no earlier run of this experiment in runs"));
}

#[test]
fn with_an_earlier_run_its_noise_says_what_can_be_told() {
    let earlier = Earlier::Run {
        folder: PathBuf::from("runs/2026-11-21T09-12-44-sidecar"),
        detectable: vec![
            Detectable {
                level: "400/s".into(),
                metric: Metric::Median,
                relative: Some(0.034),
            },
            Detectable {
                level: "400/s".into(),
                metric: Metric::P99,
                relative: None,
            },
        ],
    };
    let said = said(&plan(Form::Full), &earlier);
    assert!(
        said.contains("differences from median at 400/s: 3.4 %, p99 at 400/s: – with 5 blocks (noise of 2026-11-21T09-12-44-sidecar)"),
        "{said}"
    );
}

#[test]
fn half_the_noise_shows_half_the_difference() {
    let plan = plan(Form::Full);
    let with = |residual: f64| {
        let noise = Noise {
            level: "2000/s".into(),
            metric: Metric::Median,
            residual: Some(residual),
            minimum_detectable: None,
        };
        detectable_with(&plan, &[noise])[0].relative.unwrap()
    };
    let ratio = with(0.01) / with(0.005);
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
}

#[test]
fn noise_of_levels_and_metrics_that_are_not_judged_is_left_out() {
    let plan = plan(Form::Quick);
    let noise = |level: &str, metric| Noise {
        level: level.into(),
        metric,
        residual: Some(0.01),
        minimum_detectable: None,
    };
    let found = detectable_with(
        &plan,
        &[
            noise("400/s", Metric::Median),
            noise("2000/s", Metric::Max),
            noise("2000/s", Metric::Cpu),
        ],
    );
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].level.as_str(), found[0].metric),
        ("2000/s", Metric::Cpu)
    );
}

#[test]
fn a_folder_without_runs_is_no_earlier_run() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(earlier(directory.path(), &plan(Form::Full)), Earlier::None);
    std::fs::create_dir(directory.path().join("broken")).unwrap();
    std::fs::write(directory.path().join("broken/plan.json"), "{").unwrap();
    assert_eq!(earlier(directory.path(), &plan(Form::Full)), Earlier::None);
}

#[test]
fn json_holds_the_whole_plan_and_the_estimate() {
    let plan = plan(Form::Full);
    let value = as_json(&plan, &Earlier::None, &StartupTimes::default(), None).unwrap();
    let read: Plan = serde_json::from_value(value["plan"].clone()).unwrap();
    assert_eq!(read, plan);
    assert_eq!(value["estimate"]["trials_max"], 50);
    assert!(value["estimate"]["total_max_ns"].as_u64().unwrap() > 185_000_000_000);
    assert!(value["minimum_detectable"].is_null());
    assert_eq!(value["not_run"].as_array().unwrap().len(), 0);
}

#[test]
fn levels_beyond_what_is_carried_are_told_before_anything_runs() {
    let mut plan = plan(Form::Full);
    let told = |plan: &Plan, known: Option<&Capacity>| {
        text::text(
            plan,
            (&Earlier::None, &StartupTimes::default()),
            Path::new("runs"),
            known,
        )
    };
    assert!(!told(&plan, None).contains("max rate"));
    plan.beyond_knee = BeyondKnee::Skip;
    let unknown = told(&plan, None);
    assert!(
        unknown.contains(
            "before the first block both-sidecars and both-sidecars-mtls will be run at max rate"
        ),
        "{unknown}"
    );
    let mut capacity = Capacity {
        arm: "both-sidecars-mtls".into(),
        achieved_per_s: 2499.0,
        measured_unix_us: 1,
    };
    let beyond = told(&plan, Some(&capacity));
    assert!(
        beyond.contains(
            "2000/s will be skipped: both-sidecars-mtls sustains 2499/s at max rate here"
        ),
        "{beyond}"
    );
    capacity.achieved_per_s = 2501.0;
    assert!(told(&plan, Some(&capacity)).contains("no level lies above 80 % of it"));
    // The lowest level is kept at any capacity.
    capacity.achieved_per_s = 10.0;
    plan.skip_levels_above(capacity);
    assert_eq!((plan.levels.len(), plan.skipped_levels.len()), (1, 1));
    assert!(plan.cells.iter().all(|cell| cell.level == "400/s"));
}
