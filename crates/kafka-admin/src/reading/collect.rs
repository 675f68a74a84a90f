//! Reads a cluster, broker by broker.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::admin::{
    Admin, AdminError, Config, GroupDescription, GroupListing, OffsetSpec, Resource,
    TopicDescription, unkept_groups,
};
use crate::api::ClusterProblem;
use crate::client::ClientError;

use super::{
    ClusterReading, LiveBroker, LogEnd, LogOffsets, ReadingScope, SLOW_EVERY, SlowReading,
};

/// Keys of topics that are read.
const TOPIC_KEYS: [&str; 2] = ["retention.ms", "min.insync.replicas"];

impl ClusterReading {
    /// Reads the cluster. What changes slowly is taken from the reading before while it is young.
    ///
    /// # Errors
    /// If no broker answers.
    pub fn read(
        admin: &mut Admin,
        scope: &ReadingScope,
        before: Option<&ClusterReading>,
    ) -> Result<ClusterReading, AdminError> {
        let began = Instant::now();
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH);
        let about = admin.cluster().metadata(Some(Vec::new()))?;
        let topics = admin.topics()?;
        let live: BTreeMap<i32, LiveBroker> = about
            .brokers
            .iter()
            .map(|broker| {
                let address = format!("{}:{}", broker.host.as_str(), broker.port);
                let rack = broker.rack.as_ref().map(|rack| rack.to_string());
                (broker.node_id.0, LiveBroker { address, rack })
            })
            .collect();
        let mut reader = Reader {
            admin,
            silent: BTreeSet::new(),
            unread: Vec::new(),
        };
        let groups = reader.groups(&live, scope);
        let unkept = unkept_groups(&topics);
        reader.unread.extend(unkept.map(ClusterProblem::unreadable));
        // Ends after the commits: no consumer is ahead of them then.
        let ends = reader.offsets(&topics, OffsetSpec::Latest);
        let ends: HashMap<(String, i32), LogEnd> = ends.collect();
        let names: BTreeSet<String> = topics.iter().map(|topic| topic.name.clone()).collect();
        let kept = before.map(|before| &before.slow).filter(|slow| {
            let is_young = slow.at.is_some_and(|at| at.elapsed() < SLOW_EVERY);
            is_young && slow.topics == names
        });
        let slow = match kept {
            Some(slow) => Arc::clone(slow),
            None => Arc::new(reader.slow(&live, &topics, names)),
        };
        let mut offsets: HashMap<String, Vec<LogOffsets>> = HashMap::with_capacity(topics.len());
        for topic in &topics {
            let logs = topic.partitions.iter().map(|one| {
                let key = (topic.name.clone(), one.partition);
                // A partition without a leader keeps the end that it had: its lag does not go away.
                let kept = || before?.offsets_of(&topic.name, one.partition).end;
                LogOffsets {
                    first: slow.first.get(&key).copied(),
                    end: ends.get(&key).copied().or_else(kept),
                }
            });
            offsets.insert(topic.name.clone(), logs.collect());
        }
        let ongoing = reader.or_problem("reassignments", |admin| match scope.progress {
            true => admin.reassignments(),
            false => admin.ongoing(),
        });
        let throttles = match scope.progress {
            true => reader.or_problem("throttles", Admin::throttles),
            false => None,
        };
        Ok(ClusterReading {
            at: began,
            at_ms: at_ms.map_or(0, |at| u64::try_from(at.as_millis()).unwrap_or(0)),
            id: about.cluster_id.map(|id| id.to_string()),
            live,
            topics,
            offsets,
            groups,
            ongoing: ongoing.unwrap_or_default(),
            throttles: throttles.unwrap_or_else(|| slow.throttles.clone()),
            slow,
            unread: reader.unread,
            silent: reader.silent,
            scope: scope.clone(),
            took: began.elapsed(),
        })
    }
}

/// Groups with what they have committed.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupsReading {
    pub(super) listed: Vec<GroupListing>,
    /// Those of the scope.
    pub(super) described: BTreeMap<String, GroupDescription>,
    /// Why those of the scope that are missing could not be described.
    pub(super) undescribed: BTreeMap<String, String>,
    pub(super) committed: BTreeMap<String, BTreeMap<(String, i32), i64>>,
}

struct Reader<'a> {
    admin: &'a mut Admin,
    /// Brokers that did not answer: they are not waited for again.
    silent: BTreeSet<i32>,
    unread: Vec<ClusterProblem>,
}

impl Reader<'_> {
    fn or_problem<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&mut Admin) -> Result<T, AdminError>,
    ) -> Option<T> {
        match read(self.admin) {
            Ok(found) => Some(found),
            Err(error) => {
                self.unread.push(unreadable(what, &error));
                None
            }
        }
    }

    /// Asks one broker, unless it has not answered before.
    fn of_broker<T>(
        &mut self,
        broker: i32,
        what: &str,
        read: impl FnOnce(&mut Admin) -> Result<T, AdminError>,
    ) -> Option<T> {
        if self.silent.contains(&broker) {
            return None;
        }
        match read(self.admin) {
            Ok(found) => Some(found),
            Err(error) => {
                if is_silence(&error) {
                    self.silent.insert(broker);
                }
                self.unread.push(unreadable(what, &error));
                None
            }
        }
    }

    fn groups(&mut self, live: &BTreeMap<i32, LiveBroker>, scope: &ReadingScope) -> GroupsReading {
        let listed = live.keys().filter_map(|&broker| {
            self.of_broker(broker, "consumer groups", |admin| admin.groups_of(broker))
        });
        let mut found = GroupsReading {
            listed: listed.flatten().collect(),
            ..GroupsReading::default()
        };
        found.listed.sort();
        let unread = self.unread.len();
        for group in &found.listed {
            let name = &group.name;
            if !group.is_share() {
                let what = format!("offsets of group {name}");
                let read = self.of_broker(group.coordinator, &what, |admin| admin.committed(name));
                found
                    .committed
                    .extend(read.map(|read| (name.clone(), read)));
            }
            if scope.groups.contains(name) {
                let what = format!("group {name}");
                let before = self.unread.len();
                match self.of_broker(group.coordinator, &what, |admin| admin.group(name)) {
                    Some(read) => {
                        found.described.insert(name.clone(), read);
                    }
                    None => {
                        let why = self.unread.get(before).map(|problem| problem.text.clone());
                        found.undescribed.extend(why.map(|why| (name.clone(), why)));
                    }
                }
            }
        }
        self.combine(unread, "consumer groups");
        found
    }

    /// Offsets of all partitions, asked of their leaders.
    fn offsets(
        &mut self,
        topics: &[TopicDescription],
        when: OffsetSpec,
    ) -> impl Iterator<Item = ((String, i32), LogEnd)> + use<> {
        let mut by_leader: BTreeMap<i32, Vec<(String, i32)>> = BTreeMap::new();
        for topic in topics {
            for one in &topic.partitions {
                if let Some(leader) = one.leader {
                    let keys = by_leader.entry(leader).or_default();
                    keys.push((topic.name.clone(), one.partition));
                }
            }
        }
        let mut found = Vec::new();
        for (leader, keys) in by_leader {
            let what = format!("offsets of broker {leader}");
            let read = self.of_broker(leader, &what, |admin| {
                admin.offsets_of_leader(leader, &keys, when)
            });
            let at = Instant::now();
            let read = read.into_iter().flatten();
            found.extend(read.map(|(key, offset)| (key, LogEnd { offset, at })));
        }
        found.into_iter()
    }

    /// Makes one problem of all since the one of this number.
    fn combine(&mut self, first: usize, what: &str) {
        let all = self.unread.split_off(first);
        let count = all.len() as u64;
        self.unread
            .extend(all.into_iter().next().map(|one| ClusterProblem {
                text: match count {
                    1 => one.text,
                    _ => format!("{count} {what} cannot be read; the first: {}", one.text),
                },
                count,
                ..ClusterProblem::unreadable(String::new())
            }));
    }

    fn slow(
        &mut self,
        live: &BTreeMap<i32, LiveBroker>,
        topics: &[TopicDescription],
        names: BTreeSet<String>,
    ) -> SlowReading {
        let unread = self.unread.len();
        let mut slow = SlowReading {
            at: Some(Instant::now()),
            ..SlowReading::default()
        };
        let first = self.offsets(topics, OffsetSpec::Earliest);
        slow.first = first.map(|(key, first)| (key, first.offset)).collect();
        for &broker in live.keys() {
            let what = format!("log directories of broker {broker}");
            let dirs = self.of_broker(broker, &what, |admin| admin.log_dirs(Some(&[broker])));
            slow.log_dirs.extend(dirs.into_iter().flatten());
        }
        let resources: Vec<Resource> = names.iter().cloned().map(Resource::Topic).collect();
        let configs = self.or_problem("configurations of topics", |admin| {
            admin.configs(&resources, Some(&TOPIC_KEYS))
        });
        for (resource, configs) in configs.into_iter().flatten() {
            let Resource::Topic(name) = resource else {
                continue;
            };
            if let Some(retention) = number(&configs, TOPIC_KEYS[0]) {
                slow.retention_ms.insert(name.clone(), retention);
            }
            if let Some(min) = number(&configs, TOPIC_KEYS[1]) {
                slow.min_in_sync.insert(name, min);
            }
        }
        let throttles = self.or_problem("throttles", Admin::throttles);
        slow.throttles = throttles.unwrap_or_default();
        if let Some((controller, voters)) = self.or_problem("the controllers", Admin::quorum) {
            (slow.controller, slow.voters) = (controller, voters);
        }
        let version = self.or_problem("versions", |admin| Ok(admin.cluster().versions()?));
        slow.metadata_version =
            version.and_then(|version| version.features.get("metadata.version").copied());
        slow.topics = names;
        // They are shown as long as this is kept, not only in this reading.
        slow.problems = self.unread.split_off(unread);
        slow
    }
}

fn number<T: std::str::FromStr>(configs: &[Config], key: &str) -> Option<T> {
    let named = configs.iter().find(|config| config.name == key)?;
    named.value.as_ref()?.parse().ok()
}

/// Whether a broker did not answer. One that is too old for a request has answered.
fn is_silence(error: &AdminError) -> bool {
    match error {
        AdminError::Client(ClientError::Version(..) | ClientError::Request(..)) => false,
        AdminError::Client(_) => true,
        _ => false,
    }
}

fn unreadable(what: &str, error: &AdminError) -> ClusterProblem {
    ClusterProblem::unreadable(format!("{what} cannot be read: {error}"))
}
