//! The plan of `experiments/istio-performance/sidecar.yaml`, whole, in both forms.

use std::time::Duration;

use tare_experiment::estimate::{StartupTimes, estimate};
use tare_experiment::find::Library;
use tare_experiment::resolve::{ResolveOptions, resolve};
use tare_record::load::{Pacing, Stop};
use tare_record::plan::{Capacity, Form, Plan};

use crate::bench::{check_golden, here, repository, resolved};

fn sidecar(form: Form) -> Plan {
    let library = Library::in_directory(&repository(), tare_load::protocols::infos());
    let mut source = library.find("sidecar").unwrap();
    // The path differs with the place of the checkout.
    source.file = String::from("experiments/istio-performance/sidecar.yaml");
    resolve(
        &source,
        &library.catalog,
        &ResolveOptions::new(form, vec![0, 1]),
    )
    .unwrap()
}

fn check(form: Form, name: &str) {
    let plan = sidecar(form);
    let text = format!("{:#}\n", serde_json::to_value(&plan).unwrap());
    check_golden(&here().join("golden").join(name), &text);
}

#[test]
fn the_sidecar_experiment_resolves_to_the_committed_plan() {
    check(Form::Full, "sidecar.json");
}

#[test]
fn its_quick_form_resolves_to_the_committed_plan() {
    check(Form::Quick, "sidecar-quick.json");
}

#[test]
fn a_plan_reads_back_as_it_was_written() {
    let plan = sidecar(Form::Full);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

#[test]
fn the_sidecar_experiment_keeps_its_time_budget() {
    let full = estimate(&sidecar(Form::Full), &StartupTimes::default());
    assert_eq!(full.trials, (50, 50));
    assert!(full.block.unwrap() <= Duration::from_secs(50), "{full:?}");
    let total = full.total.unwrap().1;
    assert!(total <= Duration::from_secs(240), "{full:?}");
    let windows = full.measuring.unwrap() * 5;
    assert!(
        windows * 2 >= total,
        "half of the time must be measuring: {full:?}"
    );
    let quick = estimate(&sidecar(Form::Quick), &StartupTimes::default());
    assert!(
        quick.total.unwrap().1 <= Duration::from_secs(30),
        "{quick:?}"
    );
}

#[test]
fn a_p99_of_the_slow_level_has_ten_answers_beyond_it() {
    for cell in sidecar(Form::Full).cells {
        let Stop::Duration { window_ns } = cell.load[0].load.stop else {
            panic!("the window is a time");
        };
        let tare_record::load::Pacing::Constant { rate_per_s } = cell.load[0].load.pacing else {
            panic!("the loop is open");
        };
        assert!(window_ns as f64 / 1e9 * rate_per_s / 100.0 >= 10.0);
    }
}

fn rates(form: Form) -> Plan {
    let library = Library::in_directory(&repository(), tare_load::protocols::infos());
    let mut source = library.find("linkerd-vs-istio/rates").unwrap();
    source.file = String::from("experiments/linkerd-vs-istio/rates.yaml");
    resolve(
        &source,
        &library.catalog,
        &ResolveOptions::new(form, vec![0, 1]),
    )
    .unwrap()
}

#[test]
fn an_experiment_with_calls_behind_requests_resolves_to_the_committed_plan() {
    let text = format!("{:#}\n", serde_json::to_value(rates(Form::Quick)).unwrap());
    let path = here()
        .join("golden")
        .join("linkerd-vs-istio-rates-quick.json");
    check_golden(&path, &text);
}

#[test]
fn calls_behind_requests_stand_in_every_cell() {
    let plan = rates(Form::Full);
    assert_eq!(plan.cells.len(), 4 * 3);
    for cell in &plan.cells {
        let calls = &cell.load[0].calls;
        let of = |request: &str| -> Vec<(&str, u32)> {
            let edges = calls[request].iter();
            edges.map(|(edge, calls)| (edge.as_str(), *calls)).collect()
        };
        assert_eq!(of("list"), [("web->emoji", 1)]);
        assert_eq!(of("vote"), [("web->emoji", 1), ("web->voting", 1)]);
    }
    let needs: Vec<Option<&str>> = plan
        .arms
        .iter()
        .map(|arm| arm.requires.as_deref())
        .collect();
    assert_eq!(needs, [None, None, None, Some("kubernetes")]);
}

#[test]
fn an_app_that_calls_through_its_sidecar_starts_after_it() {
    let plan = rates(Form::Full);
    let instances = &plan.arms[1].topology.instances;
    let place = |name: &str| instances.iter().position(|i| i.name == name).unwrap();
    for (first, then) in [
        ("emoji", "emoji-sidecar"),
        ("emoji-sidecar", "web-sidecar"),
        ("voting-sidecar", "web-sidecar"),
        ("web-sidecar", "web"),
    ] {
        assert!(place(first) < place(then), "{first} before {then}");
    }
}

#[test]
fn the_quick_form_of_the_mesh_comparison_ends_within_six_minutes() {
    let quick = estimate(&rates(Form::Quick), &StartupTimes::default());
    let total = quick.total.unwrap().1;
    assert!(total <= Duration::from_secs(360), "{quick:?}");
}

#[test]
fn a_factor_of_rates_may_have_full_speed_among_them() {
    let library = Library::in_directory(&repository(), tare_load::protocols::infos());
    let source = library.find("istio-performance/grid").unwrap();
    let choices = ResolveOptions::new(Form::Full, vec![0, 1]);
    let plan = resolve(&source, &library.catalog, &choices).unwrap();
    let levels: Vec<&str> = plan.levels.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(levels, ["max rate", "400/s"]);
    let pacing = |level: &str| {
        let mut cells = plan.cells.iter().filter(|cell| cell.level == level);
        cells.next().map(|cell| cell.load[0].load.pacing.clone())
    };
    assert_eq!(pacing("max rate"), Some(Pacing::Max));
    assert_eq!(
        pacing("400/s"),
        Some(Pacing::Constant { rate_per_s: 400.0 })
    );
}

#[test]
fn full_speed_among_rates_leaves_none_in_that_is_too_high() {
    let text = "question: q?\nworkload: echo\narms: [{name: direct}]\ncompare: levels\nbeyond_knee: skip\nload: {duration: 1s}\n\
                factors: {load.rate: [max, 400, 50000]}\n";
    let mut plan = resolved(text, Form::Full);
    assert!(plan.needs_capacity_probe());
    plan.skip_levels_above(Capacity {
        arm: "direct".into(),
        achieved_per_s: 1000.0,
        measured_unix_us: 1,
    });
    let left: Vec<&str> = plan.levels.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(left, ["max rate", "400/s"]);
}
