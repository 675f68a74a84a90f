//! Rates, lags and problems of readings that are made up.

use std::sync::Arc;

use super::*;
use crate::admin::{CommitPosition, GroupListing, PartitionInfo};
use crate::api::ProblemKind;

fn partition(
    partition: i32,
    leader: Option<i32>,
    replicas: &[i32],
    in_sync: &[i32],
) -> PartitionInfo {
    PartitionInfo {
        partition,
        leader,
        leader_epoch: 0,
        replicas: replicas.to_vec(),
        in_sync: in_sync.to_vec(),
        offline: Vec::new(),
    }
}

/// Two topics on brokers 1 to 3, of which the third is down; the group `readers` is behind.
fn reading(at: Instant, ends: [i64; 3], committed: i64) -> ClusterReading {
    let topic = |name: &str, partitions| TopicDescription {
        name: name.to_owned(),
        id: None,
        is_internal: false,
        partitions,
    };
    let orders = vec![
        partition(0, Some(1), &[1, 2, 3], &[1, 2]),
        partition(1, Some(1), &[2, 1, 3], &[1]),
    ];
    let lost = vec![partition(0, None, &[3], &[])];
    let broker = |port: u16| LiveBroker {
        address: format!("127.0.0.1:{port}"),
        rack: None,
    };
    let logs = |ends: &[i64]| {
        let all = ends.iter().map(|end| LogOffsets {
            first: Some(0),
            end: Some(LogEnd { offset: *end, at }),
        });
        all.collect::<Vec<_>>()
    };
    let offsets = [("orders", logs(&ends[..2])), ("lost", logs(&ends[2..]))];
    let offsets = offsets.map(|(name, logs)| (name.to_owned(), logs));
    let mut slow = SlowReading::default();
    slow.min_in_sync.insert("orders".to_owned(), 2);
    let commits = BTreeMap::from([(("orders".to_owned(), 1), committed)]);
    ClusterReading {
        at,
        at_ms: 0,
        took: Duration::ZERO,
        id: None,
        live: BTreeMap::from([(1, broker(1)), (2, broker(2))]),
        topics: vec![topic("lost", lost), topic("orders", orders)],
        offsets: HashMap::from(offsets),
        groups: GroupsReading {
            listed: vec![GroupListing {
                name: "readers".to_owned(),
                state: "Stable".to_owned(),
                group_type: "classic".to_owned(),
                protocol_type: "consumer".to_owned(),
                coordinator: 1,
            }],
            committed: BTreeMap::from([("readers".to_owned(), commits)]),
            ..GroupsReading::default()
        },
        ongoing: Vec::new(),
        throttles: Throttles::default(),
        slow: Arc::new(slow),
        unread: Vec::new(),
        silent: BTreeSet::new(),
        scope: ReadingScope::default(),
    }
}

#[test]
fn rates_are_the_growth_of_offsets_between_two_readings() {
    let then = Instant::now();
    let before = reading(then, [100, 50, 7], 40);
    let now = reading(then + Duration::from_secs(2), [160, 50, 3], 60);
    let view = ClusterView {
        now: &now,
        before: Some(&before),
        lag_limit: None,
    };
    let overview = view.overview();
    assert_eq!(overview.records_in_per_s, Some(30.0));
    assert_eq!(overview.brokers[0].records_in_per_s, Some(30.0));
    assert_eq!(overview.brokers[1].records_in_per_s, None);
    let topics = view.topics().topics;
    // An offset that has fallen is one of a new topic of this name: there is no rate.
    assert_eq!(
        (topics[0].records_in_per_s, topics[0].records),
        (None, Some(3))
    );
    assert_eq!(
        (topics[1].records_in_per_s, topics[1].records),
        (Some(30.0), Some(210))
    );
    let groups = view.groups().groups;
    assert_eq!(
        (groups[0].lag, groups[0].consumed_per_s),
        (Some(0), Some(10.0))
    );
    let alone = ClusterView {
        before: None,
        ..view
    };
    assert_eq!(alone.overview().records_in_per_s, None);
}

#[test]
fn problems_stand_in_the_order_of_their_gravity_with_what_they_are_about() {
    let now = reading(Instant::now(), [100, 5050, 7], 40);
    let view = ClusterView {
        now: &now,
        before: None,
        lag_limit: Some(5000),
    };
    let problems = view.problems();
    let found: Vec<(ProblemKind, u64, &str)> = problems
        .iter()
        .map(|one| (one.kind, one.count, one.examples[0].as_str()))
        .collect();
    let expected = [
        (ProblemKind::Offline, 1, "lost-0"),
        (ProblemKind::BrokerDown, 1, "broker 3"),
        (ProblemKind::BelowMinIsr, 1, "orders-1"),
        (ProblemKind::UnderReplicated, 3, "lost-0"),
        (ProblemKind::Lag, 1, "readers"),
        (ProblemKind::LeaderImbalance, 1, "orders-1"),
    ];
    assert_eq!(found, expected);
    let overview = view.overview();
    let third = &overview.brokers[2];
    assert_eq!((third.id, &third.address), (3, &None));
    assert_eq!(
        (third.replicas, third.out_of_sync_replicas, third.preferred),
        (3, 3, 1)
    );
    let topic = view.topic("orders").unwrap();
    assert_eq!(topic.groups[0].lag, Some(5010));
    assert!(view.topic("other").is_none());
}

#[test]
fn a_commit_beyond_the_end_is_a_problem_and_one_before_the_start_is_counted() {
    fn alone(now: &ClusterReading) -> ClusterView<'_> {
        ClusterView {
            now,
            before: None,
            lag_limit: None,
        }
    }
    let mut now = reading(Instant::now(), [100, 50, 7], 120);
    let view = alone(&now);
    let group = &view.groups().groups[0];
    assert_eq!(
        (group.lag, group.beyond_end, group.before_start),
        (Some(0), 1, 0)
    );
    let topic = view.topic("orders").unwrap();
    let partition = &topic.groups[0].partitions[0];
    assert_eq!(
        (partition.lag, partition.commit),
        (Some(-70), Some(CommitPosition::BeyondEnd))
    );
    let problems = view.problems();
    let problem = problems
        .iter()
        .find(|one| one.kind == ProblemKind::CommitBeyondEnd);
    assert_eq!(problem.unwrap().examples, ["readers"]);

    // The end of a partition whose leader has gone is that of before: a commit may be ahead of it.
    now.at += Duration::from_secs(2);
    let view = alone(&now);
    assert_eq!(view.groups().groups[0].beyond_end, 0);
    assert!(
        view.problems()
            .iter()
            .all(|one| one.kind != ProblemKind::CommitBeyondEnd)
    );

    let mut now = reading(Instant::now(), [100, 50, 7], 10);
    now.offsets.get_mut("orders").unwrap()[1].first = Some(30);
    let view = alone(&now);
    let group = &view.groups().groups[0];
    assert_eq!(
        (group.lag, group.beyond_end, group.before_start),
        (Some(40), 0, 1)
    );
    let topic = view.topic("orders").unwrap();
    assert_eq!(topic.groups[0].partitions[0].readable, Some(20));
}
