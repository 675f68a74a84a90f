//! Asking the cluster who leads what: on any connection that is there, not too often, and again while something is missing.

use tare_kafka::kafka_protocol::ResponseError;
use tare_kafka::kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use tare_kafka::kafka_protocol::messages::{ApiKey, MetadataRequest, MetadataResponse, TopicName};
use tare_kafka::kafka_protocol::protocol::StrBytes;

use super::link::{Link, Purpose, SEED};
use super::{BROKERS_MAX, Cluster, Event};
use crate::client::Outlet;
use crate::kafka::errors::Code;

/// Distance of two questions (`retry.backoff.ms`).
const PAUSE_NS: u64 = 100_000_000;

/// A topic that was never there is not waited for any longer: one that was just created is known everywhere after this time.
const UNKNOWN_FOR_NS: u64 = 2_000_000_000;

/// What is to be asked, and when.
#[derive(Debug, Default)]
pub(super) struct Asking {
    wanted: bool,
    under_way: bool,
    next_ns: u64,
    unknown_since_ns: Option<u64>,
}

impl Asking {
    /// Whether a question is under way.
    pub fn is_asking(&self) -> bool {
        self.under_way
    }

    /// The connection it was asked on is gone.
    pub fn lost(&mut self) {
        self.under_way = false;
        self.wanted = true;
    }
}

impl Cluster {
    /// Has the cluster asked who leads what; told by [`Event::Metadata`].
    pub fn refresh(&mut self, out: &mut impl Outlet) {
        self.asking.wanted = true;
        self.ask_if_due(out);
    }

    /// Asks, if that is wanted and possible.
    pub(super) fn ask_if_due(&mut self, out: &mut impl Outlet) {
        if !self.asking.wanted || self.asking.under_way || self.problem.is_some() {
            return;
        }
        let now_ns = out.now_ns();
        if now_ns < self.asking.next_ns {
            return self.retry_at(self.asking.next_ns, out);
        }
        // On the least busy one: behind a long poll or a slow write a question waits.
        let open = (0..self.links.len()).filter(|&at| self.links[at].is_open());
        let Some(at) = open.min_by_key(|&at| self.links[at].pending.len()) else {
            self.links[SEED as usize].wanted = true;
            return self.open_more(out);
        };
        self.asking.wanted = false;
        self.asking.under_way = true;
        self.asking.next_ns = now_ns.saturating_add(PAUSE_NS);
        let named = |name: &String| {
            let name = TopicName(StrBytes::from_string(name.clone()));
            MetadataRequestTopic::default().with_name(Some(name))
        };
        let request = MetadataRequest::default()
            .with_topics(Some(self.plan.topics.iter().map(named).collect()))
            .with_allow_auto_topic_creation(false);
        let version = self.links[at].versions.of(ApiKey::Metadata);
        self.send_own(at as u32, Purpose::Metadata, &request, version, out);
    }

    /// The cluster told who leads what.
    pub(super) fn learn(&mut self, told: &MetadataResponse, out: &mut impl Outlet) {
        self.asking.under_way = false;
        for broker in &told.brokers {
            let Ok(port) = u16::try_from(broker.port) else {
                continue;
            };
            let node = broker.node_id.0;
            let known = self.links.len();
            match self.links.iter_mut().find(|link| link.node == node) {
                Some(link) => {
                    link.host = broker.host.to_string();
                    link.port = port;
                }
                None if node >= 0 && known < BROKERS_MAX => {
                    self.links.push(Link::new(node, &broker.host, port));
                }
                None => {}
            }
        }
        for topic in &told.topics {
            let Some(name) = &topic.name else { continue };
            let links = &self.links;
            let broker = |node: i32| {
                let at = links
                    .iter()
                    .position(|link| link.node == node && node >= 0)?;
                Some(at as u32)
            };
            if let Some(known) = self.topics.iter_mut().find(|known| *known.name == *name.0) {
                known.learn(topic, broker);
            }
        }
        for topic in &self.topics {
            for leader in topic.partitions.iter().filter_map(|one| one.leader) {
                self.links[leader as usize].wanted = true;
            }
        }
        self.judge(out);
        self.open_more(out);
        self.events.push_back(Event::Metadata);
        self.leave_seed(out);
    }

    /// Asks again while something is missing, and gives up where nothing will come.
    fn judge(&mut self, out: &mut impl Outlet) {
        use ResponseError as E;
        let now_ns = out.now_ns();
        let mut missing = false;
        let mut problem = None;
        for topic in &self.topics {
            missing |= !topic.is_led();
            let never_known = topic.partitions.is_empty();
            match topic.error.error() {
                Some(E::UnknownTopicOrPartition | E::UnknownTopicId) if never_known => {
                    let since_ns = *self.asking.unknown_since_ns.get_or_insert(now_ns);
                    if now_ns.saturating_sub(since_ns) >= UNKNOWN_FOR_NS {
                        problem.get_or_insert(self.complaint(&topic.name, topic.error));
                    }
                }
                Some(
                    E::TopicAuthorizationFailed | E::InvalidTopicException | E::UnsupportedVersion,
                ) if never_known => {
                    problem.get_or_insert(self.complaint(&topic.name, topic.error));
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

    fn complaint(&self, topic: &str, error: Code) -> String {
        let told = self.links.iter().find(|link| link.is_open());
        let by = told.map_or_else(|| "the cluster".to_owned(), |link| link.name().to_string());
        format!("{by} refuses topic {topic:?}: {error}")
    }
}
