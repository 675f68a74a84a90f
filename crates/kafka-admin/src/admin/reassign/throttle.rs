//! Replication throttles: set before a reassignment, removed after it.
//!
//! Kafka has two settings per broker (bytes/s as a leader, and as a follower) and two per topic (the replicas to throttle, as
//! `partition:broker`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tare_record::schemas::JsonSchema;

use super::memory::ThrottleMemory;
use crate::admin::Admin;
use crate::admin::change::Mode;
use crate::admin::configs::{Config, ConfigOp, ConfigSource, Resource};
use crate::admin::error::{AdminError, Result};
use crate::reassignment::PartitionReassignment;

const RATES: [&str; 2] = [
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
];
const LEADER_REPLICAS: &str = "leader.replication.throttled.replicas";
const FOLLOWER_REPLICAS: &str = "follower.replication.throttled.replicas";

/// Limits that are set, or to be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Throttles {
    /// Bytes a second, by broker.
    pub brokers: BTreeMap<i32, u64>,
    /// By topic, the replicas that the limit counts for.
    pub topics: BTreeMap<String, Throttled>,
}

/// Replicas of a topic that a limit counts for: `partition:broker`, or `*`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Throttled {
    /// Those copied from.
    pub leader_replicas: Vec<String>,
    /// Those copied to.
    pub follower_replicas: Vec<String>,
}

/// A throttle to set, and where it is noted that Tare has set it.
#[derive(Debug, Clone, Copy)]
pub struct NewThrottle<'a> {
    pub bytes_per_s: u64,
    pub memory: &'a ThrottleMemory,
}

/// What of the throttles that Tare has set is left.
struct OwnThrottles {
    /// Those that still have the value that was set.
    left: Throttles,
    /// Their keys, and those of which the cluster tells no value, perhaps not yet.
    changes: Vec<(Resource, Vec<ConfigOp>)>,
    /// Files that are not needed after these changes.
    files: Vec<PathBuf>,
}

impl Throttles {
    /// The throttles that these moves need, in bytes/s on each broker, in and out; `None` if nothing is copied or no limit is set.
    pub(super) fn of(moves: &[PartitionReassignment], limit: Option<u64>) -> Option<Throttles> {
        let rate = limit?;
        let mut throttles = Throttles::default();
        for one in moves.iter().filter(|one| one.adding().next().is_some()) {
            let topic = throttles.topics.entry(one.topic.clone()).or_default();
            let name = |broker: i32| format!("{}:{broker}", one.partition);
            // Any current replica may be the source.
            topic
                .leader_replicas
                .extend(one.from.iter().map(|id| name(*id)));
            topic.follower_replicas.extend(one.adding().map(name));
            let brokers: BTreeSet<i32> = one.from.iter().copied().chain(one.adding()).collect();
            let rates = brokers.into_iter().map(|broker| (broker, rate));
            throttles.brokers.extend(rates);
        }
        (!throttles.topics.is_empty()).then_some(throttles)
    }

    /// Adds brokers that a topic's list names and that do not report a limit: the change is accepted, and they have not heard of it
    /// yet. Only live ones, since a broker that is down accepts no configuration.
    fn add_unreported(&mut self, live: &[i32]) {
        let Some(&rate) = self.brokers.values().min() else {
            return;
        };
        let lists = self.topics.values();
        let replicas =
            lists.flat_map(|topic| topic.leader_replicas.iter().chain(&topic.follower_replicas));
        let named = replicas.filter_map(|replica| replica.split_once(':')?.1.parse().ok());
        for broker in named.filter(|broker| live.contains(broker)) {
            self.brokers.entry(broker).or_insert(rate);
        }
    }

    /// Whether no throttle is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.brokers.is_empty() && self.topics.is_empty()
    }
}

impl Admin {
    /// Throttles that are set now, by this client or another.
    ///
    /// # Errors
    /// If a broker does not answer.
    pub fn throttles(&mut self) -> Result<Throttles> {
        let mut throttles = Throttles::default();
        let live: Vec<i32> = self.sites()?.iter().map(|site| site.broker).collect();
        let brokers: Vec<Resource> = live.iter().copied().map(Resource::Broker).collect();
        for (resource, configs) in self.configs(&brokers, Some(&RATES))? {
            let rates = values_from(&configs, ConfigSource::DynamicBroker)
                .filter_map(|one| one.parse().ok());
            if let (Resource::Broker(id), Some(rate)) = (resource, rates.min()) {
                throttles.brokers.insert(id, rate);
            }
        }
        let topics: Vec<Resource> = self
            .topics()?
            .into_iter()
            .map(|topic| Resource::Topic(topic.name))
            .collect();
        for (resource, configs) in
            self.configs(&topics, Some(&[LEADER_REPLICAS, FOLLOWER_REPLICAS]))?
        {
            let list = |key: &str| -> Vec<String> {
                let named = configs.iter().filter(|config| config.name == key);
                let named: Vec<Config> = named.cloned().collect();
                values_from(&named, ConfigSource::DynamicTopic)
                    .flat_map(|value| value.split(',').map(str::to_owned).collect::<Vec<_>>())
                    .filter(|one| !one.is_empty())
                    .collect()
            };
            let throttled = Throttled {
                leader_replicas: list(LEADER_REPLICAS),
                follower_replicas: list(FOLLOWER_REPLICAS),
            };
            if let (Resource::Topic(name), false) = (resource, throttled == Throttled::default()) {
                throttles.topics.insert(name, throttled);
            }
        }
        throttles.add_unreported(&live);
        Ok(throttles)
    }

    /// Sets throttles, all or none; refuses if there are any already, which belong to another reassignment.
    pub(super) fn throttle(
        &mut self,
        throttles: &Throttles,
        memory: &ThrottleMemory,
    ) -> Result<()> {
        self.refuse_if_throttled(throttles)?;
        // Before: whoever is killed in between has set it.
        let file = memory.keep(&self.cluster_id()?, throttles)?;
        let done = self.set_throttles(throttles);
        if done.is_err() {
            self.unthrottle(throttles)?;
            memory.forget([&file]);
        }
        done
    }

    fn refuse_if_throttled(&mut self, throttles: &Throttles) -> Result<()> {
        let existing = self.throttles()?;
        let brokers = throttles.brokers.keys();
        let broker = brokers
            .into_iter()
            .find(|id| existing.brokers.contains_key(id));
        let topic = throttles
            .topics
            .keys()
            .find(|name| existing.topics.contains_key(*name));
        let whose = match (broker, topic) {
            (None, None) => None,
            (Some(id), _) => Some(format!("broker {id}")),
            (_, Some(name)) => Some(format!("topic {name}")),
        };
        match whose {
            None => Ok(()),
            Some(whose) => Err(AdminError::Input(format!(
                "copying is throttled on {whose} already, by somebody else's move or one that was left: wait for it, or take the limit away with `tare kafka reassign unthrottle --all`"
            ))),
        }
    }

    fn set_throttles(&mut self, throttles: &Throttles) -> Result<()> {
        for (id, rate) in &throttles.brokers {
            let changes = RATES.map(|key| ConfigOp::Set(key.to_owned(), rate.to_string()));
            self.alter_configs(&Resource::Broker(*id), &changes, Mode::Apply)?;
        }
        for (name, throttled) in &throttles.topics {
            let changes = [
                (LEADER_REPLICAS, &throttled.leader_replicas),
                (FOLLOWER_REPLICAS, &throttled.follower_replicas),
            ]
            .map(|(key, list)| ConfigOp::Set(key.to_owned(), list.join(",")));
            self.alter_configs(&Resource::Topic(name.clone()), &changes, Mode::Apply)?;
        }
        Ok(())
    }

    fn unthrottle(&mut self, throttles: &Throttles) -> Result<()> {
        for name in throttles.topics.keys() {
            let changes =
                [LEADER_REPLICAS, FOLLOWER_REPLICAS].map(|key| ConfigOp::Delete(key.to_owned()));
            self.alter_configs(&Resource::Topic(name.clone()), &changes, Mode::Apply)?;
        }
        for id in throttles.brokers.keys() {
            let changes = RATES.map(|key| ConfigOp::Delete(key.to_owned()));
            self.alter_configs(&Resource::Broker(*id), &changes, Mode::Apply)?;
        }
        Ok(())
    }

    /// Removes all throttles, those of others too, and returns them.
    ///
    /// # Errors
    /// As [`Admin::throttles`], and if the cluster refuses.
    pub fn unthrottle_all(&mut self, memory: &ThrottleMemory) -> Result<Throttles> {
        let throttles = self.throttles()?;
        self.unthrottle(&throttles)?;
        let own = memory.of(&self.cluster_id()?);
        memory.forget(own.iter().map(|(file, _)| file));
        Ok(throttles)
    }

    /// Removes the throttles that Tare has set, where they still have the value that it has set, and returns them.
    ///
    /// # Errors
    /// As [`Admin::throttles`], and if the cluster refuses.
    pub fn unthrottle_own(&mut self, memory: &ThrottleMemory) -> Result<Throttles> {
        let own = self.own(memory)?;
        for (resource, changes) in &own.changes {
            self.alter_configs(resource, changes, Mode::Apply)?;
        }
        memory.forget(&own.files);
        Ok(own.left)
    }

    /// Those that [`Admin::unthrottle_own`] would remove.
    ///
    /// # Errors
    /// As [`Admin::throttles`].
    pub fn own_throttles(&mut self, memory: &ThrottleMemory) -> Result<Throttles> {
        Ok(self.own(memory)?.left)
    }

    /// Whether Tare has set throttles here that it has not removed yet.
    ///
    /// # Errors
    /// If no broker answers.
    pub fn has_own_throttles(&mut self, memory: &ThrottleMemory) -> Result<bool> {
        Ok(!memory.of(&self.cluster_id()?).is_empty())
    }

    fn own(&mut self, memory: &ThrottleMemory) -> Result<OwnThrottles> {
        let mut own = OwnThrottles {
            left: Throttles::default(),
            changes: Vec::new(),
            files: Vec::new(),
        };
        let kept = memory.of(&self.cluster_id()?);
        if kept.is_empty() {
            return Ok(own);
        }
        let topics: BTreeSet<String> = self.topics()?.into_iter().map(|one| one.name).collect();
        let live: Vec<i32> = self.sites()?.iter().map(|site| site.broker).collect();
        for (file, throttles) in kept {
            for (name, throttled) in throttles.topics {
                let values = [
                    (LEADER_REPLICAS, throttled.leader_replicas.join(",")),
                    (FOLLOWER_REPLICAS, throttled.follower_replicas.join(",")),
                ];
                // A topic that is deleted has taken its settings with it.
                let is_there = topics.contains(&name);
                let resource = Resource::Topic(name.clone());
                if is_there && self.note_own(&mut own, resource, &values)? {
                    own.left.topics.insert(name, throttled);
                }
            }
            // One that is down accepts no configuration: it is asked again the next time.
            if throttles.brokers.keys().all(|id| live.contains(id)) {
                own.files.push(file);
            }
            for (id, rate) in throttles.brokers {
                let values = RATES.map(|key| (key, rate.to_string()));
                if live.contains(&id) && self.note_own(&mut own, Resource::Broker(id), &values)? {
                    own.left.brokers.insert(id, rate);
                }
            }
        }
        Ok(own)
    }

    /// Notes which of these keys are removed; whether any of them has the value that was set.
    fn note_own(
        &mut self,
        own: &mut OwnThrottles,
        resource: Resource,
        values: &[(&str, String)],
    ) -> Result<bool> {
        let source = match resource {
            Resource::Topic(_) => ConfigSource::DynamicTopic,
            _ => ConfigSource::DynamicBroker,
        };
        let keys: Vec<&str> = values.iter().map(|(key, _)| *key).collect();
        let found = self.configs(std::slice::from_ref(&resource), Some(&keys))?;
        let configs: Vec<Config> = found.into_iter().flat_map(|(_, configs)| configs).collect();
        let (mut is_left, mut changes) = (false, Vec::new());
        for (key, value) in values {
            let mut set = configs.iter().filter(|config| config.source == source);
            let now = set.find(|config| config.name == *key);
            let now = now.and_then(|config| config.value.as_deref());
            is_left |= now == Some(value);
            if now.is_none_or(|now| now == value) {
                changes.push(ConfigOp::Delete((*key).to_owned()));
            }
        }
        if !changes.is_empty() {
            own.changes.push((resource, changes));
        }
        Ok(is_left)
    }
}

/// Values set at this level, not inherited.
fn values_from(configs: &[Config], source: ConfigSource) -> impl Iterator<Item = &str> {
    configs
        .iter()
        .filter(move |config| config.source == source)
        .filter_map(|config| config.value.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_which_a_broker_has_not_heard_is_taken_away_there_too() {
        let throttled = Throttled {
            leader_replicas: vec!["0:1".to_owned(), "0:2".to_owned()],
            follower_replicas: vec!["0:3".to_owned(), "0:4".to_owned(), "*".to_owned()],
        };
        let topics = BTreeMap::from([("t".to_owned(), throttled)]);
        let mut throttles = Throttles {
            brokers: BTreeMap::from([(1, 1000)]),
            topics: topics.clone(),
        };
        throttles.add_unreported(&[1, 2, 3, 5]);
        assert_eq!(
            throttles.brokers,
            BTreeMap::from([(1, 1000), (2, 1000), (3, 1000)])
        );
        let mut without_rate = Throttles {
            brokers: BTreeMap::new(),
            topics,
        };
        without_rate.add_unreported(&[1, 2, 3]);
        assert!(without_rate.brokers.is_empty());
    }

    #[test]
    fn a_limit_counts_for_what_is_copied_and_for_nothing_else() {
        let moves = [
            PartitionReassignment {
                topic: "t".to_owned(),
                partition: 0,
                from: vec![1, 2],
                to: vec![2, 3],
            },
            PartitionReassignment {
                topic: "only-its-leader".to_owned(),
                partition: 0,
                from: vec![1, 2],
                to: vec![2, 1],
            },
        ];
        assert_eq!(Throttles::of(&moves, None), None);
        let throttles = Throttles::of(&moves, Some(1000)).unwrap();
        assert_eq!(
            throttles.brokers,
            BTreeMap::from([(1, 1000), (2, 1000), (3, 1000)])
        );
        let topic = &throttles.topics["t"];
        assert_eq!(
            (&topic.leader_replicas[..], &topic.follower_replicas[..]),
            (
                &["0:1".to_owned(), "0:2".to_owned()][..],
                &["0:3".to_owned()][..]
            )
        );
        assert_eq!(throttles.topics.len(), 1);
        assert_eq!(Throttles::of(&moves[1..], Some(1000)), None);
    }
}
