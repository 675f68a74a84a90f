//! Orders of arms for a waterfall: kept as written, thinned by the quick form, refused when they make no sense.

use tare_record::plan::{Form, Plan, Sequence, Subject};

use tare_experiment::resolve::{Redirection, ResolveOptions};
use tare_record::topology::Interception;

use crate::bench::{changed, plan, plan_with, resolved};

const GOOD: &str = "\
question: What costs what?
workload: echo
arms:
  - name: direct
  - name: client
    sidecars: {on: [client], proxy: envoy}
  - name: both
    sidecars: {on: all, proxy: envoy}
load: {rate: 400, duration: 3s}
waterfall:
  - {name: forward, arms: [direct, client, both]}
  - {name: at-once, arms: [direct, both]}
quick: {arms: [direct, both], blocks: 3}
";

fn sequence(name: &str, arms: &[&str]) -> Sequence {
    Sequence {
        name: name.into(),
        arms: arms.iter().map(ToString::to_string).collect(),
        adds: Default::default(),
    }
}

#[test]
fn sequences_stand_in_the_plan_and_the_quick_form_leaves_out_what_it_does_not_run() {
    let full = [
        sequence("forward", &["direct", "client", "both"]),
        sequence("at-once", &["direct", "both"]),
    ];
    assert_eq!(resolved(GOOD, Form::Full).waterfall, full);
    let quick = [
        sequence("forward", &["direct", "both"]),
        sequence("at-once", &["direct", "both"]),
    ];
    assert_eq!(resolved(GOOD, Form::Quick).waterfall, quick);
}

#[track_caller]
fn refused(from: &str, to: &str, expected: &str) {
    let problems = plan(&changed(GOOD, from, to), Form::Full).unwrap_err();
    let said = problems.to_string();
    assert!(said.contains(expected), "{said}");
}

#[test]
fn what_is_no_sequence_is_refused() {
    let forward = "[direct, client, both]";
    refused(
        forward,
        "[direct, clint, both]",
        "case.yaml:11:36: unknown arm \"clint\": did you mean \"client\"?",
    );
    refused(
        forward,
        "[direct, client, direct]",
        "duplicate arm \"direct\" in this sequence",
    );
    refused(forward, "[direct]", "2");
    refused("at-once", "forward", "two sequences are called \"forward\"");
    refused(
        "waterfall:",
        "compare: levels\nfactors: {load.rate: [400, 500]}\nwaterfall:",
        "a waterfall shows arms",
    );
}

#[test]
fn what_an_arm_adds_is_kept_and_an_arm_that_cannot_run_here_leaves_its_order() {
    let text = GOOD
        .replacen("[direct, client, both]", "[direct, {arm: told, adds: a proxy}, {arm: client, adds: {plural: two things}}, both]", 1)
        .replacen(
            "  - name: both\n",
            "  - {name: told, sidecars: {on: [client], proxy: envoy, interception: redirect-if-possible}}\n  - name: both\n",
            1,
        )
        .replacen("{on: [client], proxy: envoy}", "{on: [client], proxy: envoy, interception: redirect}", 1);
    let mut choices = ResolveOptions::new(Form::Full, vec![0, 1]);
    let interceptions = |plan: &Plan, arm: &str| -> Vec<Interception> {
        let arm = plan.arms.iter().find(|found| found.name == arm).unwrap();
        let links = arm.topology.routes.iter().flat_map(|route| &route.segments);
        links.map(|link| link.interception).collect()
    };
    let possible = plan_with(&text, &choices).unwrap();
    let adds = |plan: &Plan| -> Vec<Subject> {
        let adds = &plan.waterfall[0].adds;
        adds.values().cloned().collect()
    };
    assert_eq!(
        possible.waterfall[0].arms,
        ["direct", "told", "client", "both"]
    );
    assert_eq!(
        adds(&possible),
        [Subject::plural("two things"), Subject::singular("a proxy")]
    );
    for arm in ["told", "client"] {
        assert_eq!(interceptions(&possible, arm)[0], Interception::Redirect);
    }
    choices.redirection = Redirection::Impossible("no nft here".into());
    let without = plan_with(&text, &choices).unwrap();
    assert_eq!(without.waterfall[0].arms, ["direct", "told", "both"]);
    assert_eq!(adds(&without), [Subject::singular("a proxy")]);
    assert_eq!(interceptions(&without, "told")[0], Interception::Explicit);
    let client = without
        .arms
        .iter()
        .find(|arm| arm.name == "client")
        .unwrap();
    assert_eq!(
        client.requires.as_deref(),
        Some("redirected traffic (no nft here)")
    );
}
