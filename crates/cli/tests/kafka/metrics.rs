//! Metrics of brokers, read in every way: the ways tell the same, and what cannot be read is told while the others are shown.

use std::net::TcpListener;
use std::process::{Command, Output};

use serde_json::Value;

use crate::bed::{Bed, LIMIT, assert_narrow, bed};
use crate::rig::{finish, stderr, stdout, wait_for};
use crate::telling::{ELSEWHERE, PASSWORD, USER};

/// Bytes that a record of the bed has at least.
const RECORD_BYTES: f64 = 1000.0;

/// What every way tells alike of a broker.
const COUNTED: [&str; 10] = [
    "messages_in",
    "bytes_in",
    "bytes_out",
    "bytes_rejected",
    "replication_bytes_in",
    "replication_bytes_out",
    "failed_produce_requests",
    "requests/produce/rate",
    "isr_shrinks",
    "isr_expands",
];

fn with(bed: &Bed, words: &[&str], password: &str) -> Command {
    let words: Vec<&str> = ["metrics", "--seconds", "1"]
        .iter()
        .chain(words)
        .copied()
        .collect();
    let mut command = bed.command(&words);
    command.env("PASSWORD_OF_TEST", password);
    command
}

fn run(bed: &Bed, words: &[&str], password: &str) -> Output {
    finish(&mut with(bed, words, password), LIMIT)
}

/// What the only broker told, as JSON.
fn told(bed: &Bed, words: &[&str], password: &str) -> Value {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    let output = run(bed, &words, password);
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    let view: Value = serde_json::from_str(&stdout(&output)).unwrap();
    view["brokers"][0]["metrics"].clone()
}

const BY_USER: [&str; 3] = [
    "--metrics-password-env",
    "PASSWORD_OF_TEST",
    "--metrics-user",
];

/// A broker by its Jolokia.
fn by_jolokia(bed: &Bed, number: usize) -> Value {
    let member = &bed.cluster.members()[number - 1];
    let login = member.login().clone();
    let jolokia = format!("http://{}/jolokia/", member.admin());
    let words = [
        &["--jolokia", jolokia.as_str()][..],
        &BY_USER,
        &[login.user.as_str()],
    ]
    .concat();
    told(bed, &words, &login.password)
}

/// The same by its JMX too and, where it has one, its exporter.
fn every_way(bed: &Bed, number: usize) -> Vec<(&'static str, Value)> {
    let mut all = vec![("jolokia", by_jolokia(bed, number))];
    let jmx = bed.telling.jmx[number - 1].to_string();
    match bed.telling.exporters.get(number - 1) {
        Some(exporter) => {
            all.push(("jmx", told(bed, &["--jmx", &jmx], "")));
            let exporter = exporter.to_string();
            all.push(("prometheus", told(bed, &["--prometheus", &exporter], "")));
        }
        None => {
            let words = [&["--jmx", jmx.as_str()][..], &BY_USER, &[USER]].concat();
            all.push(("jmx", told(bed, &words, PASSWORD)));
        }
    }
    all
}

fn total(metrics: &Value, path: &str) -> f64 {
    let place = metrics.pointer(&format!("{path}/total"));
    place
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("no {path}: {metrics}"))
}

#[test]
fn jolokia_jmx_and_both_kinds_of_exporters_tell_the_same() {
    let bed = bed();
    let assignment = "1:2,2:3,3:1";
    bed.text(&["topics", "create", "counted", "--assignment", assignment]);
    let batches = [3, 5, 2];
    for (partition, batches) in (0..).zip(batches) {
        bed.produce("counted", partition, batches);
    }
    for (number, batches) in (1..).zip(batches) {
        let records = batches as f64 * 100.0;
        // What happens between two ways (a group that expires, here or on another broker; a copy that comes back) is asked again.
        let all = wait_for(LIMIT, "a broker that is left alone", || {
            let all = every_way(&bed, number);
            let (first, last) = (&all[0].1, by_jolokia(&bed, number));
            let of = |metrics: &Value| COUNTED.map(|name| total(metrics, &format!("/{name}")));
            let is_whole = |metrics: &Value| metrics["under_replicated_partitions"] == 0.0;
            let is_left = of(first) == of(&last) && is_whole(first) && is_whole(&last);
            is_left.then_some(all)
        });
        let (_, first) = &all[0];
        for (way, metrics) in &all {
            let topic = "/topics/counted";
            assert_eq!(
                total(metrics, &format!("{topic}/messages_in")),
                records,
                "{way}"
            );
            assert!(total(metrics, &format!("{topic}/bytes_in")) >= records * RECORD_BYTES);
            assert_eq!(
                metrics["topics"]["counted"], first["topics"]["counted"],
                "{way}"
            );
            for name in COUNTED {
                let path = format!("/{name}");
                assert_eq!(total(metrics, &path), total(first, &path), "{way}: {name}");
            }
            assert!(total(metrics, "/messages_in") >= records, "{way}");
            assert!(
                total(metrics, "/replication_bytes_in") >= RECORD_BYTES,
                "{way}"
            );
            assert!(
                total(metrics, "/requests/fetch-follower/rate") > 0.0,
                "{way}"
            );
            assert!(total(metrics, "/gc_pauses") >= 0.0, "{way}");
            assert_eq!(metrics["under_replicated_partitions"], 0.0, "{way}");
            let heap = metrics["heap_bytes"].as_f64().unwrap();
            assert!((1e6..1e9).contains(&heap), "{way}: {heap}");
            let missing: Vec<&str> = metrics["missing"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            let has_rules = *way == "prometheus" && number == 1;
            let left_out = [
                "produce-ms",
                "fetch-consumer-ms",
                "fetch-follower-ms",
                "log-flush-ms",
            ];
            assert_eq!(
                missing,
                if has_rules { &left_out[..] } else { &[] },
                "{way} of {number}"
            );
            // Followers ask all the time.
            let phases = &metrics["requests"]["fetch-follower"]["mean_ms"];
            let mean = phases["Total"].as_f64();
            assert_eq!(
                mean.is_some_and(|ms| ms > 0.0),
                !has_rules,
                "{way} of {number}: {phases}"
            );
        }
    }
}

#[test]
fn rates_are_those_of_what_is_written_meanwhile() {
    let bed = bed();
    bed.text(&["topics", "create", "rated", "--assignment", "1:2"]);
    bed.produce("rated", 0, 1);
    let exporters = bed.telling.exporters.iter().map(ToString::to_string);
    let exporters = exporters.collect::<Vec<_>>().join(",");
    let words = ["metrics", "--seconds", "3", "--json", "--prometheus"];
    let mut command = bed.command(&[&words[..], &[exporters.as_str()]].concat());
    let reader = std::thread::spawn(move || finish(&mut command, LIMIT));
    while !reader.is_finished() {
        bed.produce("rated", 0, 1);
    }
    let output = reader.join().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let view: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let of = |path: &str| view.pointer(path).and_then(Value::as_f64).unwrap_or(-1.0);
    let messages = of("/topics/rated/messages_in/per_s");
    let seconds = of("/brokers/0/metrics/seconds");
    assert!(seconds >= 3.0 && messages > 0.0, "{view}");
    let total = of("/topics/rated/messages_in/total");
    assert!(messages * seconds <= total, "{view}");
    assert!(of("/topics/rated/bytes_in/per_s") > messages, "{view}");
    assert!(of("/brokers/0/metrics/messages_in/per_s") > 0.0, "{view}");
    assert_eq!(
        of("/brokers/1/metrics/topics/rated/messages_in/per_s"),
        -1.0,
        "it does not lead"
    );
    assert!(
        of("/brokers/1/metrics/replication_bytes_in/per_s") > 0.0,
        "{view}"
    );
}

#[test]
fn what_cannot_be_read_is_told_with_the_next_step_and_the_others_are_shown() {
    let bed = bed();
    bed.text(&["topics", "create", "shown", "--assignment", "1"]);
    bed.produce("shown", 0, 1);
    let good = bed.telling.exporters[0].to_string();
    let jolokia = bed.cluster.members()[0].admin().to_string();
    let kafka = bed.at("plain").split(',').next().unwrap().to_owned();
    let locked = bed.telling.jmx[2].to_string();
    let open = bed.telling.jmx[0].to_string();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let hanging = silent.local_addr().unwrap().to_string();
    // A port that nobody is given: one that was just let go somebody else may have.
    let closed = "127.0.0.1:1".to_owned();
    let nowhere = format!("http://{good}/nothing");
    let guarded = format!("http://{jolokia}/jolokia/");
    let outside = format!("{ELSEWHERE}:9404");
    let wrong = [
        "--metrics-user",
        USER,
        "--metrics-password-env",
        "PASSWORD_OF_TEST",
    ];
    for (way, good, bad, more, said) in [
        ("--prometheus", &good, &closed, &[][..], "no connection"),
        ("--prometheus", &good, &nowhere, &[], "usually /metrics"),
        ("--prometheus", &good, &guarded, &[], "--metrics-user"),
        ("--prometheus", &good, &kafka, &[], "HTTP without TLS"),
        (
            "--prometheus",
            &good,
            &outside,
            &[],
            "--allow-public-target",
        ),
        (
            "--prometheus",
            &good,
            &hanging,
            &["--timeout", "20"],
            "within 20.0 s",
        ),
        ("--jmx", &open, &locked, &[], "password is not accepted"),
        ("--jmx", &open, &locked, &wrong, "password is not accepted"),
        (
            "--jmx",
            &open,
            &kafka,
            &["--timeout", "20"],
            "port of JMX remote",
        ),
        (
            "--jmx",
            &open,
            &good,
            &["--timeout", "20"],
            "port of JMX remote",
        ),
    ] {
        let both = format!("{bad},{good}");
        let words = [&[way, both.as_str()][..], more].concat();
        let output = run(&bed, &words, "not-the-password");
        let (text, error) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(3), "{words:?}: {error}");
        assert!(
            error.contains(said) && error.contains(bad),
            "{words:?}: {error}"
        );
        assert!(!error.contains("not-the-password"), "{error}");
        assert!(
            text.contains(good) && text.contains("shown"),
            "{words:?}: {text} {error}"
        );
        assert!(
            text.contains("produce") && text.contains("under-repl."),
            "{text}"
        );
        assert_narrow(&text);
    }
    let words = [
        "--jolokia",
        &jolokia,
        "--metrics-user",
        "x",
        "--metrics-password-env",
        "PASSWORD_OF_TEST",
    ];
    let output = run(&bed, &words, "not-the-password");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(stdout(&output), "", "nobody could be read");
    assert!(stderr(&output).contains("the user x or the password is not accepted"));
}

#[test]
fn where_metrics_are_is_kept_with_the_name_of_a_cluster() {
    let bed = bed();
    let at = bed.at("plain");
    let output = run(&bed, &["--bootstrap", &at], "");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--jolokia"), "{}", stderr(&output));
    let output = run(&bed, &["--jmx", "127.0.0.1"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no port"), "{}", stderr(&output));

    let jmx = bed.telling.jmx[2].to_string();
    let add = [
        "clusters",
        "add",
        "watched",
        "--bootstrap",
        &at,
        "--jmx",
        &jmx,
    ];
    let login = [
        "--metrics-user",
        USER,
        "--metrics-password-env",
        "PASSWORD_OF_TEST",
    ];
    let added = bed.bare(&[&add[..], &login].concat());
    assert!(added.status.success(), "{}", stderr(&added));
    let listed = stdout(&bed.bare(&["clusters", "list", "--json"]));
    assert!(
        listed.contains(&jmx) && !listed.contains(PASSWORD),
        "{listed}"
    );
    let output = run(&bed, &["--cluster", "watched"], PASSWORD);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains(&jmx), "{}", stdout(&output));
    let forgotten = bed.bare(&["metrics", "--cluster", "watched"]);
    assert_eq!(forgotten.status.code(), Some(2));
    assert!(stderr(&forgotten).contains("PASSWORD_OF_TEST"));
    assert!(
        bed.bare(&["clusters", "remove", "watched"])
            .status
            .success()
    );
}
