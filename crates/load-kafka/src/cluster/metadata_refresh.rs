//! Metadata refresh: on the least busy connection, rate-limited, repeated while a leader is missing.

use std::collections::HashMap;

use tare_kafka::kafka_protocol::ResponseError;
use tare_kafka::kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use tare_kafka::kafka_protocol::messages::{ApiKey, MetadataRequest, MetadataResponse, TopicName};
use tare_kafka::kafka_protocol::protocol::StrBytes;

use super::connection::{BrokerConnection, Purpose, SEED};
use super::{BROKERS_MAX, Cluster, Event, Topic};
use crate::RETRY_BACKOFF_NS;
use crate::errors::{ErrorCode, no_leader};
use tare_load::client::Outlet;

/// How long an unknown topic is retried: a topic that was just created is known to all brokers after this time.
const UNKNOWN_FOR_NS: u64 = 2_000_000_000;

/// State of the metadata refresh.
#[derive(Debug, Default)]
pub(super) struct MetadataRefresh {
    wanted: bool,
    in_flight: bool,
    next_ns: u64,
    unknown_since_ns: Option<u64>,
}

impl MetadataRefresh {
    /// Whether a request is in flight.
    pub fn is_in_flight(&self) -> bool {
        self.in_flight
    }

    /// The request's connection was closed.
    pub fn lost(&mut self) {
        self.in_flight = false;
        self.wanted = true;
    }
}

impl Cluster {
    /// Requests a refresh; [`Event::Metadata`] follows.
    pub fn refresh(&mut self, out: &mut impl Outlet) {
        self.metadata_refresh.wanted = true;
        self.refresh_if_due(out);
    }

    /// Sends a Metadata request, if one is wanted, due and possible.
    pub(super) fn refresh_if_due(&mut self, out: &mut impl Outlet) {
        if !self.metadata_refresh.wanted
            || self.metadata_refresh.in_flight
            || self.problem.is_some()
        {
            return;
        }
        let now_ns = out.now_ns();
        if now_ns < self.metadata_refresh.next_ns {
            return self.retry_at(self.metadata_refresh.next_ns, out);
        }
        // Least busy connection: metadata would queue behind a long-poll fetch or a slow write.
        let open = (0..self.connections.len()).filter(|&at| self.connections[at].is_open());
        let busy = |&at: &usize| {
            let connection = &self.connections[at];
            (connection.muted_until_ns > now_ns, connection.pending.len())
        };
        let Some(at) = open.min_by_key(busy) else {
            self.connections[SEED as usize].wanted = true;
            return self.open_more(out);
        };
        self.metadata_refresh.wanted = false;
        self.metadata_refresh.in_flight = true;
        self.metadata_refresh.next_ns = now_ns.saturating_add(RETRY_BACKOFF_NS);
        let named = |name: &String| {
            let name = TopicName(StrBytes::from_string(name.clone()));
            MetadataRequestTopic::default().with_name(Some(name))
        };
        let request = MetadataRequest::default()
            .with_topics(Some(self.plan.topics.iter().map(named).collect()))
            .with_allow_auto_topic_creation(false);
        let version = self.connections[at].versions.of(ApiKey::Metadata);
        self.send_own(at as u32, Purpose::Metadata, &request, version, out);
    }

    /// Applies a Metadata response.
    pub(super) fn apply_metadata(&mut self, told: &MetadataResponse, out: &mut impl Outlet) {
        self.metadata_refresh.in_flight = false;
        // A cluster may have thousands of brokers, and ten times as many partitions.
        let mut by_node: HashMap<i32, u32> = HashMap::new();
        for (at, connection) in self.connections.iter().enumerate() {
            by_node.entry(connection.node).or_insert(at as u32);
        }
        for broker in &told.brokers {
            let Ok(port) = u16::try_from(broker.port) else {
                continue;
            };
            let node = broker.node_id.0;
            let known = self.connections.len();
            match by_node.get(&node) {
                Some(&at) => {
                    let connection = &mut self.connections[at as usize];
                    connection.host = broker.host.to_string();
                    connection.port = port;
                }
                None if node >= 0 && known < BROKERS_MAX => {
                    by_node.insert(node, known as u32);
                    self.connections
                        .push(BrokerConnection::new(node, &broker.host, port));
                }
                None => {}
            }
        }
        let now_ns = out.now_ns();
        let broker = |node: i32| by_node.get(&node).filter(|_| node >= 0).copied();
        for topic in &told.topics {
            let Some(name) = &topic.name else { continue };
            if let Some(known) = self.topics.iter_mut().find(|known| *known.name == *name.0) {
                known.apply_metadata(topic, now_ns, broker);
            }
        }
        for topic in &self.topics {
            for leader in topic.partitions.iter().filter_map(|one| one.leader) {
                self.connections[leader as usize].wanted = true;
            }
        }
        self.check_topics(out);
        self.report_leaderless(out);
        self.open_more(out);
        self.events.push_back(Event::Metadata);
        self.close_seed(out);
    }

    /// Refreshes again while a leader is missing; fails on topics that stay unknown or are not authorised.
    fn check_topics(&mut self, out: &mut impl Outlet) {
        use ResponseError as E;
        let now_ns = out.now_ns();
        let mut missing = false;
        let mut problem = None;
        for topic in &self.topics {
            missing |= !topic.is_led();
            let never_known = topic.partitions.is_empty();
            match topic.error.error() {
                Some(E::UnknownTopicOrPartition | E::UnknownTopicId) if never_known => {
                    let since_ns = *self.metadata_refresh.unknown_since_ns.get_or_insert(now_ns);
                    if now_ns.saturating_sub(since_ns) >= UNKNOWN_FOR_NS {
                        problem.get_or_insert(self.refusal_message(&topic.name, topic.error));
                    }
                }
                Some(
                    E::TopicAuthorizationFailed | E::InvalidTopicException | E::UnsupportedVersion,
                ) if never_known => {
                    problem.get_or_insert(self.refusal_message(&topic.name, topic.error));
                }
                _ => {}
            }
        }
        if let Some(problem) = problem {
            self.give_up(problem);
        } else if missing {
            self.refresh(out);
        }
    }

    /// Reports partitions that have no leader. A load on a topic of which none has one cannot begin.
    fn report_leaderless(&mut self, out: &mut impl Outlet) {
        let topics = self.topics.iter_mut();
        let words: Vec<String> = topics.flat_map(Topic::newly_without_leader).collect();
        for one in &words {
            out.fault(no_leader(), one);
        }
        let mut all = self.topics.iter().flat_map(|topic| &topic.partitions);
        self.was_led |= all.any(|partition| partition.leader.is_some());
        if let (false, Some(first)) = (self.was_led, words.first()) {
            self.give_up(format!("no partition has a leader: {first}"));
        }
    }

    fn refusal_message(&self, topic: &str, error: ErrorCode) -> String {
        let told = self
            .connections
            .iter()
            .find(|connection| connection.is_open());
        let by = told.map_or_else(|| "the cluster".to_owned(), ToString::to_string);
        format!("{by} refuses topic {topic:?}: {error}")
    }
}
