//! Topics of test beds and of external brokers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tare_kafka::audit::DeliveryAudit;
use tare_kafka_admin::admin::{
    Admin, AdminError, ItemResult, Mode, NewTopic, PartitionLayout, TopicIdentity,
};
use tare_kafka_admin::client::{Address, ClientSettings, RetryBackoff};
use tare_kafka_admin::reassignment::PartitionReassignment;
use tare_lab::brokers;
use tare_record::agent::Acknowledged;
use tare_record::record::ReadBackRecord;

/// Timeout of a request to the cluster and of its effect: brokers may be down meanwhile.
const WITHIN: Duration = Duration::from_secs(60);

pub fn create(
    all: Vec<Address>,
    settings: &ClientSettings,
    topic: brokers::PlannedTopic<'_>,
) -> Result<(), AdminError> {
    let new = NewTopic {
        name: topic.name.to_owned(),
        shape: PartitionLayout::ByCluster {
            partitions: i32::try_from(topic.partitions).ok(),
            replicas: i16::try_from(topic.replicas).ok(),
        },
        configs: BTreeMap::new(),
    };
    let mut admin = Admin::connect(all.clone(), settings.clone())?;
    let mut created = admin.create_topics(&[new], Mode::Apply)?;
    if topic.may_exist {
        created.retain(|outcome| !outcome.is_existing_topic());
    }
    ItemResult::all(&created)?;
    let until = Instant::now() + WITHIN;
    // Brokers learn of it one by one; a client may ask any of them.
    let known = all.into_iter().try_for_each(|broker| {
        let mut of_broker = Admin::connect(vec![broker], settings.clone())?;
        let left = until.saturating_duration_since(Instant::now());
        of_broker.wait_until_in_sync(&[topic.name], left).map(drop)
    });
    known.inspect_err(|_| {
        // The first error is the one to report.
        let _ = admin.delete_topics(&[TopicIdentity::named(topic.name)]);
    })
}

pub fn delete(mut admin: Admin, topic: &str) -> Result<(), AdminError> {
    let deleted = admin.delete_topics(&[TopicIdentity::named(topic)])?;
    ItemResult::all(&deleted)
}

pub fn elect(mut admin: Admin, topic: &str) -> Result<String, AdminError> {
    let found = admin.topics_named(&[topic])?;
    let partitions = found.iter().flat_map(|topic| &topic.partitions);
    let others: Vec<i32> = partitions
        .filter(|one| !one.is_preferred_led())
        .map(|one| one.partition)
        .collect();
    if others.is_empty() {
        return Ok(String::from("the preferred leaders led already"));
    }
    let count = others.len();
    let outcomes = admin.elect_preferred(Some(&BTreeMap::from([(topic.to_owned(), others)])))?;
    let refused = outcomes.iter().find_map(|one| one.error.as_ref());
    match refused {
        Some(error) => Err(AdminError::Input(format!(
            "not every preferred leader leads: {error}"
        ))),
        None => Ok(format!("{count} partitions have another leader")),
    }
}

/// Moves each partition to the next brokers, in order of their ids.
pub fn reassign(mut admin: Admin, topic: &str) -> Result<String, AdminError> {
    let mut all: Vec<i32> = admin.sites()?.iter().map(|site| site.broker).collect();
    all.sort_unstable();
    let placed = admin.placed(&[topic.to_owned()])?;
    let next = |broker: &i32| {
        let at = all.iter().position(|one| one == broker).unwrap_or(0);
        all[(at + 1) % all.len()]
    };
    let moves: Vec<PartitionReassignment> = placed
        .into_iter()
        .map(|one| PartitionReassignment {
            to: one.replicas.iter().map(next).collect(),
            topic: one.topic,
            partition: one.partition,
            from: one.replicas,
        })
        .collect();
    admin.reassign(&moves, None)?;
    let began = Instant::now();
    let mut patience = RetryBackoff::of(WITHIN);
    while admin.reassignments()?.iter().any(|one| one.topic == topic) {
        if !patience.wait() {
            return Err(AdminError::Late {
                what: String::from("the partitions did not arrive"),
                seconds: WITHIN.as_secs(),
            });
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    Ok(format!(
        "{} partitions moved in {seconds:.1} s",
        moves.len()
    ))
}

pub fn read_back(
    mut admin: Admin,
    topic: &str,
    run: u64,
    acknowledged: &[Acknowledged],
) -> Result<ReadBackRecord, AdminError> {
    let mut account = DeliveryAudit::of_run(run);
    for one in acknowledged.iter().filter(|one| one.topic == topic) {
        for &[from, count] in &one.ranges {
            account.acknowledged(one.partition, one.writer, (from, count))?;
        }
    }
    admin.read_back(topic, &mut account, WITHIN)?;
    let found = account.close();
    Ok(ReadBackRecord {
        topic: topic.to_owned(),
        acknowledged: found.acknowledged,
        read: found.read,
        lost: found.lost,
        duplicated: found.duplicated,
        unacknowledged: found.unacknowledged,
        reordered: found.reordered,
        unexpected: found.foreign,
        violations: Vec::new(),
    })
}
