//! Changes of a cluster. Each waits until the cluster shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tare_kafka_admin::admin::reassign::{NewThrottle, Throttles};
use tare_kafka_admin::admin::{
    Admin, AdminError, Config, ConfigOp, ConfigSource, InternalTopics, ItemResult, Mode, NewGroup,
    NewTopic, PartitionLayout, ResetTo, Resource, TopicDescription, TopicIdentity,
};
use tare_kafka_admin::api::{
    ConfigsRequest, CreateTopicRequest, ElectRequest, GrowRequest, ItemResults, PartitionsRequest,
    ReassignmentList, ReassignmentPlanRequest, ReassignmentPreview, ReassignmentRequest,
    RecordPage, ResetReply, ResetRequest, ResetTarget,
};
use tare_kafka_admin::client::RetryBackoff;
use tare_kafka_admin::reading::ReadingScope;
use tare_kafka_admin::reassignment;

use super::newest;
use super::watcher::ClusterWatcher;
use crate::error::{Refusal, Reply};

/// Longest wait until a change is seen everywhere.
const SEEN_MAX: Duration = Duration::from_secs(30);
/// Longest wait until a configuration is seen: brokers take over values in other forms, which compare as different.
const CONFIG_SEEN_MAX: Duration = Duration::from_secs(3);
/// Interval at which moves that were begun here are followed, so that their throttles go with them.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);
/// Longest pause between looks at moves, where the brokers do not answer.
const FOLLOW_PAUSE_MAX: Duration = Duration::from_secs(30);
/// Looks at moves without an answer of the brokers after which they are not followed any more: those of a day.
const FOLLOW_FAILURES_MAX: u32 = 2900;
/// Seconds that reading the newest records takes before the partitions that are left are named instead.
const RECORDS_SECONDS_MAX: u64 = 10;

fn mode(validate_only: bool) -> Mode {
    match validate_only {
        true => Mode::ValidateOnly,
        false => Mode::Apply,
    }
}

/// Creates a topic.
pub fn create(watcher: &ClusterWatcher, request: CreateTopicRequest) -> Reply<ItemResults> {
    let shape = match request.assignment {
        Some(lists) => PartitionLayout::Explicit(lists),
        None => PartitionLayout::ByCluster {
            partitions: request.partitions,
            replicas: request.replicas,
        },
    };
    let topic = NewTopic {
        name: request.name,
        shape,
        configs: request.configs,
    };
    let results = watcher.change(|admin| {
        let topics = std::slice::from_ref(&topic);
        let results = admin.create_topics(topics, mode(request.validate_only))?;
        ItemResult::all(&results)?;
        if !request.validate_only {
            admin.wait_until_in_sync(&[&topic.name], SEEN_MAX)?;
        }
        Ok(results)
    })?;
    Ok(ItemResults { results })
}

/// What of a topic is deleted: `id=…&internal=true`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TopicDeletion {
    /// The id that was shown. Default: whichever topic has the name now.
    pub id: Option<String>,
    /// Also if it is a topic of Kafka itself.
    pub internal: bool,
}

/// Deletes a topic.
pub fn delete_topic(watcher: &ClusterWatcher, name: &str, wanted: &TopicDeletion) -> Reply<()> {
    watcher.change(|admin| {
        let found = admin.topics_named(&[name])?;
        let internal = InternalTopics::allowed_if(wanted.internal);
        for topic in &found {
            topic.check_internal(internal, "add ?internal=true")?;
            if wanted.id.is_some() && wanted.id != topic.id {
                return Err(AdminError::Input(format!(
                    "topic {name} was deleted and made again meanwhile: look at the new one"
                )));
            }
        }
        let identities: Vec<TopicIdentity> = found.iter().map(TopicDescription::identity).collect();
        ItemResult::all(&admin.delete_topics(&identities)?)?;
        let mut patience = RetryBackoff::of(SEEN_MAX);
        let is_it = |topic: &TopicDescription| identities.contains(&topic.identity());
        while admin.topics()?.iter().any(is_it) {
            if !patience.wait() {
                return Err(late(format!("topic {name} is still there")));
            }
        }
        Ok(())
    })
}

/// Adds partitions to a topic.
pub fn grow(watcher: &ClusterWatcher, name: &str, request: &GrowRequest) -> Reply<()> {
    watcher.change(|admin| {
        let before = admin.topics_named(&[name])?;
        let internal = InternalTopics::allowed_if(request.internal);
        for topic in &before {
            topic.check_internal(internal, "set internal")?;
        }
        let before = before.iter().map(|topic| topic.partitions.len()).sum();
        admin.create_partitions(name, request.partitions, None, mode(request.validate_only))?;
        if request.validate_only {
            return Ok(());
        }
        let wanted = usize::try_from(request.partitions).unwrap_or(0);
        let mut patience = RetryBackoff::of(SEEN_MAX);
        loop {
            // Not until all are in sync: a broker that is down does not keep others from the new partitions.
            let is_seen = admin.topics_named(&[name])?.iter().all(|topic| {
                let mut new = topic.partitions.iter().skip(before);
                topic.partitions.len() >= wanted && new.all(|one| one.leader.is_some())
            });
            if is_seen {
                return Ok(());
            }
            if !patience.wait() {
                return Err(late(format!("topic {name} has not grown")));
            }
        }
    })
}

/// Changes configurations.
pub fn configure(
    watcher: &ClusterWatcher,
    resource: &Resource,
    request: &ConfigsRequest,
) -> Reply<()> {
    let set = request.set.iter();
    let set = set.map(|(key, value)| ConfigOp::Set(key.clone(), value.clone()));
    let deleted = request.delete.iter().cloned().map(ConfigOp::Delete);
    let changes: Vec<ConfigOp> = set.chain(deleted).collect();
    if changes.is_empty() {
        return Err(Refusal::invalid("no key is named"));
    }
    watcher.change(|admin| {
        admin.alter_configs(resource, &changes, mode(request.validate_only))?;
        let mut patience = RetryBackoff::of(CONFIG_SEEN_MAX);
        while !request.validate_only && !is_seen(admin, resource, request)? && patience.wait() {}
        Ok(())
    })
}

fn is_seen(
    admin: &mut Admin,
    resource: &Resource,
    request: &ConfigsRequest,
) -> Result<bool, AdminError> {
    let found = admin.configs(std::slice::from_ref(resource), None)?;
    let found: BTreeMap<&str, &Config> = found
        .iter()
        .flat_map(|(_, configs)| configs)
        .map(|config| (config.name.as_str(), config))
        .collect();
    let is_set = |(key, value): (&String, &String)| {
        let config = found.get(key.as_str());
        config.is_none_or(|config| config.is_sensitive || config.value.as_ref() == Some(value))
    };
    let is_deleted = |key: &String| {
        let source = found.get(key.as_str()).map(|config| config.source);
        !matches!(
            (resource, source),
            (Resource::Topic(_), Some(ConfigSource::DynamicTopic))
                | (Resource::Broker(_), Some(ConfigSource::DynamicBroker))
        )
    };
    Ok(request.set.iter().all(is_set) && request.delete.iter().all(is_deleted))
}

/// The newest records of a topic, or of one of its partitions.
pub fn records(
    watcher: &ClusterWatcher,
    name: &str,
    partition: Option<i32>,
    count: usize,
) -> Reply<RecordPage> {
    if !watcher.entry.definition.show_records {
        return Err(Refusal::forbidden(
            "records of this cluster are not shown: switch that on in its settings",
        ));
    }
    watcher.look_up(|admin| {
        let until = Instant::now() + Duration::from_secs(RECORDS_SECONDS_MAX);
        let topics = admin.topics_named(&[name])?;
        let all = topics.iter().flat_map(|topic| &topic.partitions);
        let wanted = all.filter(|one| partition.is_none_or(|number| one.partition == number));
        Ok(newest::of_all(
            name,
            wanted,
            count,
            || Instant::now() < until,
            |one| admin.newest_records(name, one, count),
        ))
    })
}

/// Deletes a group.
pub fn delete_group(watcher: &ClusterWatcher, name: &str) -> Reply<()> {
    watcher.change(|admin| ItemResult::all(&admin.delete_groups(&[name])?))
}

/// Resets the offsets of a group, or shows what would be committed.
pub fn reset(watcher: &ClusterWatcher, name: &str, request: &ResetRequest) -> Reply<ResetReply> {
    let to = match request.to {
        ResetTarget::Earliest => ResetTo::Earliest,
        ResetTarget::Latest => ResetTo::Latest,
        ResetTarget::Time { time_ms } => ResetTo::Time { time_ms },
        ResetTarget::Offset { offset } => ResetTo::Offset(offset),
        ResetTarget::Shift { records } => ResetTo::ShiftBy(records),
    };
    let new = NewGroup::made_if(request.new_group);
    let found = watcher.change(|admin| {
        admin.reset_group(name, &request.topics, to, new, mode(request.validate_only))
    })?;
    Ok(ResetReply {
        problems: found.problems().collect(),
        resets: found.resets,
        applied: !request.validate_only,
    })
}

/// Partitions of a request by topic; an empty list is all of the topic's.
fn listed(
    admin: &mut Admin,
    topics: &BTreeMap<String, Vec<i32>>,
) -> Result<BTreeMap<String, Vec<i32>>, AdminError> {
    let mut found = topics.clone();
    let whole: Vec<&String> = topics
        .iter()
        .filter(|(_, partitions)| partitions.is_empty())
        .map(|(name, _)| name)
        .collect();
    for topic in admin.topics_named(&whole)? {
        let all = topic.partitions.iter().map(|one| one.partition);
        found.insert(topic.name, all.collect());
    }
    Ok(found)
}

/// Elects preferred leaders.
pub fn elect(watcher: &ClusterWatcher, request: &ElectRequest) -> Reply<ItemResults> {
    let results = watcher.change(|admin| {
        let wanted = request.topics.as_ref();
        let wanted = wanted.map(|topics| listed(admin, topics)).transpose()?;
        admin.elect_preferred(wanted.as_ref())
    })?;
    Ok(ItemResults { results })
}

/// Plans reassignments.
pub fn plan(
    watcher: &ClusterWatcher,
    request: &ReassignmentPlanRequest,
) -> Reply<ReassignmentPreview> {
    let reading = watcher.read_anew(&ReadingScope::default())?;
    let plan = watcher.look_up(|admin| {
        let invalid = |reason: String| AdminError::Input(reason);
        let mut sites = admin.sites()?;
        if !request.by_hand.is_empty() {
            let names: BTreeSet<&String> = request.by_hand.iter().map(|one| &one.topic).collect();
            let names: Vec<String> = names.into_iter().cloned().collect();
            let placed = admin.placed(&names)?;
            return reassignment::by_hand(&sites, &placed, &request.by_hand)
                .map_err(|error| invalid(error.to_string()));
        }
        if let Some(brokers) = &request.brokers {
            let is_up = |id: &&i32| sites.iter().any(|site| site.broker == **id);
            if let Some(id) = brokers.iter().find(|id| !is_up(id)) {
                return Err(invalid(format!("broker {id} is not up")));
            }
            sites.retain(|site| brokers.contains(&site.broker));
        }
        sites.retain(|site| !request.drain.contains(&site.broker));
        let topics = match &request.topics {
            Some(topics) => topics.clone(),
            None => {
                let all = admin.topics()?.into_iter();
                let all = all.filter(|topic| !topic.is_internal || !request.drain.is_empty());
                all.map(|topic| topic.name).collect()
            }
        };
        let placed = admin.placed(&topics)?;
        let replicas = request.replicas.map(|replicas| replicas as usize);
        reassignment::plan(&sites, &placed, replicas).map_err(|error| invalid(error.to_string()))
    })?;
    let sizes = reading.view().partition_bytes();
    let copy_bytes: Vec<Option<u64>> = plan
        .reassignments
        .iter()
        .map(|one| {
            let copies = one.adding().count() as u64;
            let size = sizes.get(&(one.topic.clone(), one.partition))?;
            Some(size.saturating_mul(copies))
        })
        .collect();
    Ok(ReassignmentPreview {
        total_bytes: copy_bytes.iter().copied().sum(),
        copy_bytes,
        plan,
    })
}

/// Begins reassignments. Those with a throttle are followed to their end, so that it goes with them.
pub fn begin(
    watcher: &Arc<ClusterWatcher>,
    request: &ReassignmentRequest,
) -> Reply<ReassignmentList> {
    if request.reassignments.is_empty() {
        return Err(Refusal::invalid("the plan reassigns nothing"));
    }
    if request.throttle_bytes_per_s == Some(0) {
        return Err(Refusal::invalid(
            "a throttle of 0 bytes/s would copy nothing",
        ));
    }
    let memory = &watcher.throttles;
    let throttle = request.throttle_bytes_per_s;
    let throttle = throttle.map(|bytes_per_s| NewThrottle {
        bytes_per_s,
        memory,
    });
    let begun = watcher.change(|admin| {
        let begun = admin.reassign(&request.reassignments, throttle);
        // Also where the answer was lost, since they may have begun; not where nothing was set.
        let is_set = throttle.is_some() && admin.has_own_throttles(memory).unwrap_or(true);
        if is_set && watcher.begin_following() {
            let follower = Arc::clone(watcher);
            let spawned = std::thread::Builder::new()
                .name("reassignments".into())
                .spawn(move || follow(&follower));
            if spawned.is_err() {
                watcher.end_following();
            }
        }
        begun
    });
    begun?;
    // That they cannot be read now does not mean that they have not begun.
    Ok(reassignments(watcher).unwrap_or_default())
}

/// Removes the throttles that were set here when nothing moves any more. A cluster has one thread that does this.
fn follow(watcher: &ClusterWatcher) {
    let mut failures = 0;
    // However long the moves take, and a day without an answer of the brokers: the throttle is to go.
    while failures < FOLLOW_FAILURES_MAX {
        std::thread::sleep((FOLLOW_EVERY * (failures + 1)).min(FOLLOW_PAUSE_MAX));
        let ended = watcher.with(|admin| {
            let is_over = admin.ongoing()?.is_empty();
            if is_over {
                admin.unthrottle_own(&watcher.throttles)?;
                // Within the turn of this cluster: what begins next is followed anew.
                watcher.end_following();
            }
            Ok(is_over)
        });
        match ended {
            Ok(true) => return,
            Ok(false) => failures = 0,
            Err(_) => failures += 1,
        }
    }
    watcher.end_following();
}

/// Ongoing reassignments.
pub fn reassignments(watcher: &ClusterWatcher) -> Reply<ReassignmentList> {
    let scope = ReadingScope {
        progress: true,
        ..ReadingScope::default()
    };
    Ok(watcher.read(&scope)?.view().reassignments())
}

/// Cancels reassignments, all or some.
pub fn cancel(watcher: &ClusterWatcher, request: &PartitionsRequest) -> Reply<ItemResults> {
    let results = watcher.change(|admin| {
        let ongoing = admin.ongoing()?;
        let wanted = ongoing.into_iter().filter(|one| match &request.topics {
            None => true,
            Some(topics) => topics.get(&one.topic).is_some_and(|partitions| {
                partitions.is_empty() || partitions.contains(&one.partition)
            }),
        });
        let keys: Vec<(String, i32)> = wanted.map(|one| (one.topic, one.partition)).collect();
        if keys.is_empty() {
            return Err(AdminError::Input(
                "none of these partitions is being reassigned".to_owned(),
            ));
        }
        let results = admin.cancel_reassignments(&keys)?;
        if admin.ongoing()?.is_empty() {
            admin.unthrottle_own(&watcher.throttles)?;
        }
        Ok(results)
    })?;
    Ok(ItemResults { results })
}

/// Removes all throttles, those of others too: the page asks before, and shows them.
pub fn unthrottle(watcher: &ClusterWatcher) -> Reply<Throttles> {
    watcher.change(|admin| admin.unthrottle_all(&watcher.throttles))
}

fn late(what: String) -> AdminError {
    AdminError::Late {
        what,
        seconds: SEEN_MAX.as_secs(),
    }
}
