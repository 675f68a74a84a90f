//! Every way into a cluster and every wrong one; clusters by name.

use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tare_kafka::kafka_protocol::messages::CreateAclsRequest;
use tare_kafka::kafka_protocol::messages::create_acls_request::AclCreation;
use tare_kafka::kafka_protocol::protocol::StrBytes;

use crate::bed::{Bed, LIMIT, bed};
use crate::rig::{finish, stderr, stdout, wait_for};

fn paths(bed: &Bed) -> [String; 3] {
    let client = bed.cluster.client();
    [&client.ca, &client.certificate, &client.key].map(|path| Path::new(path).display().to_string())
}

fn with_password(bed: &Bed, words: &[&str], password: &str) -> Output {
    let words: Vec<&str> = words
        .iter()
        .copied()
        .chain([
            "--sasl-user",
            "tare",
            "--sasl-password-env",
            "PASSWORD_OF_TEST",
        ])
        .collect();
    finish(bed.command(&words).env("PASSWORD_OF_TEST", password), LIMIT)
}

fn assert_three(output: &Output) {
    assert!(output.status.success(), "{}", stderr(output));
    let text = stdout(output);
    assert!(text.contains("broker"), "{text}");
}

#[test]
fn tls_and_a_certificate_lead_in() {
    let bed = bed();
    let [ca, cert, key] = paths(&bed);
    assert_three(&bed.bare(&["cluster", "--bootstrap", &bed.at("tls"), "--cacert", &ca]));
    assert_three(&bed.bare(&["cluster", "--bootstrap", &bed.at("tls"), "--insecure"]));
    let with = ["--cacert", &ca, "--cert", &cert, "--key", &key];
    let at = bed.at("mtls");
    let words: Vec<&str> = ["cluster", "--bootstrap", &at]
        .into_iter()
        .chain(with)
        .collect();
    assert_three(&bed.bare(&words));
}

#[test]
fn every_wrong_way_in_names_the_broker_and_the_next_step() {
    let bed = bed();
    let [ca, ..] = paths(&bed);
    let (tls, mtls, plain, sasl) = (
        bed.at("tls"),
        bed.at("mtls"),
        bed.at("plain"),
        bed.at("sasl"),
    );
    for (at, more, said) in [
        (&tls, &["--tls"][..], "--cacert"),
        (&tls, &[], "--tls"),
        (&plain, &["--cacert", &ca], "leave TLS out"),
        (&mtls, &["--cacert", &ca], "--cert FILE --key FILE"),
        (&sasl, &[], "--sasl"),
    ] {
        let words: Vec<&str> = ["cluster", "--timeout", "60", "--bootstrap", at]
            .iter()
            .copied()
            .chain(more.iter().copied())
            .collect();
        let output = bed.bare(&words);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{words:?}: {error}");
        assert!(error.contains(said), "{words:?}: {error}");
        let is_named = at.split(',').any(|one| error.contains(one));
        assert!(is_named, "{words:?}: {error}");
    }
}

#[test]
fn users_are_let_in_with_their_password_only() {
    let bed = bed();
    let [ca, ..] = paths(&bed);
    let (sasl, over_tls) = (bed.at("sasl"), bed.at("sasl-tls"));
    for mechanism in ["plain", "scram-sha-256", "scram-sha-512"] {
        let plain = [
            "cluster",
            "--bootstrap",
            &sasl,
            "--sasl-mechanism",
            mechanism,
        ];
        assert_three(&with_password(&bed, &plain, "tare-secret"));
        let sealed = [
            "cluster",
            "--bootstrap",
            &over_tls,
            "--cacert",
            &ca,
            "--sasl-mechanism",
            mechanism,
        ];
        assert_three(&with_password(&bed, &sealed, "tare-secret"));
        let output = with_password(&bed, &plain, "wrong");
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{mechanism}: {error}");
        assert!(
            error.contains("tare") && error.contains("password"),
            "{error}"
        );
        assert!(!error.contains("wrong"), "{error}");
    }
    let at = bed.at("plain");
    let words = ["cluster", "--bootstrap", &at, "--sasl-mechanism", "plain"];
    let error = stderr(&with_password(&bed, &words, "tare-secret"));
    assert!(error.contains("leave SASL out"), "{error}");
}

#[test]
fn clusters_have_names_and_passwords_stay_outside_of_the_file() {
    let bed = bed();
    let [ca, ..] = paths(&bed);
    let output = bed.bare(&["cluster"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("clusters add"),
        "{}",
        stderr(&output)
    );

    let at = bed.at("sasl-tls");
    let add = [
        "clusters",
        "add",
        "bed",
        "--bootstrap",
        &at,
        "--cacert",
        &ca,
        "--sasl-mechanism",
        "plain",
    ];
    let added = with_password(&bed, &add, "tare-secret");
    assert!(added.status.success(), "{}", stderr(&added));
    let listed = stdout(&bed.bare(&["clusters", "list", "--json"]));
    assert!(listed.contains("PASSWORD_OF_TEST"), "{listed}");
    assert!(!listed.contains("tare-secret"), "{listed}");
    // The only one there needs no name.
    let mut by_name = bed.command(&["cluster", "--cluster", "bed"]);
    assert_three(&finish(
        by_name.env("PASSWORD_OF_TEST", "tare-secret"),
        LIMIT,
    ));
    let mut only = bed.command(&["cluster"]);
    assert_three(&finish(only.env("PASSWORD_OF_TEST", "tare-secret"), LIMIT));
    let forgotten = bed.bare(&["cluster"]);
    assert_eq!(forgotten.status.code(), Some(2));
    assert!(stderr(&forgotten).contains("PASSWORD_OF_TEST"));
    let typo = bed.bare(&["cluster", "--cluster", "bet"]);
    assert!(stderr(&typo).contains("bed"), "{}", stderr(&typo));
    assert!(bed.bare(&["clusters", "remove", "bed"]).status.success());
    assert_eq!(
        stdout(&bed.bare(&["clusters", "list", "--json"])).trim(),
        "[]"
    );
}

#[test]
fn a_user_who_may_not_read_configurations_sees_partitions_and_which_permission_is_missing() {
    let bed = bed();
    bed.text(&["topics", "create", "guarded", "-p", "2", "-r", "3"]);
    // By the numbers of the protocol: topic, literal name; describe is allowed (3), describe-configs denied (2).
    let rules = [(8, 3), (10, 2)].map(|(operation, permission)| {
        AclCreation::default()
            .with_resource_type(2)
            .with_resource_name(StrBytes::from_static_str("guarded"))
            .with_resource_pattern_type(3)
            .with_principal(StrBytes::from_static_str("User:tare"))
            .with_host(StrBytes::from_static_str("*"))
            .with_operation(operation)
            .with_permission_type(permission)
    });
    let request = CreateAclsRequest::default().with_creations(rules.to_vec());
    let made = bed.brokers().request(&request).unwrap();
    assert!(
        made.results.iter().all(|one| one.error_code == 0),
        "{made:?}"
    );
    let at = bed.at("sasl");
    let mechanism = ["--sasl-mechanism", "plain"];
    let words = [
        "topics",
        "describe",
        "guarded",
        "--json",
        "--bootstrap",
        &at,
    ];
    let words = [&words[..], &mechanism].concat();
    // Until all brokers have heard of the rules.
    let output = wait_for(LIMIT, "the rules to count", || {
        let output = with_password(&bed, &words, "tare-secret");
        (!output.status.success()).then_some(output)
    });
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("configurations are not shown"), "{error}");
    assert!(
        error.contains("needs DescribeConfigs on the topic"),
        "{error}"
    );
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(found[0]["configs"], Value::Null, "{found}");
    assert_eq!(
        found[0]["partitions"].as_array().unwrap().len(),
        2,
        "{found}"
    );
    bed.text(&["topics", "delete", "guarded", "--yes"]);
}
