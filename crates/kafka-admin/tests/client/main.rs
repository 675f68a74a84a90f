//! Connections against brokers that hang, lie, close and refuse: a clear error each, and never a hang.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod fake;
mod groups;
mod old;
mod security;

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fake::{Broker, all_versions, alone, cluster, frame, healthy, next};
use tare_kafka::kafka_protocol::ResponseError;
use tare_kafka::kafka_protocol::messages::api_versions_response::ApiVersion;
use tare_kafka::kafka_protocol::messages::list_groups_response::ListedGroup;
use tare_kafka::kafka_protocol::messages::metadata_response::{
    MetadataResponsePartition, MetadataResponseTopic,
};
use tare_kafka::kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, BrokerId, CreateTopicsRequest, GroupId, ListGroupsResponse,
    MetadataRequest, MetadataResponse, TopicName,
};
use tare_kafka::kafka_protocol::protocol::StrBytes;
use tare_kafka_admin::admin::{Admin, AdminError};
use tare_kafka_admin::client::{Address, ClientError, ClientSettings, Cluster};

/// For brokers that answer, however long the machine keeps them from it.
fn patient() -> ClientSettings {
    ClientSettings {
        connect_timeout: Duration::from_secs(60),
        request_timeout: Duration::from_secs(60),
        ..ClientSettings::default()
    }
}

/// For brokers that never do.
fn hasty() -> ClientSettings {
    ClientSettings {
        connect_timeout: Duration::from_secs(2),
        request_timeout: Duration::from_secs(2),
        ..ClientSettings::default()
    }
}

fn connect(broker: &Broker, settings: ClientSettings) -> Result<Cluster, ClientError> {
    Cluster::connect(vec![broker.address.clone()], settings)
}

/// What the only broker did, without the frame round it.
fn only(result: Result<Cluster, ClientError>) -> ClientError {
    match result.map(drop).unwrap_err() {
        ClientError::NoBrokerReachable(last) => *last,
        error => error,
    }
}

/// A port that nobody listens on, and that the kernel gives nobody.
fn nobody() -> Address {
    Address {
        host: "127.0.0.1".to_owned(),
        port: 1,
    }
}

#[test]
fn a_broker_that_takes_the_connection_and_says_nothing_is_given_up() {
    let broker = Broker::start(|stream, _, _| while next(stream).is_some() {});
    let error = only(connect(&broker, hasty()));
    assert!(matches!(error, ClientError::Timeout(..)), "{error}");
    assert!(error.to_string().contains(&broker.address.to_string()));
}

#[test]
fn a_broker_that_hangs_at_a_later_request_is_given_up() {
    let broker = Broker::start(|stream, _, _| {
        let asked = next(stream).unwrap();
        let versions = frame(&all_versions(), asked.version, asked.correlation);
        stream.write_all(&versions).unwrap();
        while next(stream).is_some() {}
    });
    let error = only(connect(&broker, hasty()));
    assert!(
        matches!(&error, ClientError::Timeout(_, api, _) if api == "Metadata"),
        "{error}"
    );
}

#[test]
fn a_port_where_nobody_listens_is_named() {
    let address = nobody();
    let error = Cluster::connect(vec![address.clone()], patient())
        .map(drop)
        .unwrap_err();
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

#[test]
fn the_second_address_is_asked_when_the_first_is_down() {
    let broker = Broker::start(|stream, _, port| healthy(stream, port, 9));
    let cluster = Cluster::connect(vec![nobody(), broker.address.clone()], patient()).unwrap();
    assert_eq!(cluster.brokers().get(&1), Some(&broker.address));
}

#[test]
fn a_broker_that_hangs_leaves_time_to_ask_another_one() {
    let hanging = Broker::start(|stream, _, port| {
        healthy(stream, port, 1);
        while next(stream).is_some() {}
    });
    let other = Broker::start(|stream, _, port| healthy(stream, port, 9));
    let addresses = vec![hanging.address.clone(), other.address.clone()];
    let mut cluster = Cluster::connect(addresses, hasty()).unwrap();
    assert_eq!(cluster.brokers().get(&1), Some(&hanging.address));
    cluster.refresh().unwrap();
    assert_eq!(cluster.brokers().get(&1), Some(&other.address));
}

#[test]
fn an_http_server_is_told_from_a_broker() {
    let broker = Broker::start(|stream, _, _| {
        let _ = next(stream);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let error = only(connect(&broker, patient()));
    assert!(matches!(error, ClientError::NotPlain(..)), "{error}");
}

#[test]
fn an_answer_to_another_request_is_not_believed() {
    let broker = Broker::start(|stream, _, port| {
        let asked = next(stream).unwrap();
        let versions = frame(&all_versions(), asked.version, asked.correlation);
        stream.write_all(&versions).unwrap();
        let asked = next(stream).unwrap();
        let wrong = frame(&alone(port), asked.version, asked.correlation + 1);
        stream.write_all(&wrong).unwrap();
    });
    let error = only(connect(&broker, patient()));
    assert!(matches!(error, ClientError::Malformed(..)), "{error}");
}

#[test]
fn a_body_that_is_no_answer_is_garbage_and_not_a_panic() {
    let broker = Broker::start(|stream, _, _| {
        let asked = next(stream).unwrap();
        let versions = frame(&all_versions(), asked.version, asked.correlation);
        stream.write_all(&versions).unwrap();
        let asked = next(stream).unwrap();
        let mut wrong = vec![0, 0, 0, 24];
        wrong.extend_from_slice(&asked.correlation.to_be_bytes());
        wrong.extend_from_slice(&[0xff; 20]);
        stream.write_all(&wrong).unwrap();
    });
    let error = only(connect(&broker, patient()));
    assert!(matches!(error, ClientError::Malformed(..)), "{error}");
}

#[test]
fn a_broker_that_closes_in_the_middle_of_a_frame_is_asked_again() {
    let broker = Broker::start(|stream, nth, port| match nth {
        0 => healthy(stream, port, 1),
        1 => {
            let asked = next(stream).unwrap();
            let versions = frame(&all_versions(), asked.version, asked.correlation);
            stream.write_all(&versions).unwrap();
            let asked = next(stream).unwrap();
            let half = frame(&alone(port), asked.version, asked.correlation);
            stream.write_all(&half[..half.len() / 2]).unwrap();
        }
        _ => healthy(stream, port, 9),
    });
    let mut cluster = connect(&broker, patient()).unwrap();
    // The first connection is closed after one answer, the second in the middle of one.
    cluster.refresh().unwrap();
    assert_eq!(broker.connections(), 3);
}

#[test]
fn what_changes_something_is_sent_at_most_once() {
    let broker = Broker::start(|stream, _, port| {
        healthy(stream, port, 1);
        // The request is taken, and no answer given.
        let _ = next(stream);
    });
    let mut cluster = connect(&broker, patient()).unwrap();
    let error = cluster
        .request_once(&CreateTopicsRequest::default())
        .unwrap_err();
    assert!(matches!(error, ClientError::Closed(..)), "{error}");
    assert_eq!(broker.connections(), 1);
}

#[test]
fn an_old_broker_is_asked_for_its_versions_in_the_oldest_form() {
    let broker = Broker::start(|stream, _, port| {
        let asked = next(stream).unwrap();
        assert_eq!(asked.version, 3);
        let refused = ApiVersionsResponse::default()
            .with_error_code(ResponseError::UnsupportedVersion.code());
        let refused = frame(&refused, 0, asked.correlation);
        stream.write_all(&refused).unwrap();
        healthy(stream, port, 9);
    });
    assert!(connect(&broker, patient()).is_ok());
}

#[test]
fn a_broker_without_a_version_in_common_is_named_with_both_ranges() {
    let broker = Broker::start(|stream, _, _| {
        let asked = next(stream).unwrap();
        let metadata = ApiVersion::default()
            .with_api_key(ApiKey::Metadata as i16)
            .with_min_version(90)
            .with_max_version(99);
        let foreign = ApiVersionsResponse::default().with_api_keys(vec![metadata]);
        let foreign = frame(&foreign, asked.version, asked.correlation);
        stream.write_all(&foreign).unwrap();
        let _ = next(stream);
    });
    let error = only(connect(&broker, patient()));
    let words = error.to_string();
    assert!(matches!(error, ClientError::Version(..)), "{words}");
    for part in [&broker.address.to_string(), "Metadata", "90 to 99"] {
        assert!(words.contains(part), "{words}");
    }
}

#[test]
fn a_listener_that_wants_a_password_is_told_from_one_that_is_down() {
    let broker = Broker::start(|stream, _, _| {
        let asked = next(stream).unwrap();
        let versions = frame(&all_versions(), asked.version, asked.correlation);
        stream.write_all(&versions).unwrap();
        let _ = next(stream);
    });
    let error = only(connect(&broker, patient()));
    assert!(matches!(error, ClientError::SaslRequired(..)), "{error}");
}

#[test]
fn a_broker_that_is_not_there_is_asked_for_once_and_named() {
    let broker = Broker::start(|stream, _, port| healthy(stream, port, 99));
    let mut cluster = connect(&broker, patient()).unwrap();
    let error = cluster
        .request_to(7, &MetadataRequest::default(), i16::MAX)
        .unwrap_err();
    assert!(matches!(error, ClientError::NoBroker(7)), "{error}");
}

/// Answers about versions, brokers and groups; counts the answers about brokers.
fn keeps_groups(
    stream: &mut TcpStream,
    brokers: &MetadataResponse,
    groups: &ListGroupsResponse,
    asked_for_brokers: &AtomicUsize,
) {
    while let Some(asked) = next(stream) {
        let (version, id) = (asked.version, asked.correlation);
        let answer = match ApiKey::try_from(asked.key) {
            Ok(ApiKey::ApiVersions) => frame(&all_versions(), version, id),
            Ok(ApiKey::ListGroups) => frame(groups, version, id),
            _ => {
                asked_for_brokers.fetch_add(1, Ordering::SeqCst);
                frame(brokers, version, id)
            }
        };
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

#[test]
fn a_name_that_a_broker_advertises_in_vain_is_told_at_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let broker = Broker::start(move |stream, _, _| {
        let brokers = cluster(&[("broker-1.invalid", 9092)]);
        keeps_groups(stream, &brokers, &ListGroupsResponse::default(), &counted);
    });
    let mut admin = Admin::connect(vec![broker.address.clone()], hasty()).unwrap();
    let error = admin.groups_of(1).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, AdminError::Client(ClientError::HostNotFound(..))),
        "{text}"
    );
    for part in ["broker-1.invalid:9092", "advertised.listeners"] {
        assert!(text.contains(part), "{text}");
    }
    // Nobody is asked again where the broker is.
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn a_broker_that_does_not_answer_hides_its_own_groups_only() {
    let broker = Broker::start(|stream, _, port| {
        let brokers = cluster(&[("127.0.0.1", port), ("127.0.0.1", nobody().port)]);
        let readers =
            ListedGroup::default().with_group_id(GroupId(StrBytes::from_static_str("readers")));
        let groups = ListGroupsResponse::default().with_groups(vec![readers]);
        keeps_groups(stream, &brokers, &groups, &AtomicUsize::new(0));
    });
    let mut admin = Admin::connect(vec![broker.address.clone()], patient()).unwrap();
    let found = admin.groups().unwrap();
    let names: Vec<&str> = found.groups.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["readers"]);
    let [(2, AdminError::Client(ClientError::Refused(..)))] = found.unread[..] else {
        panic!("{:?}", found.unread);
    };
}

#[test]
fn groups_in_partitions_that_no_broker_leads_are_missing_and_not_said_to_be_none() {
    let partition = |index: i32, leader: i32| {
        MetadataResponsePartition::default()
            .with_partition_index(index)
            .with_leader_id(BrokerId(leader))
            .with_replica_nodes(vec![BrokerId(leader.max(2))])
    };
    let offsets = MetadataResponseTopic::default()
        .with_name(Some(TopicName(StrBytes::from_static_str(
            "__consumer_offsets",
        ))))
        .with_is_internal(true)
        .with_partitions(vec![partition(0, 1), partition(1, -1), partition(2, -1)]);
    let broker = Broker::start(move |stream, _, port| {
        let brokers = cluster(&[("127.0.0.1", port)]).with_topics(vec![offsets.clone()]);
        let none = ListGroupsResponse::default();
        keeps_groups(stream, &brokers, &none, &AtomicUsize::new(0));
    });
    let mut admin = Admin::connect(vec![broker.address.clone()], patient()).unwrap();
    let found = admin.groups().unwrap();
    assert!(found.groups.is_empty() && found.unread.is_empty());
    let said = found.unkept.unwrap();
    assert!(
        said.contains("2 of 3 partitions of __consumer_offsets"),
        "{said}"
    );
}

#[test]
fn groups_are_not_found_where_no_broker_answers() {
    let broker = Broker::start(|stream, _, _| {
        let brokers = cluster(&[("127.0.0.1", nobody().port)]);
        let none = ListGroupsResponse::default();
        keeps_groups(stream, &brokers, &none, &AtomicUsize::new(0));
    });
    let mut admin = Admin::connect(vec![broker.address.clone()], patient()).unwrap();
    let error = admin.groups().map(drop).unwrap_err();
    assert!(
        matches!(error, AdminError::Client(ClientError::Refused(..))),
        "{error}"
    );
}
