//! TLS and logins of parts that run already: files beside the experiment, and the topics of clusters behind them.

use std::fs;

use tare_experiment::catalog::Catalog;
use tare_experiment::find::Library;
use tare_experiment::resolve::{ResolveOptions, resolve};
use tare_record::load::{Transport, Trust};
use tare_record::plan::{Form, Plan};
use tare_record::topology::Security;

use crate::bench::{repository, source};

/// An experiment in a folder of its own, with files beside it and one outside.
fn beside(external: &str, workload: &str) -> (tempfile::TempDir, Result<Plan, String>) {
    let place = tempfile::tempdir().unwrap();
    let own = place.path().join("own");
    fs::create_dir_all(own.join("keys")).unwrap();
    for file in [
        "own/ca.pem",
        "own/keys/client.pem",
        "own/keys/client.key",
        "own/password",
        "outside",
    ] {
        fs::write(place.path().join(file), "x").unwrap();
    }
    let text = format!(
        "question: q\nworkload: {workload}\narms: [{{name: a}}, {{name: b}}]\nexternal: {external}\n"
    );
    let file = own.join("case.yaml").display().to_string();
    let catalog: Catalog =
        Library::in_directory(&repository(), tare_load::protocols::infos()).catalog;
    let planned = resolve(
        &source(&file, &text),
        &catalog,
        &ResolveOptions::new(Form::Full, vec![0, 1]),
    );
    (place, planned.map_err(|problems| problems.to_string()))
}

#[test]
fn tls_and_passwords_are_files_beside_the_experiment() {
    let kafka = "{use: kafka}\nload: {use: produce, rate: 9}\nprepare: [topic]";
    let with = |tls: &str, sasl: &str| {
        beside(
            &format!(
                "{{broker: {{bootstrap: [127.0.0.1:9, 127.0.0.1:10], tls: {tls}, sasl: {sasl}}}}}"
            ),
            kafka,
        )
    };
    let tls =
        "{ca: ca.pem, cert: keys/client.pem, key: keys/client.key, server_name: kafka.example}";
    let sasl = "{mechanism: scram-sha-256, user: ann, password_file: password}";
    let (place, planned) = with(tls, sasl);
    let plan = planned.unwrap();
    let broker = plan.external()[1];
    assert_eq!(
        (broker.name.as_str(), broker.own()),
        ("broker-2", Security::Mtls)
    );
    assert_eq!(
        broker.in_words(),
        "127.0.0.1:10, over mTLS, SCRAM-SHA-256 as ann"
    );
    let spec = broker.tls.as_ref().unwrap();
    let ca = fs::canonicalize(place.path().join("own/ca.pem")).unwrap();
    assert_eq!(
        spec.trust,
        Trust::File {
            path: ca.display().to_string()
        }
    );
    assert_eq!(spec.server_name.as_deref(), Some("kafka.example"));
    let login = broker.sasl.as_ref().unwrap();
    assert_eq!(
        (login.mechanism.as_str(), login.user.as_str()),
        ("SCRAM-SHA-256", "ann")
    );
    // Agents are told where they start, not in the plan.
    let load = &plan.cells[0].load[0].load;
    assert_eq!(load.transport, Transport::Tcp);
    // Brokers copy from each other as they like: that is no route.
    let edges: Vec<&str> = plan.arms[0]
        .topology
        .routes
        .iter()
        .map(|route| route.edge.as_str())
        .collect();
    assert_eq!(edges, ["producer->broker", "producer->broker"]);

    let own = "of its own folder only";
    for (tls, sasl, words) in [
        ("{ca: ../outside}", sasl, own),
        ("{ca: /etc/passwd}", sasl, own),
        (
            "{ca: ca.pem, cert: ../outside, key: keys/client.key}",
            sasl,
            own,
        ),
        ("{cert: keys/client.pem}", sasl, "write both, cert and key"),
        (
            "{insecure: true, ca: ca.pem}",
            sasl,
            "leave one of the two out",
        ),
        (
            tls,
            "{mechanism: plain, user: a, password_file: ../outside}",
            own,
        ),
        (
            tls,
            "{mechanism: plain, user: a, password_file: /etc/shadow}",
            own,
        ),
        (
            tls,
            "{mechanism: plain, user: a, password_env: HOME}",
            "write password_file",
        ),
        (tls, "{mechanism: plain, user: a}", "write password_file"),
        (
            tls,
            "{mechanism: plane, user: a, password_file: password}",
            "did you mean \"PLAIN\"?",
        ),
    ] {
        let (_place, planned) = with(tls, sasl);
        let said = planned.unwrap_err();
        assert!(
            said.contains(words) && said.contains("case.yaml:"),
            "{tls} {sasl}: {said}"
        );
    }
    let (_place, planned) = beside(
        &format!("{{server: {{address: 127.0.0.1:1, sasl: {sasl}}}}}"),
        "echo\nload: {rate: 9}",
    );
    let said = planned.unwrap_err();
    assert!(said.contains("nobody logs in over http1"), "{said}");
}

#[test]
fn topics_on_a_cluster_of_others_have_names_of_tares_and_are_not_moved() {
    let (_place, planned) = beside(
        "{broker: 127.0.0.1:9}\nprepare: [topic]\nfaults: [{at: 1s, reassign: topic}]",
        "{use: kafka}\nload: {use: produce, rate: 9}",
    );
    let said = planned.unwrap_err();
    assert!(
        said.contains("the topic of step \"topic\" is on \"broker\", which is external"),
        "{said}"
    );
}

#[test]
fn metrics_have_an_address_for_each_broker_and_a_password_from_a_file_beside_the_experiment() {
    let kafka = "{use: kafka}\nload: {use: produce, rate: 9}\nprepare: [topic]";
    let with = |metrics: &str| {
        let broker = format!("bootstrap: [127.0.0.1:9, 127.0.0.1:10], metrics: {metrics}");
        beside(&format!("{{broker: {{{broker}}}}}"), kafka)
    };
    let (place, planned) =
        with("{jolokia: [127.0.0.1:1, 127.0.0.1:2], user: ann, password_file: password}");
    let plan = planned.unwrap();
    let metrics = plan.external()[1].metrics.clone().unwrap();
    assert_eq!(metrics.target, "kafka");
    assert_eq!(metrics.source.jolokia, ["127.0.0.1:2"]);
    let password = fs::canonicalize(place.path().join("own/password")).unwrap();
    let named = metrics.source.password_file.as_deref();
    assert_eq!(named, Some(password.to_str().unwrap()));
    assert!(
        plan.external()[1]
            .in_words()
            .ends_with(", metrics by jolokia at 127.0.0.1:2")
    );
    for (metrics, words) in [
        ("{}", "exactly one of jolokia, prometheus and jmx"),
        (
            "{jmx: ['127.0.0.1:1', '127.0.0.1:2'], prometheus: ['127.0.0.1:1']}",
            "exactly one",
        ),
        ("{jolokia: ['127.0.0.1:1']}", "1 for 2 of the part"),
        (
            "{jmx: ['127.0.0.1:1', '203.0.113.7:2']}",
            "--allow-public-target",
        ),
        (
            "{jmx: ['127.0.0.1:1', '127.0.0.1:2'], user: ann}",
            "write password_file",
        ),
        (
            "{jmx: ['127.0.0.1:1', '127.0.0.1:2'], password_file: password}",
            "write its user",
        ),
        (
            "{jmx: ['127.0.0.1:1', '127.0.0.1:2'], user: ann, password_env: SECRET}",
            "names no variable of your environment",
        ),
        (
            "{jmx: ['127.0.0.1:1', '127.0.0.1:2'], user: ann, password_file: ../outside}",
            "of its own folder only",
        ),
    ] {
        let said = with(metrics).1.unwrap_err();
        assert!(said.contains(words), "{metrics}: {said}");
    }
    let page = "{server: {address: 127.0.0.1:9, metrics: {jmx: ['127.0.0.1:1']}}}";
    let said = beside(page, "{use: echo}\nload: {rate: 9}");
    let said = said.1.unwrap_err();
    assert!(said.contains("no target says which metrics"), "{said}");
}
