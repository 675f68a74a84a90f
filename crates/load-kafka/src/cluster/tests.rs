//! The cluster layer against simulated brokers: finding leaders, following them, and telling what cannot be used.

use std::net::SocketAddr;
use std::sync::Arc;

use tare_kafka::kafka_protocol::messages::{ApiKey, InitProducerIdRequest};
use tare_record::agent::ErrorSource;
use tare_record::load::AddressOverride;

use super::{Cluster, ClusterPlan, Event};
use crate::resolver::{Lookup, Resolve};
use crate::send_queue::NoSegments;
use crate::sim::Brokers;
use crate::versions::Api;
use tare_load::Quantity;
use tare_load::client::{
    Client, Closed, Completion, ConnId, DueExchange, ErrorClass, ExchangeOutcome, Outlet, Stamp,
    Status, TimerId, TimestampBound,
};
use tare_load::engine::sim::{MS, S, Sim, rate};
use tare_load::protocols::ConnectionSecurity;

const APIS: [Api; 1] = [Api::new(ApiKey::InitProducerId, 0, 4)];

#[derive(Debug)]
pub struct NoNames;

impl Resolve for NoNames {
    fn lookup(&self, _host: &str) -> Lookup {
        Lookup::NotFound("no names here".into())
    }
}

pub fn plan(seeds: &[u16]) -> ClusterPlan {
    let seeds = seeds.iter().map(|port| ([127, 0, 0, 1], *port).into());
    ClusterPlan {
        seeds: seeds.collect(),
        first: 0,
        topics: vec!["t".into()],
        client_id: "tare".into(),
        apis: &APIS,
        connect_timeout_ns: S,
        request_timeout_ns: S,
        names: Arc::new(NoNames),
        address_overrides: Arc::new([]),
        security: ConnectionSecurity::Plain,
        login: None,
    }
}

/// Asks the leader of partition 0 for a producer's number with each exchange.
struct Asker {
    cluster: Cluster,
    events: Vec<Event>,
    waiting: Vec<DueExchange>,
}

impl Asker {
    fn new(plan: ClusterPlan) -> Self {
        Self {
            cluster: Cluster::new(plan),
            events: Vec::new(),
            waiting: Vec::new(),
        }
    }

    fn end(due: DueExchange, outcome: ExchangeOutcome, out: &mut impl Outlet) {
        let done = Completion {
            outcome,
            sent_ns: Some(out.now_ns()),
            ended: Stamp::event(out.now_ns()),
            bound: TimestampBound::Exact,
            waited: None,
            example: &"",
        };
        out.complete(due.ticket, &done);
    }

    fn after(&mut self, out: &mut impl Outlet) {
        while let Some(event) = self.cluster.next_event() {
            if let Event::Lost { token, class, .. } = &event {
                let at = self.waiting.iter().position(|due| due.ticket.0 == *token);
                let due = self.waiting.remove(at.unwrap());
                Self::end(due, ExchangeOutcome::Failed(*class), out);
            }
            self.events.push(event);
        }
    }
}

impl Client for Asker {
    fn on_start(&mut self, out: &mut impl Outlet) {
        self.cluster.start(out);
    }
    fn capacity(&self) -> usize {
        4
    }
    fn is_open(&self) -> bool {
        self.cluster.is_open()
    }
    fn on_due(&mut self, due: DueExchange, out: &mut impl Outlet) {
        let leader = self.cluster.topics()[0].partitions.first();
        let leader = leader.and_then(|partition| partition.leader);
        match leader.filter(|&broker| self.cluster.is_usable(broker)) {
            None => Self::end(due, ExchangeOutcome::Failed(Closed::Refused.class()), out),
            Some(broker) => {
                self.waiting.push(due);
                self.cluster
                    .send(
                        broker,
                        due.ticket.0,
                        &InitProducerIdRequest::default(),
                        S,
                        out,
                    )
                    .unwrap();
            }
        }
    }
    fn flush(&mut self, out: &mut impl Outlet) {
        self.cluster.flush(&NoSegments, out);
    }
    fn on_connected(&mut self, conn: ConnId, out: &mut impl Outlet) {
        self.cluster.connected(conn.0, out);
        self.after(out);
    }
    fn on_bytes(&mut self, conn: ConnId, bytes: &[u8], _stamp: Stamp, out: &mut impl Outlet) {
        let mut input = bytes;
        while let Some(answer) = self.cluster.take(conn.0, &mut input, out) {
            let at = self
                .waiting
                .iter()
                .position(|due| due.ticket.0 == answer.token);
            let due = self.waiting.remove(at.unwrap());
            Self::end(due, ExchangeOutcome::Ok(Status::NONE), out);
            self.cluster.recycle(answer.broker, answer.frame);
        }
        self.after(out);
    }
    fn on_write_started(&mut self, _conn: ConnId, _at_ns: u64, _out: &mut impl Outlet) {}
    fn on_writable(&mut self, conn: ConnId, _out: &mut impl Outlet) {
        self.cluster.on_writable(conn.0);
    }
    fn on_closed(&mut self, conn: ConnId, why: Closed, out: &mut impl Outlet) {
        self.cluster.closed(conn.0, why, out);
        self.after(out);
    }
    fn on_timer(&mut self, timer: TimerId, out: &mut impl Outlet) {
        self.cluster.timer(timer, out);
        self.after(out);
    }
    fn abandon(&mut self, out: &mut impl Outlet) {
        for due in std::mem::take(&mut self.waiting) {
            Self::end(due, ExchangeOutcome::Unfinished, out);
        }
    }
}

fn sim(plan: ClusterPlan, brokers: Brokers) -> Sim<Asker, Brokers> {
    Sim::new(Asker::new(plan), rate(10.0, 3), 100, brokers)
}

#[test]
fn the_leaders_are_found_through_a_seed_that_is_left_then() {
    let mut sim = sim(plan(&[9001]), Brokers::new(&[1, 2, 3], 2));
    sim.run_until(S + 10 * MS);
    let cluster = &sim.engine.client().cluster;
    assert!(cluster.is_open());
    assert_eq!(cluster.name(1).to_string(), "broker 1 at 127.0.0.1:9001");
    assert!(!cluster.is_usable(0), "the seed has been left");
    assert!(!cluster.is_usable(3), "it leads nothing");
    assert_eq!(cluster.version(1, ApiKey::InitProducerId), 4);
    sim.run_until(10 * S);
    assert_eq!(
        sim.engine.recorder().counts().all.ok,
        29,
        "the first came before"
    );
    assert_eq!(sim.engine.recorder().counts().connections.opened, 3);
    assert_eq!(sim.net.far.metadata_asked, 1);
}

#[test]
fn brokers_beyond_the_limit_are_ignored_and_the_others_asked() {
    let nodes: Vec<i32> = (1..=5000).collect();
    let mut sim = sim(plan(&[9001]), Brokers::new(&nodes, 2));
    sim.run_until(10 * S);
    assert_eq!(sim.engine.recorder().counts().all.ok, 29);
    let cluster = &sim.engine.client().cluster;
    // One connection is the seed's.
    let most = super::BROKERS_MAX as i32 - 1;
    assert!(cluster.broker(most).is_some());
    assert_eq!(cluster.broker(most + 1), None);
}

#[test]
fn a_seed_that_is_down_is_passed_over() {
    let mut brokers = Brokers::new(&[1, 2], 1);
    brokers.leaders = vec![2];
    brokers.down = vec![1];
    let mut sim = sim(plan(&[9001, 9002]), brokers);
    sim.run_until(10 * S);
    let ok = sim.engine.recorder().counts().all.ok;
    assert!(ok >= 29, "{ok}: it opens after a pause of 10 ms");
}

#[test]
fn a_broker_is_called_through_what_stands_before_it_and_keeps_its_name() {
    let mut brokers = Brokers::new(&[1, 2], 1);
    brokers.leaders = vec![2];
    // Nobody gets through to it but over the other's port.
    brokers.outside = vec![2];
    let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let other = AddressOverride {
        advertised: address(9002),
        connect_to: address(9001),
    };
    let plan = ClusterPlan {
        address_overrides: Arc::new([other]),
        ..plan(&[9001])
    };
    let mut sim = sim(plan, brokers);
    sim.run_until(S + 10 * MS);
    let cluster = &sim.engine.client().cluster;
    assert!(cluster.is_open());
    let leader = cluster.topics()[0].partitions[0].leader.unwrap();
    assert_eq!(
        cluster.name(leader).to_string(),
        "broker 2 at 127.0.0.1:9002"
    );
    // The seed goes by the name that certificates have, too.
    assert_eq!(cluster.name(0).to_string(), "the broker at 127.0.0.1:9002");
    sim.run_until(10 * S);
    assert_eq!(sim.engine.recorder().counts().all.ok, 29);
}

#[test]
fn when_the_leader_dies_the_next_one_is_asked() {
    let mut sim = sim(plan(&[9001, 9002]), Brokers::new(&[1, 2], 1));
    sim.run_until(S + 950 * MS);
    sim.net.far.down = vec![1];
    sim.run_until(S + 1500 * MS);
    sim.net.far.move_leader(0, 2);
    sim.run_until(10 * S);
    let counts = &sim.engine.recorder().counts().all;
    assert_eq!(counts.ok + counts.errors, 30);
    assert!((20..=25).contains(&counts.ok), "{counts:?}");
    assert_eq!(
        sim.engine.client().cluster.topics()[0].partitions[0].leader,
        Some(2)
    );
}

#[test]
fn a_leader_out_of_reach_is_named_with_what_to_do_also_in_the_middle() {
    let mut sim = sim(plan(&[9001]), Brokers::new(&[1, 2], 1));
    sim.run_until(S + 500 * MS);
    assert_eq!(sim.engine.client().cluster.problem(), None);
    sim.net.far.outside = vec![2];
    sim.net.far.move_leader(0, 2);
    sim.net.far.down = vec![1];
    sim.run_until(S + 600 * MS);
    sim.net.far.down.clear();
    sim.run_until(3 * S);
    let problem = sim.engine.client().cluster.problem().unwrap();
    assert!(
        problem.starts_with(
            "connecting to broker 2 at 127.0.0.1:9002, as it advertises itself, is not allowed"
        ),
        "{problem}"
    );
    for step in ["--allow-public-target", "advertised.listeners"] {
        assert!(problem.contains(step), "{problem}");
    }
}

#[test]
fn a_broker_whose_name_is_not_found_is_named_at_once_and_is_a_matter_of_settings() {
    let mut brokers = Brokers::new(&[1, 2], 1);
    brokers.host = "kafka-broker-1.compose.invalid";
    let mut sim = sim(plan(&[9001]), brokers);
    sim.run_until(S + 10 * MS);
    let problem = sim.engine.client().cluster.problem().unwrap();
    for part in [
        "broker 1",
        "kafka-broker-1.compose.invalid",
        "no names here",
        "advertised.listeners",
    ] {
        assert!(problem.contains(part), "{problem}");
    }
    let seen = sim.classes.seen();
    let found = seen.iter().find(|one| one.class.name == "unknown-host");
    let source = found.unwrap().class.error_source;
    assert_eq!(source, ErrorSource::Configuration);
}

#[test]
fn a_name_that_was_found_before_may_be_missing_for_a_while() {
    let mut brokers = Brokers::new(&[1, 2], 1);
    brokers.leaders = vec![2];
    let mut sim = sim(plan(&[9001]), brokers);
    sim.run_until(S + 500 * MS);
    assert!(sim.engine.client().cluster.is_open());
    sim.net.far.host = "kafka-broker-2.compose.invalid";
    sim.net.far.down = vec![2];
    sim.run_until(S + 1500 * MS);
    sim.net.far.down.clear();
    sim.run_until(3 * S);
    assert!(!sim.engine.client().cluster.is_open());
    let words = sim.engine.client().cluster.last_disconnect().unwrap().1;
    assert!(words.contains("kafka-broker-2.compose.invalid"), "{words}");
    assert_eq!(sim.engine.client().cluster.problem(), None);
    // The broker is back, and so is its name.
    sim.net.far.host = "127.0.0.1";
    sim.net.far.move_leader(0, 1);
    sim.run_until(8 * S);
    assert!(sim.engine.client().cluster.is_open());
}

#[test]
fn a_seed_that_is_no_broker_is_passed_over_and_named() {
    let mut brokers = Brokers::new(&[1, 2, 3], 1);
    (brokers.web, brokers.controllers) = (vec![2], vec![3]);
    let mut sim = sim(plan(&[9002, 9003, 9001]), brokers);
    sim.run_until(S + 200 * MS);
    assert_eq!(sim.engine.client().cluster.problem(), None);
    assert!(sim.engine.client().cluster.is_open());
    let seen = sim.classes.seen();
    let found = seen.iter().find(|one| one.class.name == "not-a-broker");
    let example = found.unwrap().example.clone().unwrap();
    assert!(example.contains("127.0.0.1:9002"), "{example}");
}

#[test]
fn when_no_seed_is_a_broker_each_is_told_with_its_reason() {
    let mut brokers = Brokers::new(&[2, 3], 1);
    (brokers.web, brokers.controllers) = (vec![2], vec![3]);
    let mut sim = sim(plan(&[9002, 9003]), brokers);
    sim.run_until(2 * S);
    let problem = sim.engine.client().cluster.problem().unwrap();
    for part in [
        "127.0.0.1:9002",
        "kafka+tls://",
        "127.0.0.1:9003",
        "port of a controller",
    ] {
        assert!(problem.contains(part), "{problem}");
    }
}

#[test]
fn a_topic_without_any_leader_is_told_and_not_waited_for() {
    let mut brokers = Brokers::new(&[1, 2], 1);
    brokers.leaders = vec![2];
    brokers.down = vec![2];
    let mut sim = sim(plan(&[9001]), brokers);
    sim.run_until(S + 1900 * MS);
    assert_eq!(sim.engine.client().cluster.problem(), None);
    sim.run_until(4 * S);
    let problem = sim.engine.client().cluster.problem().unwrap();
    assert!(
        problem.contains("t-0 has no leader: start broker 2"),
        "{problem}"
    );
}

#[test]
fn a_request_without_answer_is_lost_after_its_time_and_the_connection_renewed() {
    let mut sim = sim(
        ClusterPlan {
            request_timeout_ns: S,
            ..plan(&[9001])
        },
        Brokers::new(&[1], 1),
    );
    sim.run_until(S + 500 * MS);
    // Whose cluster was never open ends; one that was is waited for.
    assert!(sim.engine.client().cluster.is_open());
    sim.net.far.delay_ns = 1500 * MS;
    sim.run_until(4 * S);
    assert!(!sim.engine.client().cluster.is_open());
    let words = sim.engine.client().cluster.last_disconnect().unwrap().1;
    assert_eq!(
        &*words,
        "broker 1 at 127.0.0.1:9001 gave no answer within 1000 ms"
    );
    sim.net.far.delay_ns = MS;
    sim.run_until(8 * S);
    assert!(sim.engine.client().cluster.is_open());
}

#[test]
fn an_answer_to_a_request_that_still_waits_here_is_none() {
    let mut sim = sim(plan(&[9001]), Brokers::new(&[1], 1));
    sim.run_until(S + 50 * MS);
    sim.net.room.insert(ConnId(1), 0);
    sim.run_until(S + 350 * MS);
    let waiting = *sim.engine.client().cluster.connections[1]
        .pending
        .front()
        .unwrap();
    assert_eq!(waiting.sent_ns, None);
    // Numbers follow each other, so that a broker can answer without reading.
    let words = [4_i32.to_be_bytes(), waiting.correlation.to_be_bytes()];
    let stamp = Stamp::event(sim.net.now_ns);
    sim.engine
        .on_bytes(ConnId(1), &words.concat(), stamp, &mut sim.net);
    let (class, words) = sim.engine.client().cluster.last_disconnect().unwrap();
    assert_eq!(class, ErrorClass::MALFORMED);
    assert!(words.contains("unknown correlation id"), "{words}");
}

#[test]
fn answers_that_are_begun_on_many_connections_are_bounded_together() {
    let mut brokers = Brokers::new(&[1, 2, 3, 4, 5], 5);
    brokers.delay_ns = 0;
    let mut sim = sim(plan(&[9001]), brokers);
    sim.run_until(S + 50 * MS);
    assert!(sim.engine.client().cluster.is_open());
    let piece = vec![0; 8_000_000];
    for broker in 1..=5 {
        assert!(sim.engine.client().cluster.is_usable(broker), "{broker}");
        let stamp = Stamp::event(sim.net.now_ns);
        let length = 8_388_608_u32.to_be_bytes();
        sim.engine
            .on_bytes(ConnId(broker), &length, stamp, &mut sim.net);
        sim.engine
            .on_bytes(ConnId(broker), &piece, stamp, &mut sim.net);
    }
    let cluster = &sim.engine.client().cluster;
    assert!(cluster.is_usable(4) && !cluster.is_usable(5));
    let words = &cluster.last_disconnect().unwrap().1;
    assert!(words.contains("of incomplete responses"), "{words}");
}

#[test]
fn an_old_broker_is_named_with_its_versions() {
    let mut brokers = Brokers::new(&[1], 1);
    brokers.versions = vec![(ApiKey::ApiVersions, 0, 0), (ApiKey::Metadata, 0, 2)];
    let mut sim = sim(plan(&[9001]), brokers);
    sim.run_until(S + 10 * MS);
    let problem = sim.engine.client().cluster.problem().unwrap().to_owned();
    assert_eq!(
        problem,
        "the broker at 127.0.0.1:9001 cannot be used: it has Metadata in versions 0 to 2, and tare speaks 4 to 12: use a broker of 2.1 or newer"
    );
}

#[test]
fn an_unknown_topic_is_told_after_two_seconds_and_a_forbidden_one_at_once() {
    let mut brokers = Brokers::new(&[1], 1);
    brokers.topic_error = 3;
    let mut late = sim(plan(&[9001]), brokers);
    late.run_until(2 * S);
    assert_eq!(late.engine.client().cluster.problem(), None);
    late.run_until(4 * S);
    let problem = late.engine.client().cluster.problem().unwrap();
    assert!(problem.contains("refuses topic \"t\""), "{problem}");
    assert!(problem.contains("create the topic first"), "{problem}");
    let mut brokers = Brokers::new(&[1], 1);
    brokers.topic_error = 29;
    let mut at_once = sim(plan(&[9001]), brokers);
    at_once.run_until(S + 10 * MS);
    let problem = at_once.engine.client().cluster.problem().unwrap();
    assert!(problem.contains("ACLs"), "{problem}");
}

#[test]
fn a_topic_that_comes_a_little_later_is_found() {
    let mut brokers = Brokers::new(&[1], 1);
    brokers.topic_error = 3;
    let mut sim = sim(plan(&[9001]), brokers);
    sim.run_until(S + 700 * MS);
    sim.net.far.topic_error = 0;
    sim.run_until(S + 900 * MS);
    assert!(sim.engine.client().cluster.is_open());
    assert_eq!(sim.engine.client().cluster.problem(), None);
    let latency = sim.observed().of(Quantity::Latency, "");
    assert!(!latency.is_empty());
}
