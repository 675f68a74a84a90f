//! Sessions of a workload: what is played, the calls behind it, what is done before a trial and after it.

use std::fs;
use std::path::Path;

use tare_experiment::catalog::Catalog;
use tare_experiment::find::Library;
use tare_experiment::resolve::{ResolveOptions, resolve};
use tare_record::load::Pacing;
use tare_record::plan::{Form, Plan, Preparation};

use crate::bench::{repository, source};

const AIRLINE: &str = "question: q
workload: {use: acmeair, database: origin}
arms: [{name: direct}]
compare: levels
load: {clients: 5, duration: 1s}
factors: {load.clients: [5, 20]}
per_request_level: 20 clients
";

fn airline(text: &str) -> Result<Plan, String> {
    let library = Library::in_directory(&repository(), tare_load::protocols::infos());
    let choices = ResolveOptions::new(Form::Full, vec![0, 1]);
    resolve(&source("case.yaml", text), &library.catalog, &choices)
        .map_err(|problems| problems.to_string())
}

#[test]
fn clients_play_the_workload_s_session_and_each_of_its_requests_has_its_calls() {
    let plan = airline(AIRLINE).unwrap();
    assert_eq!(plan.per_request_level.as_deref(), Some("20 clients"));
    let cell = &plan.cells[1];
    let role = &cell.load[0];
    assert!(matches!(
        role.load.pacing,
        Pacing::Closed { clients: 20, .. }
    ));
    assert_eq!(role.load.client.connections, 20);
    let session = role.load.mix.session.as_ref().unwrap();
    let steps = session.request_steps();
    let names: Vec<&str> = steps.iter().map(|s| s.request.name.as_str()).collect();
    let expected = "login view-profile update-profile query book list cancel";
    assert_eq!(names.join(" "), expected);
    assert_eq!(role.load.mix.tables[0].rows.len(), 200);
    assert!(role.load.requests.is_empty());
    for name in names {
        assert!(role.calls.contains_key(name), "{name}");
    }
    assert_eq!(role.calls["cancel"]["booking->customer"], 1);
}

#[test]
fn data_are_loaded_before_a_trial_and_audited_after_it_over_the_way_of_the_load() {
    let plan = airline(AIRLINE).unwrap();
    let cell = &plan.cells[0];
    let [Preparation::Request { step, ask }] = &cell.prepare[..] else {
        panic!("{:?}", cell.prepare)
    };
    assert_eq!(
        (step.as_str(), ask.request.path.as_str()),
        ("load", "/acmeair/loader/load")
    );
    let audit = &cell.audit[0].ask;
    assert_eq!(
        (audit.edge.as_str(), audit.from.as_str()),
        ("client->main", "client")
    );
    assert_eq!(audit.request.path, "/acmeair/audit");
    // A load that does not play the session is not held to its shares.
    let other = AIRLINE.replace("load: {clients", "load: {use: login, clients");
    let plan = airline(&other).unwrap();
    assert!(plan.cells[0].audit.is_empty() && plan.cells[0].prepare.is_empty());
}

#[test]
fn a_rate_of_sessions_is_not_held_against_what_is_carried_of_requests() {
    let rates = AIRLINE
        .replace("clients: 5", "rate: 5")
        .replace("load.clients: [5, 20]", "load.rate: [5, 20]")
        .replace("20 clients", "20/s");
    let both = |text: &str| format!("{text}beyond_knee: skip\n");
    assert!(!airline(&both(&rates)).unwrap().needs_capacity_probe());
    let queries = rates.replace("load: {rate", "load: {use: query, rate");
    assert!(airline(&both(&queries)).unwrap().needs_capacity_probe());
}

#[test]
fn a_level_whose_requests_are_asked_for_must_exist() {
    let said = airline(&AIRLINE.replace("20 clients", "21 clients")).unwrap_err();
    assert!(said.contains("did you mean \"20 clients\"?"), "{said}");
}

/// A workload whose audit has a body.
const AUDITED: &str = "workload: small
about: one service
parts: {client: {kind: client}, web: {kind: service, target: origin}}
edges: [{edge: client->web, protocol: http1}]
loads:
  default:
    edge: client->web
    requests: [{name: get}]
    audit: [{about: it adds up, request: {name: sum, method: POST, body: {BODY}}}]
";

#[test]
fn an_audit_with_a_body_that_cannot_be_sent_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("small");
    fs::create_dir(&own).unwrap();
    let of = |body: &str| {
        fs::write(own.join("workload.yaml"), AUDITED.replace("BODY", body)).unwrap();
        let workloads = folder.path().to_owned();
        let library = Library::in_directory(&repository(), tare_load::protocols::infos())
            .with(&[workloads], &[]);
        let text = "question: q\nworkload: {use: small}\narms: [{name: a}, {name: b, sidecars: {on: all, proxy: envoy}}]\nload: {rate: 5}\n";
        let choices = ResolveOptions::new(Form::Full, vec![0, 1]);
        let plan = resolve(&source("case.yaml", text), &library.catalog, &choices);
        plan.map(drop).map_err(|problems| problems.to_string())
    };
    assert_eq!(of("text: all"), Ok(()));
    let said = of("filler: 1kB").unwrap_err();
    assert!(
        said.contains("audit \"sum\" of the workload: a single request takes no filler"),
        "{said}"
    );
}

/// A workload folder of one load, which is this.
fn workload(load: &str, session: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("small");
    fs::create_dir(&own).unwrap();
    let text = format!(
        "workload: small
about: one service
parts: {{client: {{kind: client}}, web: {{kind: service, target: origin}}, store: {{kind: service, target: origin}}}}
edges: [{{edge: client->web, protocol: http1}}, {{edge: web->store, protocol: http1}}]
loads: {{default: {{edge: client->web, {load}}}}}
"
    );
    fs::write(own.join("workload.yaml"), text).unwrap();
    fs::write(own.join("user.yaml"), session).unwrap();
    let catalog = Catalog {
        workloads: vec![Path::new(folder.path()).to_owned()],
        programs: Vec::new(),
        targets: Vec::new(),
        protocols: tare_load::protocols::infos(),
    };
    let found = catalog
        .workload("small")
        .map_err(|problems| problems.to_string());
    assert!(found.as_ref().map_or(true, Option::is_some));
    found.map(|_| ())
}

#[test]
fn a_session_that_does_not_fit_its_workload_is_refused_with_the_place() {
    let user = "steps: [{name: home, path: /}, {name: cart, path: /cart}]\n";
    let calls = "session: user.yaml, calls: {home: {web->store: 1}, cart: {}}";
    assert_eq!(workload(calls, user), Ok(()));
    for (load, session, wanted) in [
        (
            calls,
            "steps: [{name: home, path: /}, {name: card, path: /cart}]\n",
            "request \"card\" of the session is missing here",
        ),
        (
            calls,
            "steps: [{name: home}]\n",
            "a request has a name and a path",
        ),
        ("session: usr.yaml", user, "usr.yaml"),
        (
            "session: user.yaml, requests: [{name: a}]",
            user,
            "requests or a session",
        ),
        (
            "requests: [{name: a}], calls: {a: {}}",
            user,
            "unexpected `calls`",
        ),
        (
            "session: user.yaml, calls: {home: {web->stor: 1}, cart: {}}",
            user,
            "did you mean",
        ),
        (
            "session: user.yaml, calls: {home: {client->web: 1}, cart: {}}",
            user,
            "begins at a client",
        ),
        (
            "session: user.yaml, prepare: [fill]",
            user,
            "no step \"fill\"",
        ),
    ] {
        let said = workload(load, session).unwrap_err();
        assert!(said.contains(wanted), "{load}: {said}");
    }
}
