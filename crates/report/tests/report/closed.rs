//! Closed loops: where the knee of the baseline lies, what is not said of clients that wait, and what the proxies cost together.

use tare_record::load::{Pacing, ThinkDistribution};
use tare_record::metric::Metric;
use tare_record::plan::Plan;
use tare_record::view::SentenceKind;

use crate::fixture::SampleRun;
use crate::{figure, sentences, view_of};

/// Three levels that carry 200, 400 and 405 answers a second, as clients 1, 20 and 60; their cores are saturated.
pub fn closed() -> SampleRun {
    SampleRun {
        rates_per_s: vec![200, 400, 405],
        window_s: 1,
        plan_edit: Some(with_clients),
        ..SampleRun::sidecar()
    }
    .edit(|record, _| record.saturated = true)
}

fn with_clients(plan: &mut Plan) {
    for (level, clients) in plan.levels.iter_mut().zip([1, 20, 60]) {
        level.values = [("load.clients".to_owned(), clients.into())].into();
    }
    for role in plan.cells.iter_mut().flat_map(|cell| &mut cell.load) {
        role.load.pacing = Pacing::Closed {
            clients: 1,
            think_time_ns: 0,
            think_distribution: ThinkDistribution::None,
        };
    }
    plan.notes = vec!["A proxy is blind on one eye.".to_owned()];
}

#[test]
fn the_knee_of_the_baseline_is_marked_and_saturated_clients_are_no_warning() {
    let view = view_of(&closed());
    let notes = sentences(&view, SentenceKind::Note);
    let knee = notes.iter().find(|note| note.contains("knee"));
    assert!(
        knee.is_some_and(|note| note.starts_with("The knee of direct lies at 20 clients (400/s)")),
        "{notes:?}"
    );
    assert!(notes.contains(&"A proxy is blind on one eye."), "{notes:?}");
    assert!(view.levels.iter().all(|level| level.beyond_knee.is_none()));
    let warnings = sentences(&view, SentenceKind::Warning);
    assert!(
        !warnings.iter().any(|said| said.contains("saturated")),
        "{warnings:?}"
    );
}

#[test]
fn throughput_that_still_grows_with_the_last_clients_has_no_knee_here() {
    let mut run = closed();
    run.rates_per_s = vec![100, 200, 400];
    let view = view_of(&run);
    let notes = sentences(&view, SentenceKind::Note);
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("direct peaks at 60 clients (400/s)")),
        "{notes:?}"
    );
}

#[test]
fn all_proxies_together_cost_what_each_of_them_costs() {
    let view = view_of(&closed());
    let of = |arm: &str, metric| figure(&view, arm, "405/s", metric).value;
    assert_eq!(of("direct", Metric::MeshCpu), None);
    let (Some(one), Some(both)) = (
        of("client-sidecar", Metric::MeshCpu),
        of("both-sidecars", Metric::MeshCpu),
    ) else {
        panic!("no CPU of proxies");
    };
    // Planted: 180 µs for each proxy and exchange.
    assert!((one - 0.18).abs() < 0.01, "{one}");
    assert!((both - 0.36).abs() < 0.02, "{both}");
    assert!(of("both-sidecars", Metric::ProxyCpu).is_some_and(|busiest| busiest < both));
}
