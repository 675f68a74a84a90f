//! Parts that run already: where routes lead, what an arm cannot have, and what is said of a wrong file.

use std::collections::BTreeMap;

use tare_experiment::resolve::ResolveOptions;
use tare_record::load::{AddressPolicy, Trust};
use tare_record::metric::Metric;
use tare_record::plan::{Addressing, Form, Plan};
use tare_record::topology::{Interception, Security};

use crate::bench::{changed, plan_with, refused, resolved};

const GOOD: &str = "\
question: What does it cost before my own service?
workload: echo
arms:
  - name: direct
  - name: near
    sidecars: {on: [client], proxy: envoy}
load: {rate: 400, duration: 3s}
external: {server: 127.0.0.1:8080}
";

/// The same for what is written of the part.
#[track_caller]
fn refused_part(written: &str, expected: &str) {
    refused(
        GOOD,
        "{server: 127.0.0.1:8080}",
        &format!("\n  server: {written}"),
        &[expected],
    );
}

fn needs(plan: &Plan) -> Vec<Option<&str>> {
    plan.arms
        .iter()
        .map(|arm| arm.requires.as_deref())
        .collect()
}

#[test]
fn routes_lead_to_what_runs_already_and_nothing_is_started_for_it() {
    let plan = resolved(GOOD, Form::Full);
    assert_eq!(plan.addressing, Addressing::Loopback);
    for (arm, started) in plan
        .arms
        .iter()
        .zip([&["client"][..], &["client-sidecar", "client"]])
    {
        let topology = &arm.topology;
        let names: Vec<&str> = topology
            .instances
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(names, started);
        let pods: Vec<&str> = topology.pods.iter().map(|pod| pod.name.as_str()).collect();
        assert_eq!(pods, ["client"]);
        assert_eq!(topology.routes[0].to, "server");
        let server = topology.external("server").unwrap();
        assert_eq!(
            (server.at.as_str(), server.host.as_str()),
            ("127.0.0.1:8080", "127.0.0.1:8080")
        );
        assert_eq!(
            (server.protocol.as_str(), server.own()),
            ("http1", Security::Plaintext)
        );
        let not_proved = topology.not_proved();
        assert_eq!(not_proved.len(), 1);
        assert_eq!(
            not_proved[0].in_words(),
            "client->server at server: external: Tare did not start what answers at 127.0.0.1:8080, and no counter there says what arrived"
        );
    }
    assert_eq!(plan.workload.parts[1].target, "external");
    assert_eq!(needs(&plan), [None, None]);
    assert_eq!(plan.not_proved()[0].1, ["direct", "near"]);
    // What nobody counts has no verdict, and that is said.
    assert_eq!(plan.primary, [Metric::Median, Metric::P99]);
    assert_eq!(
        plan.notes,
        ["server is external: CPU and memory there is not known, and in no figure over all parts."]
    );
}

#[test]
fn without_external_parts_a_plan_says_nothing_of_them() {
    let plan = resolved(
        &changed(GOOD, "external: {server: 127.0.0.1:8080}\n", ""),
        Form::Full,
    );
    let written = serde_json::to_string(&plan).unwrap();
    assert!(!written.contains("external"), "{written}");
}

#[test]
fn several_addresses_are_instances_and_pages_are_read_at_each_host() {
    let counters = "counters: [{name: requests, from: {prometheus: {url: \"http://{host}:9100/metrics\", metric: n}}}, {name: cpu-seconds, from: {json: {url: \"http://{host}:9100/j\", pointer: /cpu}}}]";
    let text = changed(
        GOOD,
        "{server: 127.0.0.1:8080}",
        &format!(
            "\n  server: {{addresses: [127.0.0.1:8080, \"[::1]:81\"], host: shop.example, {counters}}}"
        ),
    );
    let plan = resolved(&text, Form::Full);
    let external = plan.external();
    let names: Vec<&str> = external.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["server-1", "server-2"]);
    assert!(external.iter().all(|one| one.host == "shop.example"));
    let routes: Vec<&str> = plan.arms[0]
        .topology
        .routes
        .iter()
        .map(|route| route.to.as_str())
        .collect();
    assert_eq!(routes, names);
    let url = |at: usize| {
        let text = serde_json::to_value(&external[at].counters[0]).unwrap();
        text["from"]["prometheus"]["url"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(url(0), "http://127.0.0.1:9100/metrics");
    assert_eq!(url(1), "http://[::1]:9100/metrics");
    let why = &plan.not_proved()[0].0.reason;
    assert!(
        why.contains("127.0.0.1:8080 and [::1]:81, and its counters are those"),
        "{why}"
    );
    assert!(plan.primary.contains(&Metric::Cpu), "it says what it uses");
    assert!(
        plan.notes[0].contains("memory there is not known"),
        "{:?}",
        plan.notes
    );
}

fn choices(part: &str, addresses: &[&str]) -> ResolveOptions {
    let addresses = addresses.iter().map(|&one| one.to_owned()).collect();
    ResolveOptions {
        external: BTreeMap::from([(part.to_owned(), addresses)]),
        ..ResolveOptions::new(Form::Full, vec![0, 1])
    }
}

#[test]
fn the_command_line_says_where_and_the_file_how() {
    let text = changed(
        GOOD,
        "127.0.0.1:8080",
        "{address: 127.0.0.1:8080, tls: {insecure: true}}",
    );
    let plan = plan_with(&text, &choices("server", &["10.0.0.7:443"])).unwrap();
    let server = plan.external()[0];
    assert_eq!(
        (server.at.as_str(), server.own()),
        ("10.0.0.7:443", Security::Tls)
    );
    assert_eq!(server.tls.as_ref().unwrap().trust, Trust::Any);
    // Neither does the file have to name it.
    let bare = changed(GOOD, "external: {server: 127.0.0.1:8080}\n", "");
    let plan = plan_with(&bare, &choices("server", &["127.0.0.1:1", "127.0.0.1:2"])).unwrap();
    assert_eq!(plan.external().len(), 2);
    let said = plan_with(&bare, &choices("servr", &["127.0.0.1:1"])).unwrap_err();
    assert!(
        said.to_string()
            .contains("unknown part \"servr\": did you mean \"server\"?"),
        "{said}"
    );
    let said = plan_with(&bare, &choices("server", &["8080"])).unwrap_err();
    assert!(said.to_string().contains("write HOST:PORT"), "{said}");
}

#[test]
fn only_the_command_line_lets_load_out() {
    let out = choices("server", &["203.0.113.7:80"]);
    let said = plan_with(GOOD, &out).unwrap_err().to_string();
    assert!(said.contains("--allow-public-target"), "{said}");
    let allowed = ResolveOptions {
        reach: AddressPolicy::Public,
        ..out
    };
    assert!(plan_with(GOOD, &allowed).is_ok());
    refused_part(
        "169.254.169.254:80",
        "case.yaml:9:11: 169.254.169.254 is a link-local address, where clouds keep their metadata services, and no private one: load on it may harm who runs it; with their consent add --allow-public-target",
    );
}

#[test]
fn arms_that_ask_for_what_cannot_be_there_are_listed_and_not_run() {
    let text = changed(
        GOOD,
        "  - name: near\n",
        "  - name: both\n    sidecars: {on: all, proxy: envoy, security: mtls}\n  \
         - name: named\n    sidecars: {on: [server], proxy: envoy}\n  \
         - name: captured\n    sidecars: {on: [client], proxy: envoy, interception: redirect}\n  \
         - name: own\n    edge_security: tls\n  \
         - name: maybe\n    sidecars: {on: [client], proxy: envoy, interception: redirect-if-possible}\n  \
         - name: near\n",
    );
    let plan = resolved(&text, Form::Full);
    let beside = Some("a sidecar beside server (external)");
    assert_eq!(
        needs(&plan),
        [
            None,
            beside,
            beside,
            Some(
                "redirected traffic (what is external is reached over the host's own network, where no pod has one of its own)"
            ),
            Some("TLS to server (external, speaks plaintext)"),
            None,
            None,
        ]
    );
    let maybe = &plan.arms[5].topology.routes[0];
    assert_eq!(maybe.segments[0].interception, Interception::Explicit);
    assert_eq!(plan.not_proved()[0].1, ["direct", "maybe", "near"]);
    // What is carried is what the server speaks, whatever an arm wants.
    assert_eq!(
        plan.arms[4].topology.routes[0].edge_security,
        Security::Plaintext
    );
}

#[test]
fn what_needs_pods_of_their_own_is_refused() {
    refused(
        GOOD,
        "external:",
        "addressing: namespaces\nexternal:",
        &[
            "case.yaml:8:1: pods in namespaces have no way to what is external, on the host's own network: write `addressing: loopback` (or --addressing loopback)",
        ],
    );
    refused(
        GOOD,
        "external:",
        "sites:\n  pods: {east: [client], west: []}\n  links: [{between: [east, west], round_trip: 9ms}]\nexternal:",
        &[
            "case.yaml:8:1: sites need pods with a network of their own, and what is external is reached over the host's: leave the sites out",
        ],
    );
}

#[test]
fn nothing_is_done_to_what_tare_did_not_start() {
    let external = |what: &str| format!("\"server\" is external: {what}");
    let faults = "Tare neither ends nor starts nor holds what it did not start";
    for act in ["kill", "stop", "start", "pause", "resume"] {
        refused(
            GOOD,
            "external:",
            &format!("faults: [{{at: 1s, {act}: server}}]\nexternal:"),
            &[&format!("case.yaml:8:10: {}", external(faults))],
        );
    }
    let limits = "its limits are not Tare's to set, leave them out";
    refused(
        GOOD,
        "external:",
        "limits: {server: {cpu: 1}}\nexternal:",
        &[&format!("case.yaml:8:10: {}", external(limits))],
    );
    let target = "leave its target out";
    refused(
        GOOD,
        "workload: echo",
        "workload: {use: echo, server: nginx}",
        &[&format!("case.yaml:2:23: {}", external(target))],
    );
    refused(
        GOOD,
        "  - name: near\n",
        "  - name: near\n    parts: {server: nginx}\n",
        &[&format!("case.yaml:6:13: {}", external(target))],
    );
    refused(
        GOOD,
        "  - name: near\n",
        "  - name: near\n    settings: {server: {workers: 2}}\n",
        &[&format!(
            "case.yaml:6:16: {}",
            external("it has no settings here")
        )],
    );
}

#[test]
fn it_is_said_where_a_part_is_and_that_once() {
    let where_is_it = "where is it? write one of address, addresses and bootstrap";
    refused_part("{host: a}", &format!("case.yaml:9:11: {where_is_it}"));
    refused_part(
        "{address: 127.0.0.1:1, addresses: [127.0.0.1:2]}",
        &format!("case.yaml:9:11: {where_is_it}"),
    );
    for wrong in ["http://127.0.0.1:80/", "127.0.0.1", "\":80\"", "\"::1:80\""] {
        refused_part(
            wrong,
            &format!(
                "case.yaml:9:11: invalid address \"{}\": write HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080",
                wrong.trim_matches('"')
            ),
        );
    }
    refused_part(
        "{addresses: [127.0.0.1:1, 127.0.0.1:1]}",
        "case.yaml:9:37: duplicate 127.0.0.1:1",
    );
    refused_part(
        "{address: 127.0.0.1:1, host: \"a b\"}",
        "case.yaml:9:40: a host is a name or an address, with a port or without: such as db.example:8080",
    );
    refused(
        GOOD,
        "{server: 127.0.0.1:8080}",
        "{client: 127.0.0.1:8080, srver: 127.0.0.1:1}",
        &[
            "case.yaml:8:20: agents play a client: only what is called can be external",
            "case.yaml:8:43: unknown part \"srver\": did you mean \"server\"?",
        ],
    );
    refused_part(
        "{adress: 127.0.0.1:1}",
        "case.yaml:9:12: unknown key \"adress\" in external part: did you mean \"address\"?",
    );
}

#[test]
fn a_counter_is_a_page_and_nothing_that_runs_or_reads_files() {
    let counter = |from: &str| {
        format!("{{address: 127.0.0.1:1, counters: [{{name: requests, from: {from}}}]}}")
    };
    let said = |words: &str| format!("case.yaml:9:45: {words}");
    let pages = "an experiment asks no beans, reads no logs and runs no commands: read a page by prometheus, json or text";
    for from in [
        "{jmx: {bean: \"kafka.server:type=Fetch\", attribute: Value}}",
        "{command: {command: [id], pattern: \"(?<value>.)\"}}",
        "{log: {file: /etc/passwd, pattern: x}}",
    ] {
        refused_part(&counter(from), &said(pages));
    }
    for url in [
        "https://127.0.0.1:1/",
        "http://127.0.0.1/",
        "http://unix:/run/docker.sock:/x",
        "file:///etc/passwd",
        "http://127.0.0.1:1/a b",
    ] {
        refused_part(
            &counter(&format!("{{prometheus: {{url: \"{url}\", metric: m}}}}")),
            &said(&format!(
                "invalid URL \"{url}\": write http://HOST:PORT/PATH"
            )),
        );
    }
    refused_part(
        &counter("{json: {url: \"http://{host}:1/\", pointer: \"/{{ edge }}\"}}"),
        &said("there are no templates here: leave {{ … }} out"),
    );
    refused_part(
        &counter(
            "{prometheus: {url: \"http://{host}:1/\", metric: m, where: {to: \"{{ edge }}\"}}}",
        ),
        &said("there are no templates here: leave {{ … }} out"),
    );
    refused_part(
        &counter("{text: {url: \"http://{host}:1/\", pattern: \"(?<value>\"}}"),
        &said("invalid pattern \"(?<value>\": error: unclosed group"),
    );
    refused_part(
        &counter("{prometheus: {url: \"http://169.254.169.254:80/\", metric: m}}"),
        &said(
            "169.254.169.254 is a link-local address, where clouds keep their metadata services, and no private one: load on it may harm who runs it; with their consent add --allow-public-target",
        ),
    );
    refused_part(
        "{address: 127.0.0.1:1, counters: [{name: request, from: {prometheus: {url: \"http://{host}:1/\", metric: m}}}]}",
        &said(
            "unknown counter \"request\": did you mean \"requests\"? (names of your own begin with x-)",
        ),
    );
    let two = "{addresses: [127.0.0.1:1, 127.0.0.1:2], counters: [{name: requests, from: {prometheus: {url: \"http://127.0.0.1:1/\", metric: m}}}]}";
    refused_part(
        two,
        "case.yaml:9:62: the part has 2 addresses: write {host} for the host of each",
    );
}
