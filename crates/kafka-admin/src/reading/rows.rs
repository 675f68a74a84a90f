//! Rows of pages from readings.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use crate::admin::{
    CommitPosition, GroupLag, LogBounds, LogDir, NO_LEADER, PartitionInfo, PartitionLag,
    TopicDescription,
};
use crate::api::{
    BrokerPartition, BrokerRow, ClusterOverview, GroupList, GroupLive, GroupRow, PartitionRow,
    ReassignmentList, TopicGroup, TopicList, TopicLive, TopicRow,
};

use super::ClusterView;

/// Levels of the metadata from which on a release has them (`kafka-features version-mapping`).
const RELEASES: [(i16, &str); 16] = [
    (31, "4.4"),
    (30, "4.3"),
    (28, "4.2"),
    (26, "4.1"),
    (22, "4.0"),
    (21, "3.9"),
    (20, "3.8"),
    (15, "3.7"),
    (12, "3.6"),
    (9, "3.5"),
    (8, "3.4"),
    (4, "3.3"),
    (3, "3.2"),
    (2, "3.1"),
    (1, "3.0"),
    (0, ""),
];
/// The last level of the table above.
const LEVEL_MAX: i16 = 33;

impl ClusterView<'_> {
    /// The overview. Bytes per second come from metrics of brokers, which are read elsewhere.
    #[must_use]
    pub fn overview(&self) -> ClusterOverview {
        let now = self.now;
        let mut brokers: BTreeMap<i32, BrokerRow> = BTreeMap::new();
        for (&id, live) in &now.live {
            let row = brokers.entry(id).or_insert_with(|| empty(id));
            row.address = Some(live.address.clone());
            row.rack.clone_from(&live.rack);
        }
        let mut whole = Rate::default();
        let mut by_leader: HashMap<i32, Rate> = HashMap::new();
        for (topic, one) in now.partitions() {
            for id in &one.replicas {
                let row = brokers.entry(*id).or_insert_with(|| empty(*id));
                row.replicas += 1;
                row.out_of_sync_replicas += u64::from(!one.in_sync.contains(id));
            }
            if let Some(first) = one.replicas.first() {
                let row = brokers.entry(*first).or_insert_with(|| empty(*first));
                row.preferred += 1;
            }
            if let Some(leader) = one.leader {
                let row = brokers.entry(leader).or_insert_with(|| empty(leader));
                row.leaders += 1;
                let rate = self.rate(&topic.name, one.partition);
                by_leader.entry(leader).or_default().add(rate);
                whole.add(rate);
            }
        }
        for dir in &now.slow.log_dirs {
            let Some(row) = brokers.get_mut(&dir.broker) else {
                continue;
            };
            let bytes: i64 = dir.partitions.iter().map(|one| one.size_bytes).sum();
            *row.log_bytes.get_or_insert(0) += u64::try_from(bytes).unwrap_or(0);
            let add = |sum: &mut Option<u64>, more: Option<i64>| {
                if let Some(more) = more.and_then(|more| u64::try_from(more).ok()) {
                    *sum.get_or_insert(0) += more;
                }
            };
            add(&mut row.usable_bytes, dir.usable_bytes);
            add(&mut row.total_bytes, dir.total_bytes);
        }
        for (id, row) in &mut brokers {
            row.records_in_per_s = by_leader.get(id).copied().unwrap_or_default().per_s();
        }
        let count = |is: &dyn Fn(&TopicDescription, &PartitionInfo) -> bool| {
            let all = now.partitions().filter(|(topic, one)| is(topic, one));
            all.count() as u64
        };
        ClusterOverview {
            at_ms: now.at_ms,
            took_ms: u64::try_from(now.took.as_millis()).unwrap_or(u64::MAX),
            id: now.id.clone(),
            controller: now.slow.controller,
            voters: now.slow.voters.clone(),
            metadata_version: now.slow.metadata_version,
            release: now.slow.metadata_version.and_then(release),
            brokers: brokers.into_values().collect(),
            topics: now.topics.len() as u64,
            partitions: count(&|_, _| true),
            replicas: now
                .partitions()
                .map(|(_, one)| one.replicas.len() as u64)
                .sum(),
            offline_partitions: count(&|_, one| one.leader.is_none()),
            under_replicated_partitions: count(&|_, one| one.is_under_replicated()),
            below_min_isr_partitions: count(&|topic, one| now.is_below_min_isr(&topic.name, one)),
            leader_imbalance: count(&|_, one| !one.is_preferred_led()),
            records_in_per_s: whole.per_s(),
            bytes_in_per_s: None,
            bytes_out_per_s: None,
            reassigning: now.ongoing.len() as u64,
            problems: self.problems(),
        }
    }

    /// The list of topics.
    #[must_use]
    pub fn topics(&self) -> TopicList {
        let now = self.now;
        let mut sizes: HashMap<&str, u64> = HashMap::new();
        for ((topic, _, _), size) in now.sizes() {
            *sizes.entry(topic).or_default() += size;
        }
        let mut lags: HashMap<&str, u64> = HashMap::new();
        for committed in now.groups.committed.values() {
            for ((topic, partition), offset) in committed {
                if let Some(end) = now.offsets_of(topic, *partition).end_offset() {
                    let lag = u64::try_from(end.saturating_sub(*offset)).unwrap_or(0);
                    *lags.entry(topic).or_default() += lag;
                }
            }
        }
        let rows = now.topics.iter().map(|topic| {
            let count = |is: fn(&PartitionInfo) -> bool| {
                let all = topic.partitions.iter().filter(|one| is(one));
                u32::try_from(all.count()).unwrap_or(u32::MAX)
            };
            let records = topic.partitions.iter().map(|one| {
                let log = now.offsets_of(&topic.name, one.partition);
                u64::try_from(log.end_offset()?.saturating_sub(log.first?)).ok()
            });
            let name = topic.name.as_str();
            TopicRow {
                name: topic.name.clone(),
                id: topic.id.clone(),
                is_internal: topic.is_internal,
                partitions: count(|_| true),
                replicas: u32::try_from(topic.replication()).unwrap_or(u32::MAX),
                offline: count(|one| one.leader.is_none()),
                under_replicated: count(PartitionInfo::is_under_replicated),
                leader_imbalance: count(|one| !one.is_preferred_led()),
                size_bytes: sizes.get(name).copied(),
                records: records.sum(),
                records_in_per_s: self.rate_of(topic).per_s(),
                retention_ms: now.slow.retention_ms.get(name).copied(),
                lag: lags.get(name).copied(),
            }
        });
        TopicList {
            at_ms: now.at_ms,
            topics: rows.collect(),
        }
    }

    /// What changes of a topic; none when it does not exist.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<TopicLive> {
        let now = self.now;
        let topic = now.topics.iter().find(|topic| topic.name == name)?;
        let sizes = now.sizes();
        let partitions = topic.partitions.iter().map(|one| {
            let log = now.offsets_of(name, one.partition);
            let size = |broker: &i32| sizes.get(&(name, one.partition, *broker)).copied();
            PartitionRow {
                partition: one.clone(),
                first: log.first,
                end: log.end_offset(),
                size_bytes: one.replicas.iter().filter_map(size).max(),
                records_in_per_s: self.rate(name, one.partition),
            }
        });
        let groups = now.groups.listed.iter().filter_map(|group| {
            let committed = now.groups.committed.get(&group.name)?;
            let partitions: Vec<PartitionLag> = committed
                .iter()
                .filter(|((topic, _), _)| topic == name)
                .map(|((topic, partition), offset)| now.lag(topic, *partition, *offset))
                .collect();
            (!partitions.is_empty()).then(|| TopicGroup {
                name: group.name.clone(),
                state: group.state.clone(),
                lag: total(&partitions),
                partitions,
            })
        });
        Some(TopicLive {
            at_ms: now.at_ms,
            partitions: partitions.collect(),
            records_in_per_s: self.rate_of(topic).per_s(),
            groups: groups.collect(),
        })
    }

    /// The cluster's own id of a topic, and whether it belongs to Kafka itself.
    #[must_use]
    pub fn topic_identity(&self, name: &str) -> (Option<String>, bool) {
        let topic = self.now.topics.iter().find(|topic| topic.name == name);
        topic.map_or((None, false), |topic| (topic.id.clone(), topic.is_internal))
    }

    /// `min.insync.replicas` of a topic.
    #[must_use]
    pub fn min_in_sync(&self, topic: &str) -> Option<u32> {
        self.now.slow.min_in_sync.get(topic).copied()
    }

    /// The list of groups.
    #[must_use]
    pub fn groups(&self) -> GroupList {
        let now = self.now;
        let rows = now.groups.listed.iter().map(|group| {
            let committed = now.groups.committed.get(&group.name);
            let topics: BTreeSet<&str> = committed
                .into_iter()
                .flat_map(|all| all.keys().map(|(topic, _)| topic.as_str()))
                .collect();
            GroupRow {
                name: group.name.clone(),
                state: group.state.clone(),
                group_type: group.group_type.clone(),
                protocol_type: group.protocol_type.clone(),
                coordinator: group.coordinator,
                topics: topics.into_iter().map(str::to_owned).collect(),
                lag: now.lag_of(&group.name),
                beyond_end: now.commits_at(&group.name, CommitPosition::BeyondEnd),
                before_start: now.commits_at(&group.name, CommitPosition::BeforeStart),
                consumed_per_s: self.consumed(&group.name),
            }
        });
        GroupList {
            at_ms: now.at_ms,
            groups: rows.collect(),
        }
    }

    /// A group of the reading's scope; none when it does not exist.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<GroupLive> {
        let now = self.now;
        let group = now.groups.described.get(name)?.clone();
        let nothing = BTreeMap::new();
        let committed = now.groups.committed.get(name).unwrap_or(&nothing);
        Some(GroupLive {
            at_ms: now.at_ms,
            lag: GroupLag::of(group, committed, |topic, partition| {
                now.log(topic, partition)
            }),
        })
    }

    /// What is moving.
    #[must_use]
    pub fn reassignments(&self) -> ReassignmentList {
        ReassignmentList {
            at_ms: self.now.at_ms,
            reassignments: self.now.ongoing.clone(),
            throttles: self.now.throttles.clone(),
        }
    }

    /// The row, the log directories and the partitions of a broker; none when nothing is known of it.
    #[must_use]
    pub fn broker(&self, id: i32) -> Option<(BrokerRow, Vec<LogDir>, Vec<BrokerPartition>)> {
        let now = self.now;
        let row = self
            .overview()
            .brokers
            .into_iter()
            .find(|row| row.id == id)?;
        let sizes = now.sizes();
        let partitions = now
            .partitions()
            .filter(|(_, one)| one.replicas.contains(&id));
        let partitions = partitions.map(|(topic, one)| BrokerPartition {
            topic: topic.name.clone(),
            partition: one.partition,
            is_leader: one.leader == Some(id),
            is_preferred: one.replicas.first() == Some(&id),
            is_in_sync: one.in_sync.contains(&id),
            size_bytes: sizes
                .get(&(topic.name.as_str(), one.partition, id))
                .copied(),
        });
        let dirs = now.slow.log_dirs.iter().filter(|dir| dir.broker == id);
        Some((row, dirs.cloned().collect(), partitions.collect()))
    }

    /// Bytes of the largest replica of a partition.
    #[must_use]
    pub fn partition_bytes(&self) -> HashMap<(String, i32), u64> {
        let mut found: HashMap<(String, i32), u64> = HashMap::new();
        for ((topic, partition, _), size) in self.now.sizes() {
            let largest = found.entry((topic.to_owned(), partition)).or_default();
            *largest = (*largest).max(size);
        }
        found
    }

    /// Growth of an offset per second since the reading before.
    fn rate(&self, topic: &str, partition: i32) -> Option<f64> {
        let end = self.now.offsets_of(topic, partition).end?;
        let before = self.before?.offsets_of(topic, partition).end?;
        per_s((before.offset, before.at), (end.offset, end.at))
    }

    fn rate_of(&self, topic: &TopicDescription) -> Rate {
        let mut rate = Rate::default();
        for one in &topic.partitions {
            rate.add(self.rate(&topic.name, one.partition));
        }
        rate
    }

    fn consumed(&self, group: &str) -> Option<f64> {
        let (then_at, now_at) = (self.before?.at, self.now.at);
        let before = self.before?.groups.committed.get(group)?;
        let now = self.now.groups.committed.get(group)?;
        let mut rate = Rate::default();
        for (key, offset) in now {
            // A commit that was reset to an earlier offset consumed nothing.
            let then = before.get(key).map(|then| (*then).min(*offset));
            rate.add(then.and_then(|then| per_s((then, then_at), (*offset, now_at))));
        }
        rate.per_s()
    }
}

impl super::ClusterReading {
    pub(super) fn partitions(&self) -> impl Iterator<Item = (&TopicDescription, &PartitionInfo)> {
        let topics = self.topics.iter();
        topics.flat_map(|topic| topic.partitions.iter().map(move |one| (topic, one)))
    }

    pub(super) fn is_below_min_isr(&self, topic: &str, one: &PartitionInfo) -> bool {
        let min = self.slow.min_in_sync.get(topic).copied().unwrap_or(1);
        // A topic with fewer replicas than its minimum takes no record with acks=all either.
        one.leader.is_some() && one.in_sync.len() < min as usize
    }

    /// Lags of a group together; none when it has committed nothing.
    pub(super) fn lag_of(&self, group: &str) -> Option<u64> {
        self.groups.committed.get(group)?;
        let lags: Vec<PartitionLag> = self.lags(group).collect();
        total(&lags)
    }

    /// Commits of a group that lie there.
    pub(super) fn commits_at(&self, group: &str, position: CommitPosition) -> u64 {
        let there = self.lags(group).filter(|one| one.commit == Some(position));
        there.count() as u64
    }

    fn lags<'a>(&'a self, group: &str) -> impl Iterator<Item = PartitionLag> + use<'a> {
        let committed = self.groups.committed.get(group).into_iter().flatten();
        committed.map(|((topic, partition), offset)| self.lag(topic, *partition, *offset))
    }

    /// The lag of a group on a partition.
    fn lag(&self, topic: &str, partition: i32, committed: i64) -> PartitionLag {
        let log = self.log(topic, partition);
        PartitionLag::of(topic, partition, Some(committed), log)
    }

    /// The log of a partition. The end that one without a leader had before is older than the commits.
    fn log(&self, topic: &str, partition: i32) -> LogBounds {
        let offsets = self.offsets_of(topic, partition);
        let topics = self.topics.iter().filter(|one| one.name == topic);
        let mut partitions = topics.flat_map(|one| &one.partitions);
        let is_led = partitions
            .find(|one| one.partition == partition)
            .is_none_or(|one| one.leader.is_some());
        LogBounds {
            first: offsets.first,
            end: offsets.end_offset(),
            is_end_old: offsets.end.is_some_and(|end| end.at < self.at),
            problem: (!is_led).then(|| NO_LEADER.to_owned()),
        }
    }
}

/// A lag as it is shown.
fn total(lags: &[PartitionLag]) -> Option<u64> {
    PartitionLag::total(lags).and_then(|lag| u64::try_from(lag).ok())
}

/// Growth per second between two times.
fn per_s((before, then): (i64, Instant), (after, now): (i64, Instant)) -> Option<f64> {
    let seconds = now.saturating_duration_since(then).as_secs_f64();
    // A topic that was made again under its name begins at 0.
    let grown = after.checked_sub(before).filter(|grown| *grown >= 0)?;
    (seconds > 0.0).then(|| grown as f64 / seconds)
}

fn empty(id: i32) -> BrokerRow {
    BrokerRow {
        id,
        address: None,
        rack: None,
        leaders: 0,
        preferred: 0,
        replicas: 0,
        out_of_sync_replicas: 0,
        log_bytes: None,
        usable_bytes: None,
        total_bytes: None,
        records_in_per_s: None,
    }
}

fn release(level: i16) -> Option<String> {
    let known = RELEASES.iter().find(|(from, _)| level >= *from);
    let (_, name) = known.filter(|(_, name)| !name.is_empty() && level <= LEVEL_MAX)?;
    Some((*name).to_owned())
}

/// A sum of known rates.
#[derive(Debug, Clone, Copy, Default)]
struct Rate {
    sum: f64,
    is_known: bool,
}

impl Rate {
    fn add(&mut self, more: Option<f64>) {
        if let Some(more) = more {
            self.sum += more;
            self.is_known = true;
        }
    }

    fn per_s(self) -> Option<f64> {
        self.is_known.then_some(self.sum)
    }
}
