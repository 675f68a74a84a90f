//! Kafka clusters that are down, hang or let nobody in.

use serde_json::{Value, json};

use crate::kafka::{AT, cluster, create, definition, server, texts};
use crate::rig::Server;

#[test]
fn a_killed_broker_is_a_problem_of_the_cluster_and_of_the_metrics_page_until_it_is_back() {
    let mut cluster = cluster();
    let (_place, server) = server(&cluster);
    create(&server, "kept", 3);
    let overview = format!("{AT}/overview");
    let kinds = |overview: &Value| -> Vec<String> {
        let all = overview["problems"].as_array().unwrap().iter();
        all.map(|one| one["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    let sound = server.get(&overview);
    assert_eq!(sound["brokers"].as_array().unwrap().len(), 3);
    assert!(sound["controller"].is_number());
    assert!(
        !kinds(&sound).contains(&"broker-down".to_owned()),
        "{sound:#}"
    );
    // The first look begins the readings that the page of metrics shows.
    let metrics = || String::from_utf8(server.ask("GET", "/metrics", None).body).unwrap();
    metrics();
    cluster.kill(3).unwrap();
    server.until(&overview, |overview| {
        let found = kinds(overview);
        found.contains(&"broker-down".to_owned()) && found.contains(&"under-replicated".to_owned())
    });
    let broker = server.get(&format!("{AT}/brokers/3"));
    assert_eq!(broker["broker"]["address"], Value::Null);
    assert!(
        broker["problems"][0].as_str().unwrap().contains("down"),
        "{broker:#}"
    );
    let begun = std::time::Instant::now();
    while !metrics().contains("tare_kafka_problems{cluster=\"test\",kind=\"broker-down\"} 1\n") {
        assert!(begun.elapsed() < crate::rig::PATIENCE, "{}", metrics());
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    cluster.start_again(3).unwrap();
    server.until(&overview, |overview| {
        let found = kinds(overview);
        !found.contains(&"broker-down".to_owned())
            && !found.contains(&"under-replicated".to_owned())
    });
    let live = server.events(&format!("{AT}/events?metrics=true&topics=true"), |events| {
        events.iter().filter(|(name, _)| name == "metrics").count() >= 2
            && events.iter().any(|(name, _)| name == "topics")
    });
    let (_, told) = live.iter().rfind(|(name, _)| name == "metrics").unwrap();
    let told: Value = serde_json::from_str(told).unwrap();
    let brokers = told["brokers"].as_array().unwrap();
    assert_eq!(brokers.len(), 1, "{told:#}");
    let heap = &brokers[0]["metrics"]["heap_bytes"];
    assert!(heap.as_f64() > Some(1e6), "{told:#}");
    server.ask("DELETE", &format!("{AT}/topics/kept"), None);
}

#[test]
fn tls_certificates_and_logins_are_used_by_reference_and_a_wrong_way_in_is_named() {
    let cluster = cluster();
    let place = tempfile::tempdir().unwrap();
    let files = place.path().join("files");
    std::fs::create_dir(&files).unwrap();
    let client = cluster.client();
    for (name, from) in [
        ("ca.pem", &client.ca),
        ("client.pem", &client.certificate),
        ("client.key", &client.key),
    ] {
        std::fs::copy(from, files.join(name)).unwrap();
    }
    std::fs::write(files.join("right"), "tare-secret\n").unwrap();
    std::fs::write(files.join("wrong"), "another\n").unwrap();
    let server = Server::start_with(&place.path().join("runs"), &json!({ "files": [files] }));
    let test = |port: &str, more: Value| {
        let mut wanted = definition(&cluster, "test");
        wanted["cluster"]["bootstrap"] = json!(texts(&cluster.at(port)));
        let more = more.as_object().unwrap().clone();
        wanted["cluster"].as_object_mut().unwrap().extend(more);
        let path = "/api/v1/kafka/clusters/test";
        let answer = server.ask("POST", path, Some(&wanted));
        (answer.status, answer.text())
    };
    let mtls = json!({ "tls": { "ca": "ca.pem", "cert": "client.pem", "key": "client.key" } });
    let login = |file: &str| {
        let sasl = json!({ "mechanism": "scram-sha-512", "user": "tare", "password_file": file });
        json!({ "sasl": sasl })
    };
    for (port, more) in [
        ("tls", json!({ "tls": { "ca": "ca.pem" } })),
        ("mtls", mtls),
        ("sasl", login("right")),
    ] {
        let (status, text) = test(port, more);
        assert_eq!(status, 200, "{port}: {text}");
    }
    for (port, more, words) in [
        ("tls", json!({}), "TLS"),
        (
            "plain",
            json!({ "tls": { "ca": "ca.pem" } }),
            "leave TLS out",
        ),
        ("mtls", json!({ "tls": { "ca": "ca.pem" } }), "certificate"),
        ("sasl", login("wrong"), "authentication of user tare failed"),
    ] {
        let (status, text) = test(port, more);
        assert_eq!(status, 502, "{port}: {text}");
        assert!(text.contains(words), "{port}: {text}");
    }
}

#[test]
fn a_broker_that_hangs_is_a_problem_and_keeps_nothing_else_waiting() {
    let cluster = cluster();
    let (_place, server) = server(&cluster);
    let stop = Stopped::new(cluster.members()[2].pid);
    let overview = format!("{AT}/overview");
    server.until(&overview, |overview| {
        let problems = overview["problems"].as_array().unwrap();
        problems.iter().any(|one| one["kind"] == "broker-down")
    });
    // Many who wait for the cluster leave the rest of the server as it is.
    std::thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| server.ask("GET", &format!("{AT}/topics"), None));
        }
        for _ in 0..10 {
            assert_eq!(server.ask("GET", "/api/v1/loads", None).status, 200);
        }
    });
    drop(stop);
    server.until(&overview, |overview| {
        let problems = overview["problems"].as_array().unwrap();
        problems.iter().all(|one| one["kind"] != "broker-down")
    });
}

/// A process that is stopped until this goes.
struct Stopped(u32);

impl Stopped {
    fn new(pid: u32) -> Stopped {
        signal(pid, "STOP");
        Stopped(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal(self.0, "CONT");
    }
}

fn signal(pid: u32, name: &str) {
    let words = [format!("-{name}"), pid.to_string()];
    assert!(
        std::process::Command::new("kill")
            .args(words)
            .status()
            .unwrap()
            .success()
    );
}
