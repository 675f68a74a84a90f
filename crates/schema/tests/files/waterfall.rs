//! Orders of arms for a waterfall: kept as written, thinned by the quick form, refused when they make no sense.

use tare_schema::plan::{Form, Plan, Sequence};

use crate::bench::plan;

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

fn resolved(form: Form) -> Plan {
    plan(GOOD, form).unwrap_or_else(|problems| panic!("{problems}"))
}

fn sequence(name: &str, arms: &[&str]) -> Sequence {
    Sequence {
        name: name.into(),
        arms: arms.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn sequences_stand_in_the_plan_and_the_quick_form_leaves_out_what_it_does_not_run() {
    let full = [
        sequence("forward", &["direct", "client", "both"]),
        sequence("at-once", &["direct", "both"]),
    ];
    assert_eq!(resolved(Form::Full).waterfall, full);
    let quick = [
        sequence("forward", &["direct", "both"]),
        sequence("at-once", &["direct", "both"]),
    ];
    assert_eq!(resolved(Form::Quick).waterfall, quick);
}

#[track_caller]
fn refused(from: &str, to: &str, expected: &str) {
    assert!(GOOD.contains(from), "{from}");
    let problems = plan(&GOOD.replacen(from, to, 1), Form::Full).unwrap_err();
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
        "arm \"direct\" stands twice in this sequence",
    );
    refused(forward, "[direct]", "2");
    refused("at-once", "forward", "two sequences are called \"forward\"");
    refused(
        "waterfall:",
        "compare: levels\nfactors: {load.rate: [400, 500]}\nwaterfall:",
        "a waterfall shows arms",
    );
}
