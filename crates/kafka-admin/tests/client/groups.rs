//! Groups on brokers that follow a script: partitions without a leader, share groups and streams groups.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tare_kafka::kafka_protocol::ResponseError;
use tare_kafka::kafka_protocol::messages::consumer_group_describe_response as consumer;
use tare_kafka::kafka_protocol::messages::describe_groups_response as classic;
use tare_kafka::kafka_protocol::messages::find_coordinator_response::Coordinator;
use tare_kafka::kafka_protocol::messages::list_groups_response::ListedGroup;
use tare_kafka::kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use tare_kafka::kafka_protocol::messages::metadata_response::{
    MetadataResponsePartition, MetadataResponseTopic,
};
use tare_kafka::kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use tare_kafka::kafka_protocol::messages::share_group_describe_response as share;
use tare_kafka::kafka_protocol::messages::{
    ApiKey, BrokerId, ConsumerGroupDescribeResponse, DescribeGroupsResponse,
    FindCoordinatorResponse, GroupId, ListGroupsResponse, ListOffsetsResponse, MetadataResponse,
    OffsetFetchResponse, ShareGroupDescribeResponse, TopicName,
};
use tare_kafka::kafka_protocol::protocol::StrBytes;
use tare_kafka_admin::admin::{Admin, AdminError, CommitPosition, Mode, NewGroup, ResetTo};

use crate::fake::{Asked, Broker, all_versions, alone, frame, next};
use crate::patient;

const NAME: &str = "outage";

fn text(text: &'static str) -> StrBytes {
    StrBytes::from_static_str(text)
}

/// How a broker keeps a group.
#[derive(Clone, Copy)]
struct Kept {
    /// Its type and its protocol, as the list has them.
    kind: &'static str,
    state: &'static str,
}

/// What the broker was asked.
#[derive(Default)]
struct Counts {
    metadata: AtomicUsize,
    offsets: AtomicUsize,
    commits: AtomicUsize,
}

/// A topic of two partitions, of which the second has no leader.
fn metadata(port: u16) -> MetadataResponse {
    let partition = |number, leader: i32| {
        let error = match leader {
            ..0 => ResponseError::LeaderNotAvailable.code(),
            _ => 0,
        };
        MetadataResponsePartition::default()
            .with_error_code(error)
            .with_partition_index(number)
            .with_leader_id(BrokerId(leader))
            .with_replica_nodes(vec![BrokerId(1)])
    };
    let topic = MetadataResponseTopic::default()
        .with_name(Some(TopicName(text(NAME))))
        .with_partitions(vec![partition(0, 1), partition(1, -1)]);
    alone(port).with_topics(vec![topic])
}

/// Commits of both partitions: the first is 70 beyond its end.
fn commits() -> OffsetFetchResponse {
    let partition = |number, offset| {
        OffsetFetchResponsePartitions::default()
            .with_partition_index(number)
            .with_committed_offset(offset)
    };
    let topic = OffsetFetchResponseTopics::default()
        .with_name(TopicName(text(NAME)))
        .with_partitions(vec![partition(0, 120), partition(1, 10)]);
    let group = OffsetFetchResponseGroup::default()
        .with_group_id(GroupId(text("group")))
        .with_topics(vec![topic]);
    OffsetFetchResponse::default().with_groups(vec![group])
}

/// An offset of the first partition: the end is asked for first, then the start.
fn offset(nth: usize) -> ListOffsetsResponse {
    let partition = ListOffsetsPartitionResponse::default()
        .with_partition_index(0)
        .with_offset(if nth.is_multiple_of(2) { 50 } else { 0 });
    let topic = ListOffsetsTopicResponse::default()
        .with_name(TopicName(text(NAME)))
        .with_partitions(vec![partition]);
    ListOffsetsResponse::default().with_topics(vec![topic])
}

fn described(kept: Kept) -> DescribeGroupsResponse {
    let missing = match kept.kind {
        "classic" => 0,
        _ => ResponseError::GroupIdNotFound.code(),
    };
    let group = classic::DescribedGroup::default()
        .with_error_code(missing)
        .with_group_id(GroupId(text("group")))
        .with_group_state(text(kept.state));
    DescribeGroupsResponse::default().with_groups(vec![group])
}

fn shared(kept: Kept) -> ShareGroupDescribeResponse {
    let assignment = share::TopicPartitions::default()
        .with_topic_name(TopicName(text(NAME)))
        .with_partitions(vec![1, 0]);
    let member = share::Member::default()
        .with_member_id(text("member"))
        .with_client_id(text("worker"))
        .with_assignment(share::Assignment::default().with_topic_partitions(vec![assignment]));
    let group = share::DescribedGroup::default()
        .with_group_id(GroupId(text("group")))
        .with_group_state(text(kept.state))
        .with_members(vec![member]);
    ShareGroupDescribeResponse::default().with_groups(vec![group])
}

fn answer(asked: &Asked, kept: Kept, port: u16, counts: &Counts) -> Vec<u8> {
    let (version, id) = (asked.version, asked.correlation);
    match ApiKey::try_from(asked.key).unwrap() {
        ApiKey::ApiVersions => frame(&all_versions(), version, id),
        ApiKey::FindCoordinator => {
            let one = Coordinator::default().with_node_id(BrokerId(1));
            let found = FindCoordinatorResponse::default().with_coordinators(vec![one]);
            frame(&found, version, id)
        }
        ApiKey::ListGroups => {
            let listed = ListedGroup::default()
                .with_group_id(GroupId(text("group")))
                .with_group_type(text(kept.kind))
                .with_group_state(text(kept.state));
            let listed = ListGroupsResponse::default().with_groups(vec![listed]);
            frame(&listed, version, id)
        }
        ApiKey::ConsumerGroupDescribe => {
            let none = consumer::DescribedGroup::default()
                .with_error_code(ResponseError::GroupIdNotFound.code());
            let none = ConsumerGroupDescribeResponse::default().with_groups(vec![none]);
            frame(&none, version, id)
        }
        ApiKey::DescribeGroups => frame(&described(kept), version, id),
        ApiKey::ShareGroupDescribe => frame(&shared(kept), version, id),
        ApiKey::OffsetFetch => frame(&commits(), version, id),
        ApiKey::ListOffsets => {
            let nth = counts.offsets.fetch_add(1, Ordering::SeqCst);
            frame(&offset(nth), version, id)
        }
        ApiKey::OffsetCommit => {
            counts.commits.fetch_add(1, Ordering::SeqCst);
            let none = tare_kafka::kafka_protocol::messages::OffsetCommitResponse::default();
            frame(&none, version, id)
        }
        _ => {
            counts.metadata.fetch_add(1, Ordering::SeqCst);
            frame(&metadata(port), version, id)
        }
    }
}

fn keeping(kept: Kept) -> (Admin, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    let counted = Arc::clone(&counts);
    let broker = Broker::start(move |stream: &mut TcpStream, _, port| {
        while let Some(asked) = next(stream) {
            if stream
                .write_all(&answer(&asked, kept, port, &counted))
                .is_err()
            {
                return;
            }
        }
    });
    let admin = Admin::connect(vec![broker.address.clone()], patient()).unwrap();
    counts.metadata.store(0, Ordering::SeqCst);
    (admin, counts)
}

#[test]
fn the_lag_beside_a_partition_without_a_leader_is_shown_at_once() {
    let kept = Kept {
        kind: "classic",
        state: "Empty",
    };
    let (mut admin, counts) = keeping(kept);
    let found = admin.group_lags(&["group", "group"]).unwrap();
    assert!(found.unread.is_empty(), "{:?}", found.unread);
    let [group, other] = &found.groups[..] else {
        panic!("{found:?}");
    };
    assert_eq!(group, other);
    let [led, lost] = &group.partitions[..] else {
        panic!("{group:?}");
    };
    assert_eq!(
        (led.lag, led.commit),
        (Some(-70), Some(CommitPosition::BeyondEnd))
    );
    assert_eq!((lost.committed, lost.end, lost.lag), (Some(10), None, None));
    let problem = lost.problem.as_deref().unwrap();
    assert!(problem.contains("no leader"), "{problem}");
    // Nothing was asked again until a leader is there: topics once, and the leaders for the end and for the start.
    assert_eq!(counts.metadata.load(Ordering::SeqCst), 3);
    assert_eq!(counts.offsets.load(Ordering::SeqCst), 2);
}

#[test]
fn a_reset_beside_a_partition_without_a_leader_is_shown_at_once_and_not_made() {
    let kept = Kept {
        kind: "classic",
        state: "Empty",
    };
    let (mut admin, counts) = keeping(kept);
    let mut reset =
        |mode| admin.reset_group("group", &[], ResetTo::Latest, NewGroup::Refused, mode);
    let shown = reset(Mode::ValidateOnly).unwrap();
    let [one] = &shown.resets[..] else {
        panic!("{shown:?}");
    };
    assert_eq!((one.partition, one.from, one.to), (0, Some(120), 50));
    let problems: Vec<String> = shown.problems().collect();
    assert!(
        problems[0].starts_with("outage-1: it has no leader"),
        "{problems:?}"
    );
    let error = reset(Mode::Apply).unwrap_err();
    assert!(error.to_string().contains("outage-1"), "{error}");
    assert!(!error.is_input());
    assert_eq!(counts.commits.load(Ordering::SeqCst), 0);
}

#[test]
fn a_share_group_is_described_has_no_lag_and_is_not_reset() {
    let kept = Kept {
        kind: "Share",
        state: "Stable",
    };
    let (mut admin, counts) = keeping(kept);
    let group = admin.group("group").unwrap();
    assert_eq!(
        (group.group_type.as_str(), group.state.as_str()),
        ("share", "Stable")
    );
    assert_eq!(group.members[0].assignment, [(NAME.to_owned(), vec![0, 1])]);
    let found = admin.group_lags(&["group"]).unwrap();
    let lag = &found.groups[0];
    let committed = lag.partitions.iter().filter_map(|one| one.committed);
    assert_eq!((lag.lag, committed.count()), (None, 0));
    assert!(
        lag.group
            .not_shown
            .as_ref()
            .unwrap()
            .contains("kafka-share-groups.sh")
    );
    for mode in [Mode::ValidateOnly, Mode::Apply] {
        let error = admin
            .reset_group(
                "group",
                &[NAME.to_owned()],
                ResetTo::Earliest,
                NewGroup::Made,
                mode,
            )
            .unwrap_err();
        assert!(matches!(error, AdminError::Input(_)), "{error}");
        assert!(error.to_string().contains("share group"), "{error}");
    }
    assert_eq!(counts.commits.load(Ordering::SeqCst), 0);
}

#[test]
fn a_streams_group_has_its_lag_and_is_reset_only_when_it_is_empty() {
    let (mut admin, _) = keeping(Kept {
        kind: "Streams",
        state: "Stable",
    });
    let found = admin.group_lags(&["group"]).unwrap();
    let group = &found.groups[0];
    assert_eq!(group.partitions[0].lag, Some(-70));
    assert!(
        group
            .group
            .not_shown
            .as_ref()
            .unwrap()
            .contains("kafka-streams-groups.sh")
    );
    let mut reset =
        |mode| admin.reset_group("group", &[], ResetTo::Latest, NewGroup::Refused, mode);
    let error = reset(Mode::ValidateOnly).unwrap_err();
    assert!(
        error.to_string().contains("is Stable: stop its members"),
        "{error}"
    );
    let (mut admin, _) = keeping(Kept {
        kind: "Streams",
        state: "Empty",
    });
    let shown = admin.reset_group(
        "group",
        &[],
        ResetTo::Latest,
        NewGroup::Refused,
        Mode::ValidateOnly,
    );
    assert_eq!(shown.unwrap().resets.len(), 1);
}
