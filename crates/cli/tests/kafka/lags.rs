//! Lags that are none: commits outside the log, partitions without a leader, groups that commit nothing.

use serde_json::{Value, json};
use tare_kafka::kafka_protocol::messages::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsTopic,
};
use tare_kafka::kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use tare_kafka::kafka_protocol::messages::{
    DeleteRecordsRequest, GroupId, OffsetCommitRequest, ShareGroupHeartbeatRequest, TopicName,
};
use tare_kafka::kafka_protocol::protocol::StrBytes;

use crate::bed::{Bed, LIMIT, bed};
use crate::rig::{stderr, stdout, wait_for};

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// Makes a group that has committed the starts of a topic.
fn make_group(bed: &Bed, group: &str, topic: &str) {
    bed.json(&[
        "groups",
        "reset",
        group,
        "--topic",
        topic,
        "--to-earliest",
        "--new-group",
    ]);
}

/// Commits an offset as it is: brokers do not look whether there is such a record.
fn commit(bed: &Bed, group: &str, topic: &str, offsets: &[i64]) {
    let listed = bed.json(&["groups", "list"]);
    let mut listed = listed.as_array().unwrap().iter();
    let listed = listed.find(|one| one["name"] == group).unwrap();
    let coordinator = i32::try_from(listed["coordinator"].as_i64().unwrap()).unwrap();
    let partitions = (0..).zip(offsets).map(|(number, offset)| {
        OffsetCommitRequestPartition::default()
            .with_partition_index(number)
            .with_committed_offset(*offset)
    });
    let topic = OffsetCommitRequestTopic::default()
        .with_name(TopicName(text(topic)))
        .with_partitions(partitions.collect());
    let request = OffsetCommitRequest::default()
        .with_group_id(GroupId(text(group)))
        .with_generation_id_or_member_epoch(-1)
        .with_topics(vec![topic]);
    // From version 10 on topics are named by their ids.
    let answer = bed.brokers().request_to(coordinator, &request, 9).unwrap();
    let codes = answer.topics.iter().flat_map(|topic| &topic.partitions);
    assert!(
        codes.map(|one| one.error_code).all(|code| code == 0),
        "{answer:?}"
    );
}

/// Deletes the records of a partition before an offset.
fn delete_before(bed: &Bed, topic: &str, partition: i32, offset: i64) {
    let described = bed.json(&["topics", "describe", topic]);
    let place = usize::try_from(partition).unwrap();
    let leader = described[0]["partitions"][place]["leader"]
        .as_i64()
        .unwrap();
    let partition = DeleteRecordsPartition::default()
        .with_partition_index(partition)
        .with_offset(offset);
    let topic = DeleteRecordsTopic::default()
        .with_name(TopicName(text(topic)))
        .with_partitions(vec![partition]);
    let request = DeleteRecordsRequest::default()
        .with_topics(vec![topic])
        .with_timeout_ms(30_000);
    let leader = i32::try_from(leader).unwrap();
    let answer = bed
        .brokers()
        .request_to(leader, &request, i16::MAX)
        .unwrap();
    assert_eq!(answer.topics[0].partitions[0].error_code, 0, "{answer:?}");
}

#[test]
fn commits_outside_the_log_are_shown_as_what_they_are() {
    let bed = bed();
    bed.text(&["topics", "create", "outside", "-p", "3", "-r", "3"]);
    for (partition, batches) in [(0, 1), (1, 3), (2, 1)] {
        bed.produce("outside", partition, batches);
    }
    delete_before(&bed, "outside", 1, 200);
    make_group(&bed, "lost", "outside");
    commit(&bed, "lost", "outside", &[170, 50, 90]);
    let found = &bed.json(&["groups", "lag", "lost"])[0];
    let of = |key: &str| -> Vec<Value> {
        let partitions = found["partitions"].as_array().unwrap().iter();
        partitions.map(|one| one[key].clone()).collect()
    };
    assert_eq!(of("lag"), [-70, 250, 10]);
    assert_eq!(of("readable"), [0, 100, 10]);
    assert_eq!(of("commit"), ["beyond-end", "before-start", "in-log"]);
    // What is beyond the end takes nothing from the others.
    assert_eq!(found["lag"], 260);
    let text = bed.text(&["groups", "lag", "lost"]);
    assert!(
        text.contains("outside-0: the commit is 70 beyond the end"),
        "{text}"
    );
    assert!(
        text.contains("outside-1: 150 of these offsets are deleted"),
        "{text}"
    );
    assert!(text.contains("100 can still be read"), "{text}");
    bed.text(&["groups", "delete", "lost", "--yes"]);
    bed.text(&["topics", "delete", "outside", "--yes"]);
}

#[test]
fn a_partition_without_a_leader_keeps_no_other_waiting() {
    let mut bed = bed();
    bed.text(&["topics", "create", "outage", "--assignment", "1,2,3"]);
    bed.text(&[
        "topics",
        "config",
        "outage",
        "--set",
        "min.insync.replicas=1",
    ]);
    for partition in 0..3 {
        bed.produce("outage", partition, 1);
    }
    make_group(&bed, "reader", "outage");
    let killed = bed.kill(3);
    let read = |words: &[&str]| {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let output = killed.kafka(&words);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{words:?}: {said}");
        (stdout(&output), said)
    };
    // Until the others have noticed.
    wait_for(LIMIT, "the leader to be gone", || {
        let topic = &killed.json(&["topics", "describe", "outage"])[0];
        topic["partitions"][2]["leader"].is_null().then_some(())
    });
    // A broker that has just become coordinator does not show what was committed last until its followers have it.
    wait_for(LIMIT, "the group to be there", || {
        let output = killed.kafka(&["groups", "describe", "reader"]);
        output.status.success().then_some(())
    });
    for words in [&["groups", "lag", "reader"][..], &["groups", "lag"]] {
        let (text, said) = read(words);
        let found: Value = serde_json::from_str(&text).unwrap();
        let mut groups = found.as_array().unwrap().iter();
        let ours = groups.find(|one| one["group"]["name"] == "reader").unwrap();
        let partitions = ours["partitions"].as_array().unwrap().iter();
        let lags: Vec<&Value> = partitions.map(|one| &one["lag"]).collect();
        assert_eq!(lags, [&json!(100), &json!(100), &Value::Null], "{ours}");
        assert!(
            said.contains("the end of outage-2 is not known: it has no leader"),
            "{said}"
        );
    }
    let reset = ["groups", "reset", "reader", "--to-latest"];
    let (text, said) = read(&[&reset[..], &["--dry-run"]].concat());
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found.as_array().unwrap().len(), 2, "{found}");
    assert!(said.contains("outage-2: it has no leader"), "{said}");
    let (_, said) = read(&[&reset[..], &["--yes"]].concat());
    assert!(said.contains("nothing was changed: outage-2"), "{said}");
    drop(killed);
    // The tests after this one find all partitions led as they should be.
    wait_for(LIMIT, "the preferred leaders", || {
        let output = bed.kafka(&["elect", "--all"]);
        output.status.success().then_some(())
    });
    bed.text(&["groups", "delete", "reader", "--yes"]);
    bed.text(&["topics", "delete", "outage", "--yes"]);
}

#[test]
fn a_share_group_is_shown_and_told_to_have_no_offsets() {
    let bed = bed();
    bed.text(&["topics", "create", "jobs", "-p", "1", "-r", "3"]);
    bed.produce("jobs", 0, 1);
    // The first question for a group has the cluster make the topic of offsets.
    let (code, said) = bed.refused(&["groups", "describe", "workers"]);
    assert_eq!(code, Some(2), "{said}");
    let mut brokers = bed.brokers();
    // Whichever broker keeps it takes the heartbeat of its first member.
    let mut joined = |epoch: i32| {
        let request = ShareGroupHeartbeatRequest::default()
            .with_group_id(GroupId(text("workers")))
            .with_member_id(text("AAAAAAAAAAAAAAAAAAAAAQ"))
            .with_member_epoch(epoch)
            .with_subscribed_topic_names(Some(vec![TopicName(text("jobs"))]));
        let ids: Vec<i32> = brokers.brokers().keys().copied().collect();
        ids.into_iter().find(|broker| {
            let answer = brokers.request_to(*broker, &request, i16::MAX).unwrap();
            answer.error_code == 0
        })
    };
    wait_for(LIMIT, "a member to join", || joined(0));
    let described = &bed.json(&["groups", "describe", "workers"])[0];
    assert_eq!(described["group_type"], "share", "{described}");
    assert_eq!(
        described["members"].as_array().unwrap().len(),
        1,
        "{described}"
    );
    let lag = &bed.json(&["groups", "lag", "workers"])[0];
    assert_eq!(lag["lag"], Value::Null, "{lag}");
    let shown = bed.text(&["groups", "lag"]);
    assert!(
        shown.contains("a share group commits no offsets"),
        "{shown}"
    );
    let reset = [
        "groups",
        "reset",
        "workers",
        "--topic",
        "jobs",
        "--to-earliest",
    ];
    for more in [&["--dry-run"][..], &["--yes"], &["--yes", "--new-group"]] {
        let (code, said) = bed.refused(&[&reset[..], more].concat());
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("is a share group"), "{said}");
    }
    let (code, said) = bed.refused(&["groups", "delete", "workers", "--yes"]);
    assert_eq!(code, Some(2), "{said}");
    wait_for(LIMIT, "the member to leave", || joined(-1));
    bed.text(&["groups", "delete", "workers", "--yes"]);
    bed.text(&["topics", "delete", "jobs", "--yes"]);
}
