//! What goes wrong on real brokers and on what is none: the message names the broker and the next step, and nothing hangs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use tare_kafka::kafka_protocol::messages::create_acls_request::AclCreation;
use tare_kafka::kafka_protocol::messages::{CreateAclsRequest, DescribeAclsRequest};
use tare_kafka::kafka_protocol::protocol::StrBytes;
use tare_record::agent::LoadEnd;
use tare_record::load::{FetchUntil, LoadPlan, Pacing, Transport, Trust};

use crate::bed::{
    Running, S, Stand, bed, consumer, fetch, login, member, produce, producer, records, refusal,
    run, tls, trusting, written,
};

/// A producer of ten records and a consumer.
fn both(at: &[SocketAddr], topic: &str) -> [LoadPlan; 2] {
    [producer(at, topic, Pacing::Max, 10), consumer(at, topic)]
}

/// The same, which wait no longer than three seconds.
fn hasty(plans: [LoadPlan; 2]) -> [LoadPlan; 2] {
    plans.map(|mut plan| {
        plan.load.timeout_ns = 3 * S;
        plan
    })
}

/// Each plan is refused with all of these words.
fn refused(plans: impl IntoIterator<Item = LoadPlan>, words: &[&str]) {
    for plan in plans {
        let said = refusal(&plan);
        let missing: Vec<&&str> = words.iter().filter(|word| !said.contains(**word)).collect();
        assert!(
            missing.is_empty(),
            "{}: {said:?} without {missing:?}",
            plan.load.client.protocol
        );
    }
}

fn over(plans: [LoadPlan; 2], transport: &Transport) -> [LoadPlan; 2] {
    plans.map(|mut plan| {
        plan.load.transport = transport.clone();
        plan
    })
}

#[test]
fn a_topic_that_is_not_there_is_to_be_made_first() {
    let cluster = bed();
    let plain = cluster.at("plain");
    refused(
        both(&plain, "nowhere"),
        &[
            "broker ",
            " at 127.",
            "\"nowhere\"",
            "create the topic first",
        ],
    );
}

#[test]
fn a_wrong_way_in_is_told_with_the_right_one() {
    let cluster = bed();
    let [plain, secure, mutual] = ["plain", "tls", "mtls"].map(|port| cluster.at(port));
    refused(both(&secure, "any"), &[" at 127.", "kafka+tls://"]);
    refused(over(both(&plain, "any"), &tls(&cluster)), &["127.", "TLS"]);
    refused(
        over(both(&secure, "any"), &trusting(Trust::System)),
        &["127.", "--cacert"],
    );
    refused(
        over(both(&mutual, "any"), &tls(&cluster)),
        &["127.", "--cert"],
    );
}

#[test]
fn a_login_that_is_wrong_or_missing_is_told() {
    let cluster = bed();
    let folder = tempfile::tempdir().unwrap();
    let sasl = cluster.at("sasl");
    let with = |mechanism: &str, word: &str| {
        let [mut writing, mut reading] = both(&sasl, "any");
        produce(&mut writing).sasl = login(&folder, mechanism, word);
        fetch(&mut reading).sasl = login(&folder, mechanism, word);
        [writing, reading]
    };
    for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] {
        refused(
            with(mechanism, "wrong"),
            &["broker", "127.", "refuses the login of \"tare\""],
        );
    }
    refused(both(&sasl, "any"), &["127.", "--sasl-user"]);
    let [mut writing, mut reading] = both(&cluster.at("plain"), "any");
    produce(&mut writing).sasl = login(&folder, "PLAIN", "tare-secret");
    fetch(&mut reading).sasl = login(&folder, "PLAIN", "tare-secret");
    refused([writing, reading], &["127.", "takes no login on this port"]);
}

/// Has the brokers allow only this to the user; until each of them knows it.
fn allow(stand: &mut Stand, kind: i8, name: &str, operation: i8) {
    /// Longer than any broker takes to hear of a change.
    const LIMIT: Duration = Duration::from_secs(60);
    let text = |word: &str| StrBytes::from_string(word.to_owned());
    let acl = AclCreation::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_resource_pattern_type(3)
        .with_principal(text("User:tare"))
        .with_host(text("*"))
        .with_operation(operation)
        .with_permission_type(3);
    let request = CreateAclsRequest::default().with_creations(vec![acl]);
    let brokers = stand.admin.cluster();
    let answer = brokers.request_once(&request).unwrap();
    let codes: Vec<i16> = answer.results.iter().map(|one| one.error_code).collect();
    assert_eq!(codes, [0]);
    let question = DescribeAclsRequest::default()
        .with_resource_type_filter(kind)
        .with_resource_name_filter(Some(text(name)))
        .with_pattern_type_filter(3)
        .with_principal_filter(None)
        .with_host_filter(None)
        .with_operation(operation)
        .with_permission_type(3);
    let began = Instant::now();
    for broker in brokers.brokers().keys().copied().collect::<Vec<_>>() {
        let mut known = || {
            let answer = brokers.request_to(broker, &question, i16::MAX);
            !answer.unwrap().resources.is_empty()
        };
        while !known() {
            assert!(began.elapsed() < LIMIT, "broker {broker} knows no {name}");
            thread::yield_now();
        }
    }
}

/// Exchanges that a broker refuses for want of a right, and nothing else happens.
fn unauthorised(plan: &LoadPlan) -> u64 {
    let outcome = run(plan).unwrap();
    let [refused] = outcome.result.outcomes.as_slice() else {
        panic!("{:?}", outcome.result.outcomes);
    };
    assert_eq!(refused.class, "topic-authorization-failed");
    let example = refused.example.clone().unwrap();
    assert!(
        example.contains("broker ") && example.contains("ACLs"),
        "{example}"
    );
    refused.count
}

#[test]
fn what_the_brokers_do_not_allow_is_told_with_whose_right_is_missing() {
    const TOPIC: i8 = 2;
    const GROUP: i8 = 3;
    const READ: i8 = 3;
    const CREATE: i8 = 5;
    const DELETE: i8 = 6;
    const DESCRIBE: i8 = 8;
    let cluster = bed();
    let plain = cluster.at("plain");
    let folder = tempfile::tempdir().unwrap();
    let user = || login(&folder, "PLAIN", "tare-secret");
    let sasl = cluster.at("sasl");
    let both = |topic: &str| {
        let [mut writing, mut reading] = both(&sasl, topic);
        produce(&mut writing).sasl = user();
        fetch(&mut reading).sasl = user();
        [writing, reading]
    };
    let mut stand = Stand::new(&plain);
    for topic in ["hidden", "read-only", "seen-only", "open"] {
        stand.topic(topic, &[]);
    }
    written(&plain, "seen-only", 10);
    // Creating alone does not let anybody see; deleting does.
    allow(&mut stand, TOPIC, "hidden", CREATE);
    allow(&mut stand, TOPIC, "read-only", READ);
    allow(&mut stand, TOPIC, "seen-only", DESCRIBE);
    allow(&mut stand, GROUP, "closed", DELETE);
    refused(both("hidden"), &["broker ", "\"hidden\"", "ACLs"]);
    let [writing, _] = both("read-only");
    assert_eq!(unauthorised(&writing), 10);
    let [_, reading] = both("seen-only");
    assert!(
        (1..=3).contains(&unauthorised(&reading)),
        "once for a broker"
    );
    let mut member = member(&sasl, "open", "closed");
    fetch(&mut member).sasl = user();
    refused([member], &["\"closed\"", "ACLs"]);
}

#[test]
fn a_member_whose_right_is_taken_away_in_the_middle_ends_with_its_name_and_keeps_what_it_read() {
    const GROUP: i8 = 3;
    const DELETE: i8 = 6;
    let cluster = bed();
    let plain = cluster.at("plain");
    let folder = tempfile::tempdir().unwrap();
    let mut stand = Stand::new(&plain);
    stand.topic("kept", &[]);
    written(&plain, "kept", 300);
    let mut plan = member(&cluster.at("sasl"), "kept", "lost");
    let mut fetching = fetch(&mut plan);
    fetching.sasl = login(&folder, "PLAIN", "tare-secret");
    fetching.until = FetchUntil::default();
    drop(fetching);
    let running = Running::start(plan);
    running.until_read(300);
    // Who may delete it only may not read with it any more.
    allow(&mut stand, GROUP, "lost", DELETE);
    let outcome = running.outcome().unwrap();
    let result = &outcome.result;
    assert_eq!(result.ended, LoadEnd::Aborted);
    let why = result.abort_reason.as_ref().unwrap();
    assert!(why.contains("\"lost\"") && why.contains("ACLs"), "{why}");
    assert_eq!(records(&outcome), 300);
}

#[test]
fn a_record_larger_than_the_topic_takes_is_told_with_both_sides_limits() {
    let cluster = bed();
    let plain = cluster.at("plain");
    let mut stand = Stand::new(&plain);
    stand.topic("small", &[("max.message.bytes", "2000")]);
    let [few, _] = both(&plain, "small");
    assert_eq!(run(&few).unwrap().result.ok, 10, "a small batch");
    let mut many = producer(&plain, "small", Pacing::Max, 5000);
    many.load.timeout_ns = 3 * S;
    let outcome = run(&many).unwrap();
    let mut outcomes = outcome.result.outcomes.iter();
    let refused = outcomes.find(|one| one.class == "message-too-large");
    let example = refused.and_then(|one| one.example.clone()).unwrap();
    assert!(
        example.contains("max.message.bytes") && example.contains("broker "),
        "{example}"
    );
}

/// A server that says this to everybody as soon as it has been asked something, and then waits or hangs up.
fn stranger(words: &'static [u8], then: Then) -> Vec<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    // Ends with the process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut asked = [0; 1024];
                let _ = stream.read(&mut asked);
                let _ = stream.write_all(words);
                while then == Then::Wait && stream.read(&mut asked).is_ok_and(|count| count > 0) {}
            });
        }
    });
    vec![at]
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    Wait,
    HangUp,
}

#[test]
fn who_is_no_broker_is_told_from_one() {
    let http = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    for then in [Then::Wait, Then::HangUp] {
        let at = stranger(http, then);
        refused(both(&at, "any"), &[&at[0].to_string(), "Kafka"]);
    }
    let silent = stranger(b"", Then::HangUp);
    refused(both(&silent, "any"), &[&silent[0].to_string(), "Kafka"]);
    let mute = stranger(b"", Then::Wait);
    refused(
        hasty(both(&mute, "any")),
        &[&mute[0].to_string(), "no answer", "Kafka"],
    );
    // Nobody at all.
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    refused(hasty(both(&[nobody], "any")), &[&nobody.to_string()]);
}
