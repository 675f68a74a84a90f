//! What is said about a wrong file, and where.

use std::collections::BTreeMap;

use tare_record::plan::{Form, Limits};

use crate::bench::{plan, refused};

const GOOD: &str = "\
question: What does it cost?
workload: {use: echo, payload: 1kB}
arms:
  - name: direct
  - name: both
    sidecars: {on: all, proxy: envoy}
load: {rate: 400, duration: 3s}
published:
  - {arm: both, metric: median, added: 10ms, source: somebody}
";

/// Problems of a text as lines.
fn said(text: &str) -> Vec<String> {
    match plan(text, Form::Full) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

/// The good file with one change says just this.
#[track_caller]
fn changed(from: &str, to: &str, expected: &str) {
    refused(GOOD, from, to, &[expected]);
}

#[test]
fn the_file_that_is_changed_here_is_good() {
    assert_eq!(said(GOOD), Vec::<String>::new());
}

#[test]
fn a_rate_is_a_number_or_max() {
    changed(
        "rate: 400",
        "rate: mox",
        "case.yaml:7:14: unknown word \"mox\": did you mean \"max\"?",
    );
    changed(
        "rate: 400",
        "model: poisson, rate: max",
        "case.yaml:7:15: model poisson needs a rate in numbers",
    );
}

#[test]
fn an_unknown_key_names_its_place_and_the_nearest() {
    changed(
        "    sidecars:",
        "    sidecar:",
        "case.yaml:6:5: unknown key \"sidecar\" in arm \"both\": did you mean \"sidecars\"?",
    );
    changed(
        "duration:",
        "duratoin:",
        "case.yaml:7:19: unknown key \"duratoin\" in load: did you mean \"duration\"?",
    );
    changed(
        "question:",
        "qestion: why?\nquestion:",
        "case.yaml:1:1: unknown key \"qestion\" in the experiment: known are compare, factors, beyond_knee, targets, external, prepare, faults, read_back, restart, burn_in, blocks, seed, placement, addressing, sites, limits, primary, margin, margin_absolute, assert, aa_check, fitness, waterfall, per_request_level, outliers and quick",
    );
}

#[test]
fn an_arm_that_stands_twice_points_at_both() {
    changed(
        "name: direct",
        "name: both",
        "case.yaml:5:11: duplicate arm \"both\": first in line 4",
    );
}

#[test]
fn no_arms_and_no_baseline_are_mistakes() {
    let none = "question: q\nworkload: echo\narms: []\nload: {rate: 1}\n";
    assert_eq!(
        said(none),
        ["case.yaml:3:7: the list is empty: it needs at least one entry"]
    );
    let one = "question: q\nworkload: echo\narms: [{name: only}]\nload: {rate: 1}\n";
    assert_eq!(
        said(one),
        [
            "case.yaml:3:1: only one arm, so there is no baseline to compare with: put one before it, or say `compare: levels`"
        ]
    );
}

#[test]
fn a_rate_of_zero_and_a_negative_time_are_mistakes() {
    changed("rate: 400", "rate: 0", "case.yaml:7:14: 0 is not above 0");
    changed(
        "rate: 400",
        "rate: .nan",
        "case.yaml:7:14: unknown word \".nan\": known are max and a number",
    );
    changed(
        "duration: 3s",
        "duration: -3s",
        "case.yaml:7:29: \"-3s\" is negative",
    );
    changed(
        "duration: 3s",
        "duration: 0s",
        "case.yaml:7:29: the window must be longer than nothing",
    );
    changed(
        "duration: 3s",
        "duration: 3",
        "case.yaml:7:29: \"3\" has no unit: write a number with ns, us, ms, s, m or h, such as 700ms",
    );
}

#[test]
fn unknown_names_get_the_nearest_known_one() {
    changed(
        "proxy: envoy",
        "proxy: envoi",
        "case.yaml:6:32: unknown target \"envoi\": did you mean \"envoy\"?",
    );
    changed(
        "use: echo",
        "use: ecco",
        "case.yaml:2:17: unknown workload \"ecco\": did you mean \"echo\"?",
    );
    changed(
        "on: all",
        "on: [clinet]",
        "case.yaml:6:21: unknown part \"clinet\": did you mean \"client\"?",
    );
    changed(
        "payload: 1kB",
        "paylod: 1kB",
        "case.yaml:2:23: unknown key \"paylod\" in workload \"echo\": did you mean \"payload\"?",
    );
    changed(
        "metric: median",
        "metric: medain",
        "case.yaml:9:25: unknown word \"medain\": did you mean \"median\"?",
    );
    changed(
        "arm: both",
        "arm: bath",
        "case.yaml:9:11: unknown arm \"bath\": did you mean \"both\"?",
    );
    changed(
        "metric: median",
        "metric: median, level: 40/s",
        "case.yaml:9:40: unknown level \"40/s\": did you mean \"400/s\"?",
    );
    changed(
        "proxy: envoy",
        "proxy: envoy, exclude: [\"client->sever\"]",
        "case.yaml:6:49: unknown edge \"client->sever\": did you mean \"client->server\"?",
    );
    changed(
        "proxy: envoy",
        "proxy: envoy, as: htp1",
        "case.yaml:6:43: edge client->server cannot be treated as htp1: did you mean \"http1\"?",
    );
    changed(
        "proxy: envoy",
        "proxy: envoy, settings: {worker: 2}",
        "case.yaml:6:50: target \"envoy\" has no setting \"worker\": did you mean \"workers\"?",
    );
}

#[test]
fn a_target_that_cannot_do_what_is_asked_says_what_it_can() {
    changed(
        "proxy: envoy",
        "proxy: origin",
        // It has neither the role nor a protocol to pass on; both are said at once.
        "case.yaml:6:32: target \"origin\" cannot be a sidecar: its roles are app",
    );
    changed(
        "    sidecars: {on: all, proxy: envoy}",
        "    via: {client->server: [{hop: sni, proxy: nginx}]}",
        "case.yaml:6:34: a hop sni routes by the name in TLS, but edge client->server carries no TLS of its own",
    );
    changed(
        "    sidecars: {on: all, proxy: envoy}",
        "    sidecars: {on: [server], proxy: envoy, security: mtls}",
        "case.yaml:6:54: security: mtls applies to no segment: no edge leads from one proxy of this arm to another",
    );
    changed(
        "    sidecars: {on: all, proxy: envoy}",
        "    parts: {server: envoy}",
        "case.yaml:6:21: target \"envoy\" cannot run as part \"server\": its roles are sidecar, gateway and ingress",
    );
}

#[test]
fn factors_are_checked_as_if_their_values_stood_in_the_file() {
    let with = |factors: &str| {
        said(&GOOD.replacen(
            "published:",
            &format!("factors: {{{factors}}}\npublished:"),
            1,
        ))
    };
    assert_eq!(
        with("load.rate: [400, 0]"),
        ["case.yaml:8:28: 0 is not above 0"]
    );
    assert_eq!(
        with("load.rat: [400]"),
        [
            "case.yaml:8:11: unknown key \"rat\" in load: known are use, edge, agents, model, from, to, ramp_duration, steps, interarrival, recording, speed, at_end, clients, think_time, think_distribution, connections, requests_per_connection, connect_ramp, requests, warmup, timeout, workers, spin, sched and sample_interval"
        ]
    );
    assert_eq!(
        with("workload.paylod: [1kB]"),
        [
            "case.yaml:8:11: factor \"workload.paylod\": workload \"echo\" has no setting \"paylod\": did you mean \"payload\"?"
        ]
    );
    assert_eq!(
        with("laod.rate: [1]"),
        [
            "case.yaml:8:11: factor \"laod.rate\": a factor is a key under load, workload or targets (load.rate, workload.payload, targets.envoy.workers): did you mean \"load\"?"
        ]
    );
    assert_eq!(
        with("load.rate: []"),
        ["case.yaml:8:22: factor \"load.rate\" has no values: list at least one"]
    );
    assert_eq!(
        with("load.rate: [7, 7]"),
        ["case.yaml:8:26: duplicate value of factor \"load.rate\""]
    );
    let many: Vec<String> = (1..=200).map(|n| n.to_string()).collect();
    let many = many.join(", ");
    let said = with(&format!("load.rate: [{many}], load.connections: [{many}]"));
    assert!(said[0].contains("40000 levels and 80000 cells"), "{said:?}");
}

#[test]
fn a_condition_of_a_published_figure_needs_levels() {
    changed(
        "added: 10ms, source",
        "added: 10ms, requires: headroom, source",
        "case.yaml:9:56: requires applies to levels: write `compare: levels`, or leave it out",
    );
}

#[test]
fn a_key_that_stands_twice_is_a_mistake() {
    changed(
        "rate: 400",
        "rate: 400, rate: 500",
        "case.yaml:7:19: duplicate key \"rate\": first in line 7",
    );
}

#[test]
fn the_quick_form_is_checked_even_when_the_full_one_is_asked_for() {
    let quick = |text: &str| said(&format!("{GOOD}quick: {text}\n"));
    assert_eq!(quick("{blocks: 3}"), Vec::<String>::new());
    assert_eq!(
        quick("{block: 3}"),
        ["case.yaml:10:9: unknown key \"block\" in quick: did you mean \"blocks\"?"]
    );
    assert_eq!(
        quick("{arms: [bath]}"),
        ["case.yaml:10:16: unknown arm \"bath\": did you mean \"both\"?"]
    );
    assert_eq!(
        quick("{load: {rate: -5}}"),
        ["case.yaml:10:22: -5 is not above 0"]
    );
    assert_eq!(
        quick("{factors: {workload.x: [1]}}"),
        [
            "case.yaml:10:19: factor \"workload.x\": workload \"echo\" has no setting \"x\": known are delay and payload"
        ]
    );
}

#[test]
fn several_mistakes_are_said_at_once() {
    let text = GOOD
        .replace("rate: 400", "rate: 0")
        .replace("on: all", "on: everything")
        .replace("source:", "sorce:");
    let said = said(&text);
    assert_eq!(said.len(), 4, "{said:#?}");
    assert!(said[0].starts_with("case.yaml:6:20: "), "{said:#?}");
}

#[test]
fn load_that_contradicts_itself_is_a_mistake() {
    changed(
        "rate: 400",
        "rate: 400, clients: 3",
        "case.yaml:7:28: clients belongs to model closed: take one of them out",
    );
    changed(
        "rate: 400, ",
        "",
        "case.yaml:7:1: say how fast: rate: 400, clients: 20, or model: max",
    );
    changed(
        "rate: 400, duration: 3s",
        "clients: [3]",
        "case.yaml:7:17: expected a whole number, found a list",
    );
}

#[test]
fn text_that_is_no_yaml_or_beyond_a_limit_has_a_place() {
    assert!(said("a: [1, 2")[0].starts_with("case.yaml:"));
    assert!(said("")[0].starts_with("case.yaml:1:1: the file is empty"));
    assert!(said("a: !x 1\n")[0].contains("tags (words with !) mean nothing here"));
    assert!(said("a: 1\n---\nb: 2\n")[0].contains("a second document begins here"));
    assert!(
        said(&format!("{}{}", "[".repeat(40), "]".repeat(40)))[0].contains("nested deeper than 32")
    );
    assert!(said(&format!("a: {}", "x".repeat(1 << 20)))[0].contains("more than 1048576"));
    // Each line nine of the one before: 9^9 values if it were written out.
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for n in 1..10 {
        let items = vec![format!("*a{}", n - 1); 9].join(",");
        bomb.push_str(&format!("a{n}: &a{n} [{items}]\n"));
    }
    assert!(said(&bomb)[0].contains("more than 100000 values"));
}

#[test]
fn what_is_wrong_with_a_workload_folder_is_said_of_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("mine");
    std::fs::create_dir(&folder).unwrap();
    let text = "\
workload: mine
about: a question
parts: {client: {kind: client}, server: {kind: service, target: origin, count: many}}
edges:
  - {edge: client->server, protocol: htp1}
  - {edge: client->sever, protocol: http1}
settings:
  server: {kind: size, default: 1kB, about: x}
  delay: {kind: period, default: 3, about: x}
loads: {default: {edge: server->client}}
";
    std::fs::write(folder.join("workload.yaml"), text).unwrap();
    let catalog = tare_experiment::catalog::Catalog {
        workloads: vec![directory.path().to_path_buf()],
        programs: Vec::new(),
        targets: Vec::new(),
        protocols: tare_load::protocols::infos(),
    };
    let file = folder.join("workload.yaml").display().to_string();
    let said = catalog.workload("mine").unwrap_err().to_string();
    let said: Vec<&str> = said
        .lines()
        .map(|line| line.strip_prefix(&file).unwrap())
        .collect();
    assert_eq!(
        said,
        [
            ":3:80: not a setting of kind integer: \"many\": known are delay and server",
            ":5:38: unknown protocol \"htp1\": did you mean \"http1\"?",
            ":6:12: unknown part \"sever\": did you mean \"server\"?",
            ":8:3: \"server\" is a part already: call the setting something else",
            ":9:34: \"3\" has no unit: write a number with ns, us, ms, s, m or h, such as 700ms",
            ":10:25: unknown edge \"server->client\": known are client->server and client->sever",
        ]
    );
}

#[test]
fn a_setting_that_a_workload_lacks_is_said_of_every_text_even_if_no_experiment_uses_its_load() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("mine");
    std::fs::create_dir(&folder).unwrap();
    let text = "\
workload: mine
about: a question
parts: {client: {kind: client}, server: {kind: service, target: origin}}
edges: [{edge: client->server, protocol: http1}]
settings: {size: {kind: integer, default: 3, about: x}}
loads:
  default: {edge: client->server, requests: [{name: a, path: \"/{{ size }}\"}]}
  spare: {edge: client->server, requests: [{name: a, path: \"/{{ sise }}\"}]}
";
    std::fs::write(folder.join("workload.yaml"), text).unwrap();
    let catalog = tare_experiment::catalog::Catalog {
        workloads: vec![directory.path().to_path_buf()],
        programs: Vec::new(),
        targets: Vec::new(),
        protocols: tare_load::protocols::infos(),
    };
    let said = catalog.workload("mine").unwrap_err().to_string();
    assert!(said.contains("workload.yaml:8:"), "{said}");
    assert!(
        said.ends_with("unknown setting \"sise\": did you mean \"size\"?"),
        "{said}"
    );
}

#[test]
fn limits_are_those_of_all_arms_and_of_one_and_name_what_is_there() {
    let good = GOOD.replace("sidecars: {on: all, proxy: envoy}", "sidecars: {on: all, proxy: envoy}\n    limits: {server-sidecar: {cpu: 300m}, server: {memory: 1GiB}}");
    let good = format!("limits: {{server: {{cpu: 1.5, memory: 64MiB}}}}\n{good}");
    let plan = plan(&good, Form::Full).unwrap();
    let both = plan.limits_of(&plan.arms[1]);
    let cpu = |limits: &BTreeMap<String, Limits>, name: &str| limits[name].cpu.unwrap();
    assert!((cpu(&both, "server-sidecar") - 0.3).abs() < 1e-12);
    assert!((cpu(&both, "server") - 1.5).abs() < 1e-12);
    assert_eq!(both["server"].memory_bytes, Some(1 << 30));
    let direct = plan.limits_of(&plan.arms[0]);
    assert_eq!(direct.keys().collect::<Vec<_>>(), ["server"]);
    assert_eq!(direct["server"].memory_bytes, Some(64 << 20));
    let arm = |limits: &str| format!("sidecars: {{on: all, proxy: envoy}}\n    limits: {limits}");
    changed(
        "sidecars: {on: all, proxy: envoy}",
        &arm("{sever: {cpu: 1}}"),
        "case.yaml:7:14: nothing is called \"sever\" in this arm: did you mean \"server\"?",
    );
    for wrong in ["0", "0m", "300u", "-1"] {
        let said = said(&GOOD.replace(
            "sidecars: {on: all, proxy: envoy}",
            &arm(&format!("{{server: {{cpu: {wrong}}}}}")),
        ));
        assert!(
            said.len() == 1 && said[0].contains("such as 300m"),
            "{wrong}: {said:?}"
        );
    }
}
