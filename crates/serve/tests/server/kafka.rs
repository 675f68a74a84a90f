//! Kafka over the API: three real brokers, and kcat as a client that Tare does not know.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock};

use serde_json::{Value, json};
use tare_test_cluster::Cluster;

use crate::rig::Server;

/// The cluster, for one test at a time.
pub fn cluster() -> MutexGuard<'static, Cluster> {
    static CLUSTER: OnceLock<Mutex<Cluster>> = OnceLock::new();
    let cluster = CLUSTER.get_or_init(|| {
        let settings = BTreeMap::from([
            ("all_listeners".to_owned(), json!(true)),
            ("log_dir".to_owned(), json!("memory")),
            ("jit".to_owned(), json!("C1")),
            ("min_insync_replicas".to_owned(), json!(2)),
        ]);
        Mutex::new(Cluster::start("kafka", 3, &settings).unwrap())
    });
    cluster
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

pub fn texts(all: &[SocketAddr]) -> Vec<String> {
    all.iter().map(SocketAddr::to_string).collect()
}

/// The definition of the cluster as a page sends it.
pub fn definition(cluster: &Cluster, name: &str) -> Value {
    json!({
        "name": name, "show_records": true, "lag_limit": 1000,
        "cluster": { "bootstrap": texts(&cluster.at("plain")) },
    })
}

/// kcat with these words after the address; it reads `input`.
pub fn kcat(cluster: &Cluster, words: &[&str], input: &str) -> String {
    let mut child = kcat_child(cluster, words);
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let ended = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "kcat {words:?}: {err}");
    String::from_utf8(ended.stdout).unwrap()
}

pub fn kcat_child(cluster: &Cluster, words: &[&str]) -> Child {
    Command::new("kcat")
        .arg("-b")
        .arg(texts(&cluster.at("plain")).join(","))
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// A consumer that is ended with this.
struct Consumer(Child);

impl Drop for Consumer {
    fn drop(&mut self) {
        // Asked to end, it leaves its group; killed, it would stay a member until its session ends.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// A change of a definition.
type Change<'a> = &'a dyn Fn(&mut Value);

pub const AT: &str = "/api/v1/kafka/clusters/test";

pub fn server(cluster: &Cluster) -> (tempfile::TempDir, Server) {
    let place = tempfile::tempdir().unwrap();
    let files = place.path().join("files");
    std::fs::create_dir(&files).unwrap();
    // Each broker has a login of its own: one of them is read.
    let member = &cluster.members()[0];
    std::fs::write(files.join("jolokia"), &member.login().password).unwrap();
    let server = Server::start_with(&place.path().join("runs"), &json!({ "files": [files] }));
    let mut wanted = definition(cluster, "test");
    wanted["cluster"]["metrics"] = json!({
        "jolokia": [format!("http://{}/jolokia/", member.admin())],
        "user": member.login().user,
        "password_file": "jolokia",
    });
    let tested = server.post("/api/v1/kafka/clusters/test", &wanted);
    assert_eq!(tested["brokers"].as_array().unwrap().len(), 3);
    server.post("/api/v1/kafka/clusters", &wanted);
    (place, server)
}

pub fn create(server: &Server, name: &str, partitions: u32) {
    let wanted = json!({ "name": name, "partitions": partitions, "replicas": 3 });
    server.post(&format!("{AT}/topics"), &wanted);
}

/// `records` lines for kcat.
fn lines(records: usize) -> String {
    (0..records)
        .map(|number| format!("key{number}:value {number}\n"))
        .collect()
}

#[test]
fn a_topic_is_created_written_grown_configured_and_deleted_and_kcat_sees_the_same() {
    let cluster = cluster();
    let (_place, server) = server(&cluster);
    create(&server, "written", 3);
    let again = server.ask(
        "POST",
        &format!("{AT}/topics"),
        Some(&json!({ "name": "written" })),
    );
    assert_eq!(again.status, 422, "{}", again.text());
    kcat(&cluster, &["-P", "-t", "written", "-K", ":"], &lines(300));
    let path = format!("{AT}/topics/written");
    let topic = server.until(&path, |topic| {
        let partitions = topic["live"]["partitions"].as_array().unwrap();
        let ends = partitions.iter().filter_map(|one| one["end"].as_i64());
        ends.sum::<i64>() == 300
    });
    // kcat's own view of the same partitions.
    let listed: Value =
        serde_json::from_str(&kcat(&cluster, &["-L", "-J", "-t", "written"], "")).unwrap();
    let theirs = listed["topics"][0]["partitions"].as_array().unwrap();
    for (ours, theirs) in topic["live"]["partitions"]
        .as_array()
        .unwrap()
        .iter()
        .zip(theirs)
    {
        assert_eq!(ours["partition"], theirs["partition"]);
        assert_eq!(ours["leader"], theirs["leader"]);
        let number = ours["partition"].as_i64().unwrap();
        let asked = format!("written:{number}:-1");
        let end = kcat(&cluster, &["-Q", "-t", &asked], "");
        let end: i64 = end.trim().rsplit(' ').next().unwrap().parse().unwrap();
        assert_eq!(ours["end"].as_i64(), Some(end));
    }
    let records = server.get(&format!("{path}/records?count=5"));
    let records = records["records"].as_array().unwrap();
    assert_eq!(records.len(), 5);
    assert!(records.iter().all(|record| {
        let text = record["value"]["text"].as_str().unwrap();
        text.starts_with("value ") && record["key"]["text"].as_str().unwrap().starts_with("key")
    }));

    let all = server.get(&format!("{path}/records?count=1000"));
    assert_eq!(all["records"].as_array().unwrap().len(), 100);

    let grown = server.ask(
        "POST",
        &format!("{path}/partitions"),
        Some(&json!({ "partitions": 4 })),
    );
    assert_eq!(grown.status, 204, "{}", grown.text());
    let change = json!({ "set": { "retention.ms": "60000" } });
    let changed = server.ask("POST", &format!("{path}/configs"), Some(&change));
    assert_eq!(changed.status, 204, "{}", changed.text());
    let topic = server.get(&path);
    assert_eq!(topic["live"]["partitions"].as_array().unwrap().len(), 4);
    let config = |topic: &Value, name: &str| {
        let all = topic["configs"].as_array().unwrap();
        all.iter()
            .find(|config| config["name"] == name)
            .unwrap()
            .clone()
    };
    let retention = config(&topic, "retention.ms");
    assert_eq!(retention["value"], "60000");
    assert_eq!(retention["source"], "dynamic-topic");
    assert_eq!(config(&topic, "min.insync.replicas")["default"], "2");
    assert!(retention["documentation"].as_str().unwrap().len() > 50);
    let change = json!({ "delete": ["retention.ms"] });
    server.ask("POST", &format!("{path}/configs"), Some(&change));
    assert_eq!(
        config(&server.get(&path), "retention.ms")["source"],
        "default"
    );

    // Not one that was made again after the page showed it.
    let stale = format!("{path}?id=AAAAAAAAAAAAAAAAAAAAAA");
    let refused = server.ask("DELETE", &stale, None);
    assert_eq!(refused.status, 422, "{}", refused.text());
    let id = topic["id"].as_str().unwrap();
    let deleted = server.ask("DELETE", &format!("{path}?id={id}"), None);
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    assert_eq!(server.ask("GET", &path, None).status, 404);
}

#[test]
fn the_lag_of_a_foreign_group_is_seen_and_reset() {
    let cluster = cluster();
    let (_place, server) = server(&cluster);
    create(&server, "read", 2);
    kcat(&cluster, &["-P", "-t", "read", "-K", ":"], &lines(200));
    let consumer = Consumer(kcat_child(
        &cluster,
        &[
            "-G",
            "slow/group",
            "-X",
            "auto.offset.reset=earliest",
            "-X",
            "auto.commit.interval.ms=200",
            "read",
        ],
    ));
    let group = format!("{AT}/groups/slow%2Fgroup");
    let seen = server.until(&format!("{AT}/groups"), |groups| {
        let all = groups["groups"].as_array().unwrap();
        all.iter()
            .any(|group| group["name"] == "slow/group" && group["lag"] == 0)
    });
    assert!(
        seen["groups"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["state"] == "Stable")
    );
    let detail = server.get(&group);
    assert_eq!(detail["group"]["members"].as_array().unwrap().len(), 1);
    assert_eq!(detail["partitions"].as_array().unwrap().len(), 2);
    let wanted = json!({ "to": { "kind": "earliest" } });
    let active = server.ask("POST", &format!("{group}/reset"), Some(&wanted));
    assert_eq!(active.status, 422, "{}", active.text());
    assert!(
        active.text().contains("stop them first"),
        "{}",
        active.text()
    );
    drop(consumer);
    server.until(&format!("{AT}/groups"), |groups| {
        let all = groups["groups"].as_array().unwrap();
        all.iter()
            .any(|group| group["name"] == "slow/group" && group["state"] == "Empty")
    });
    // A mistyped name makes no group; what of Kafka itself is there now is not deleted by the way.
    let wanted = json!({ "to": { "kind": "earliest" }, "topics": ["read"] });
    let typo = server.ask("POST", &format!("{AT}/groups/slow/reset"), Some(&wanted));
    assert_eq!(typo.status, 422, "{}", typo.text());
    assert_eq!(
        server.ask("GET", &format!("{AT}/groups/slow"), None).status,
        404
    );
    let of_kafka = format!("{AT}/topics/__consumer_offsets");
    let refused = server.ask("DELETE", &of_kafka, None);
    assert_eq!(refused.status, 422, "{}", refused.text());
    assert!(
        refused.text().contains("internal=true"),
        "{}",
        refused.text()
    );
    let grow = json!({ "partitions": 99 });
    let refused = server.ask("POST", &format!("{of_kafka}/partitions"), Some(&grow));
    assert_eq!(refused.status, 422, "{}", refused.text());
    let preview = json!({ "to": { "kind": "shift", "records": -50 }, "validate_only": true });
    let preview = server.post(&format!("{group}/reset"), &preview);
    assert_eq!(preview["applied"], false);
    assert_eq!(server.get(&group)["lag"], 0);
    server.post(
        &format!("{group}/reset"),
        &json!({ "to": { "kind": "shift", "records": -50 } }),
    );
    assert_eq!(server.get(&group)["lag"], 100);
    let topic = server.get(&format!("{AT}/topics/read"));
    assert_eq!(topic["live"]["groups"][0]["lag"], 100);
    let deleted = server.ask("DELETE", &group, None);
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    assert_eq!(server.ask("GET", &group, None).status, 404);
}

#[test]
fn partitions_move_off_a_broker_throttled_are_cancelled_elected_and_verified() {
    let cluster = cluster();
    let (_place, server) = server(&cluster);
    let wanted = json!({ "name": "moved", "assignment": [[1, 2], [2, 3], [3, 1]] });
    server.post(&format!("{AT}/topics"), &wanted);
    let value = "x".repeat(900);
    let many: String = (0..20_000)
        .map(|number| format!("{number}:{value}\n"))
        .collect();
    kcat(&cluster, &["-P", "-t", "moved", "-K", ":"], &many);
    server.until(&format!("{AT}/topics/moved"), |topic| {
        let partitions = topic["live"]["partitions"].as_array().unwrap();
        partitions
            .iter()
            .all(|one| one["end"].as_i64() > Some(1000))
    });
    let moves = format!("{AT}/reassignments");
    let plan = server.post(
        &format!("{moves}/plan"),
        &json!({ "topics": ["moved"], "drain": [3] }),
    );
    assert_eq!(plan["plan"]["after"].as_object().unwrap().get("3"), None);
    let planned = plan["plan"]["reassignments"].clone();
    assert_eq!(planned.as_array().unwrap().len(), 2);
    // Slow enough to be seen and cancelled.
    let begun = json!({ "reassignments": planned, "throttle_bytes_per_s": 200_000 });
    let begun = server.post(&moves, &begun);
    assert_eq!(begun["reassignments"].as_array().unwrap().len(), 2);
    let seen = server.until(&moves, |moves| {
        let all = moves["reassignments"].as_array().unwrap();
        all.iter().any(|one| one["copied_bytes"].as_i64() > Some(0))
    });
    assert!(!seen["throttles"]["brokers"].as_object().unwrap().is_empty());
    let one = &planned[0];
    let topics = BTreeMap::from([("moved", vec![one["partition"].clone()])]);
    let cancelled = server.post(&format!("{moves}/cancel"), &json!({ "topics": topics }));
    assert_eq!(cancelled["results"].as_array().unwrap().len(), 1);
    let left = server.get(&moves);
    assert_eq!(left["reassignments"].as_array().unwrap().len(), 1);
    server.post(&format!("{moves}/cancel"), &json!({}));
    // The throttles went with the last move.
    server.until(&moves, |moves| {
        moves["reassignments"].as_array().unwrap().is_empty()
            && moves["throttles"]["brokers"]
                .as_object()
                .unwrap()
                .is_empty()
    });
    // By hand and without a throttle: to the end.
    let by_hand = json!({ "by_hand": [{ "topic": "moved", "partition": 0, "replicas": [2, 3] }] });
    let plan = server.post(&format!("{moves}/plan"), &by_hand);
    assert!(plan["total_bytes"].as_u64() > Some(1_000_000), "{plan}");
    server.post(
        &moves,
        &json!({ "reassignments": plan["plan"]["reassignments"] }),
    );
    server.until(&moves, |moves| {
        moves["reassignments"].as_array().unwrap().is_empty()
    });
    server.post(
        &format!("{AT}/elect"),
        &json!({ "topics": { "moved": [] } }),
    );
    server.until(&format!("{AT}/topics/moved"), |topic| {
        let partitions = topic["live"]["partitions"].as_array().unwrap();
        partitions
            .iter()
            .all(|one| one["leader"] == one["replicas"][0])
    });
    let job = server.post(&format!("{AT}/verify"), &json!({ "topic": "moved" }));
    let job = server.until(&format!("{AT}/verify/{}", job["id"]), |job| {
        job["state"] != "running"
    });
    assert_eq!(job["state"], "done", "{job:#}");
    let results = job["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    assert!(
        results.iter().all(|one| one["result"] == "identical"),
        "{job:#}"
    );
    server.ask("DELETE", &format!("{AT}/topics/moved"), None);
}

#[test]
fn a_cluster_is_defined_within_bounds_only_and_its_secrets_stay_where_they_are() {
    let cluster = cluster();
    let place = tempfile::tempdir().unwrap();
    let files = place.path().join("files");
    std::fs::create_dir(&files).unwrap();
    std::fs::write(files.join("password"), "secret-of-a-file\n").unwrap();
    std::fs::write(place.path().join("outside"), "x").unwrap();
    let more = json!({ "files": [files], "environment": ["KAFKA_PASSWORD"] });
    let server = Server::start_with(&place.path().join("runs"), &more);
    let keep = |change: Change<'_>| {
        let mut wanted = definition(&cluster, "test");
        change(&mut wanted);
        let answer = server.ask("POST", "/api/v1/kafka/clusters", Some(&wanted));
        (answer.status, answer.text())
    };
    let sasl = |password: Value| {
        let mut sasl = json!({ "mechanism": "plain", "user": "ann" });
        sasl.as_object_mut()
            .unwrap()
            .extend(password.as_object().unwrap().clone());
        move |wanted: &mut Value| wanted["cluster"]["sasl"] = sasl.clone()
    };
    let refused: [(Change<'_>, &str); 7] = [
        (&|wanted| wanted["name"] = json!("../x"), "letters, digits"),
        (
            &|wanted| wanted["cluster"]["bootstrap"] = json!([]),
            "than 1 entry",
        ),
        (
            &|wanted| wanted["cluster"]["allow_public_target"] = json!(true),
            "public addresses",
        ),
        (&sasl(json!({ "password_env": "HOME" })), "--env HOME"),
        (
            &sasl(json!({ "password_file": "../outside" })),
            "no such file",
        ),
        (
            &sasl(json!({ "password_file": "/etc/passwd" })),
            "no such file",
        ),
        (
            &|wanted| wanted["cluster"]["tls"] = json!({ "ca": "nothing.pem" }),
            "no such file",
        ),
    ];
    for (change, words) in refused {
        let (status, text) = keep(change);
        assert_eq!(status, 422, "{text}");
        assert!(text.contains(words), "{text}");
    }
    let (status, text) = keep(&sasl(json!({ "password_file": "password" })));
    assert_eq!(status, 201, "{text}");
    let (status, text) = keep(&|wanted| {
        wanted["read_only"] = json!(true);
        wanted["show_records"] = json!(false);
    });
    assert_eq!(status, 201, "{text}");
    let all = server.ask("GET", "/api/v1/kafka/clusters", None).text();
    assert!(!all.contains("secret-of-a-file"));
    for (method, path, status) in [
        ("POST", format!("{AT}/topics"), 403),
        ("DELETE", format!("{AT}/topics/x"), 403),
        ("POST", format!("{AT}/reassignments/unthrottle"), 403),
        ("GET", format!("{AT}/topics/x/records"), 403),
        ("GET", format!("{AT}/topics/x"), 404),
        ("GET", format!("{AT}/groups/x"), 404),
        ("GET", format!("{AT}/brokers/99"), 404),
        (
            "GET",
            "/api/v1/kafka/clusters/none/overview".to_owned(),
            404,
        ),
    ] {
        let answer = server.ask(method, &path, Some(&json!({ "name": "x" })));
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
    }
    // A cluster that is not there: an answer with the address, and no wait without end.
    keep(&|wanted| {
        wanted["name"] = json!("gone");
        wanted["cluster"]["bootstrap"] = json!(["127.0.0.1:1"]);
    });
    let gone = server.ask("GET", "/api/v1/kafka/clusters/gone/overview", None);
    assert_eq!(gone.status, 502, "{}", gone.text());
    assert!(gone.text().contains("127.0.0.1:1"), "{}", gone.text());
    let problem = server.events("/api/v1/kafka/clusters/gone/events", |events| {
        !events.is_empty()
    });
    assert_eq!(problem[0].0, "problem");
    assert_eq!(
        server
            .ask("DELETE", "/api/v1/kafka/clusters/gone", None)
            .status,
        204
    );
    let left = server.get("/api/v1/kafka/clusters");
    assert_eq!(left["clusters"].as_array().unwrap().len(), 1);
    let last = (0..).find(|number| {
        let (status, text) = keep(&|wanted| wanted["name"] = json!(format!("c{number}")));
        assert!(status == 201 || status == 409, "{text}");
        status == 409
    });
    assert_eq!(last, Some(199));
}

/// Threads of a process that follow reassignments.
fn followers(server: u32) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{server}/task")).unwrap();
    let names =
        threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim() == "reassignments").count()
}

#[test]
fn a_refused_reassignment_leaves_the_throttles_of_others_and_no_thread() {
    let cluster = cluster();
    let (_place, server) = server(&cluster);
    let wanted = json!({ "name": "theirs", "assignment": [[1, 2]] });
    server.post(&format!("{AT}/topics"), &wanted);
    let rate = json!({ "set": { "leader.replication.throttled.rate": "5000000" } });
    server.post(&format!("{AT}/brokers/1/configs"), &rate);
    let replicas = json!({ "set": { "leader.replication.throttled.replicas": "0:1" } });
    server.post(&format!("{AT}/topics/theirs/configs"), &replicas);
    let moves = format!("{AT}/reassignments");
    let is_set = |moves: &Value| {
        moves["throttles"]["brokers"]["1"] == 5_000_000
            && moves["throttles"]["topics"]["theirs"]["leader_replicas"] == json!(["0:1"])
    };
    server.until(&moves, is_set);
    let plan = server.post(
        &format!("{moves}/plan"),
        &json!({ "topics": ["theirs"], "drain": [2] }),
    );
    let begun =
        json!({ "reassignments": plan["plan"]["reassignments"], "throttle_bytes_per_s": 200_000 });
    for _ in 0..3 {
        let refused = server.ask("POST", &moves, Some(&begun));
        assert_eq!(refused.status, 422, "{}", refused.text());
    }
    // Nothing follows, so nothing is removed later either.
    assert_eq!(followers(server.pid()), 0);
    assert!(is_set(&server.get(&moves)));
    server.post(&format!("{moves}/unthrottle"), &json!({}));
    server.until(&moves, |moves| {
        moves["throttles"]["brokers"]
            .as_object()
            .unwrap()
            .is_empty()
            && moves["throttles"]["topics"].as_object().unwrap().is_empty()
    });
}
