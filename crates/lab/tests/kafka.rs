//! Kafka's brokers as the laboratory starts them: a cluster is ready when every broker sees all of it.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tare_lab::connector::Connector;
use tare_lab::probe::ReadinessProbe;
use tare_lab::render::Login;
use tare_test_cluster::{Cluster, ClusterMember};

#[test]
fn three_brokers_are_one_cluster_lose_one_and_take_it_back() {
    let settings = BTreeMap::from([
        ("all_listeners".to_owned(), json!(true)),
        ("min_insync_replicas".to_owned(), json!(2)),
        ("log_dir".to_owned(), json!("memory")),
        ("jit".to_owned(), json!("C1")),
    ]);
    let started = std::time::Instant::now();
    let mut cluster = Cluster::start("kafka", 3, &settings).unwrap();
    println!(
        "three brokers after {:.1} s",
        started.elapsed().as_secs_f64()
    );
    let folders: Vec<_> = cluster.members().iter().map(|m| m.folder.clone()).collect();
    // Who is kept from answering within a question's second, by a busy machine, is asked again; an answer must be right.
    let sees = |at: &str, brokers: usize| {
        let at = at.to_owned();
        let probe = ReadinessProbe::Kafka { at, brokers };
        let asked = std::time::Instant::now();
        while let Err(said) = probe.ask(&Connector::Host) {
            let is_late = said.contains("gave no answer to");
            assert!(
                is_late && asked.elapsed() < Duration::from_secs(60),
                "{said}"
            );
        }
    };
    let plain: Vec<String> = cluster
        .at("plain")
        .iter()
        .map(ToString::to_string)
        .collect();
    for at in &plain {
        sees(at, 3);
    }
    for port in ["tls", "mtls", "sasl", "sasl-tls"] {
        for at in cluster.at(port) {
            ReadinessProbe::Tcp(at.to_string())
                .ask(&Connector::Host)
                .unwrap();
        }
    }
    tells_of_itself(&cluster);
    tells_nobody_else_and_obeys_nobody(&cluster);
    cluster.kill(2).unwrap();
    let within = Duration::from_secs(60);
    let fenced = ReadinessProbe::Kafka {
        at: plain[0].clone(),
        brokers: 2,
    };
    let waited = fenced.wait(&Connector::Host, within, &mut || {
        tare_lab::probe::InstanceState::Running
    });
    assert!(
        matches!(waited, tare_lab::probe::Readiness::Ready(_)),
        "{waited:?}"
    );
    cluster.start_again(2).unwrap();
    sees(&plain[1], 3);
    let pids: Vec<u32> = cluster.members().iter().map(|member| member.pid).collect();
    drop(cluster);
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
    assert!(folders.iter().all(|folder| !folder.exists()));
}

/// Who has no password learns nothing; who has it reads what is counted, and can neither write, nor execute, nor look around.
fn tells_nobody_else_and_obeys_nobody(cluster: &Cluster) {
    let member = &cluster.members()[0];
    let right = &member.login().clone();
    let wrong = Login {
        password: "0".repeat(32),
        ..right.clone()
    };
    let answer =
        |login: Option<&Login>, question: &Value| ask(member.admin(), login, &question.to_string());
    let wanted = allowed(member);
    for login in [None, Some(&wrong)] {
        let (status, body) = answer(login, &wanted);
        assert_eq!(status, 401, "{body}");
        assert!(!body.contains("\"value\""), "{body}");
    }
    let (status, body) = answer(Some(right), &wanted);
    assert_eq!(status, 200, "{body}");
    let all: Vec<Value> = serde_json::from_str(&body).unwrap();
    assert_eq!(all.len(), wanted.as_array().unwrap().len());
    assert!(all.len() > 10, "{wanted}");
    for one in &all {
        // There is no topic yet; what may not be read is 403.
        let is_missing = one["request"].to_string().contains("topic=");
        assert_eq!(one["status"], if is_missing { 404 } else { 200 }, "{one}");
    }
    let of_topic = "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=a";
    for (attribute, status) in [("Count", 404), ("OneMinuteRate", 403)] {
        let question = json!({"type": "read", "mbean": of_topic, "attribute": attribute});
        let (_, body) = answer(Some(right), &question);
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["status"], status, "{body}");
    }
    let diagnostic = "com.sun.management:type=DiagnosticCommand";
    let memory = "java.lang:type=Memory";
    for refused in [
        json!({"type": "exec", "mbean": diagnostic, "operation": "compilerDirectivesPrint"}),
        json!({"type": "exec", "mbean": diagnostic, "operation": "jvmtiAgentLoad", "arguments": [["/tmp/x.so"]]}),
        json!({"type": "exec", "mbean": memory, "operation": "gc"}),
        json!({"type": "write", "mbean": memory, "attribute": "Verbose", "value": true}),
        json!({"type": "read", "mbean": memory, "attribute": "Verbose"}),
        json!({"type": "read", "mbean": "java.lang:type=Runtime", "attribute": "SystemProperties"}),
        json!({"type": "read", "mbean": "java.lang:type=Runtime"}),
        json!({"type": "list"}),
        json!({"type": "search", "mbean": "*:*"}),
    ] {
        let (_, body) = answer(Some(right), &refused);
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["status"], 403, "{refused}: {body}");
        assert_eq!(body.get("value"), None, "{refused}");
    }
    let command = fs::read(format!("/proc/{}/cmdline", member.pid)).unwrap();
    let command = String::from_utf8_lossy(&command);
    assert!(command.contains("javaagent") && !command.contains(&right.password));
    let mode = |file: &str| {
        let file = fs::metadata(member.folder.join(file)).unwrap();
        file.permissions().mode() & 0o777
    };
    assert_eq!(mode("jolokia.properties"), 0o600);
}

/// A question about everything that Jolokia was told to answer.
fn allowed(member: &ClusterMember) -> Value {
    let text = fs::read_to_string(member.folder.join("jolokia-access.xml")).unwrap();
    let inner = |text: &str, from: &str, to: &str| -> Vec<String> {
        let parts = text.split(from).skip(1);
        parts
            .map(|part| part.split_once(to).unwrap().0.to_owned())
            .collect()
    };
    let all = inner(&text, "<mbean>", "</mbean>");
    let questions = all.iter().map(|bean| {
        let name = &inner(bean, "<name>", "</name>")[0];
        let attributes = inner(bean, "<attribute mode=\"read\">", "</attribute>");
        json!({"type": "read", "mbean": name, "attribute": attributes})
    });
    Value::from_iter(questions)
}

/// Posts a question to Jolokia, by HTTP/1.0 so that it answers in one piece; the status and the body of the answer.
fn ask(at: SocketAddr, login: Option<&Login>, question: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let login = login.map_or_else(String::new, |login| {
        let pair = STANDARD.encode(format!("{}:{}", login.user, login.password));
        format!("Authorization: Basic {pair}\r\n")
    });
    let length = question.len();
    let head = format!(
        "POST /jolokia/ HTTP/1.0\r\nHost: {at}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{login}\r\n"
    );
    stream.write_all((head + question).as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

/// What a broker counts is there from its start, with its unit.
fn tells_of_itself(cluster: &Cluster) {
    let counters = cluster.counters(1).unwrap();
    let of = |name: &str| {
        let mut found = counters.readings.iter().filter(|r| r.name == name);
        found
            .next()
            .unwrap_or_else(|| panic!("no {name}: {counters:?}"))
            .value
    };
    assert!((1e6..1e9).contains(&of("x-heap-bytes")), "bytes");
    assert_eq!(of("x-under-replicated-partitions"), 0.0);
    assert_eq!(of("x-messages-in"), 0.0);
    assert_eq!(of("x-produce-requests"), 0.0);
    assert_eq!(of("x-isr-shrinks"), 0.0);
    let phases = counters
        .readings
        .iter()
        .filter(|r| r.name == "x-produce-ms");
    let phases: Vec<&str> = phases.filter_map(|r| r.label.as_deref()).collect();
    for phase in [
        "Total",
        "RequestQueue",
        "Local",
        "Remote",
        "ResponseQueue",
        "ResponseSend",
    ] {
        assert!(phases.contains(&phase), "{phases:?}");
    }
    assert!(of("x-gc-pauses") >= 0.0);
}
