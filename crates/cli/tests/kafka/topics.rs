//! Clusters, brokers, topics, configurations, elections.

use serde_json::{Value, json};
use tare_kafka_admin::admin::{Admin, TopicIdentity};
use tare_kafka_admin::client::ClientSettings;

use crate::bed::{LIMIT, assert_narrow, bed};
use crate::rig::wait_for;

#[test]
fn a_cluster_shows_its_brokers_and_what_they_listen_on() {
    let bed = bed();
    let cluster = bed.json(&["cluster"]);
    let brokers = cluster["brokers"].as_array().unwrap();
    assert_eq!(brokers.len(), 3);
    assert_eq!(cluster["voters"], json!([1, 2, 3]));
    assert!((1..=3).contains(&cluster["controller"].as_i64().unwrap()));
    for (number, broker) in (1..).zip(brokers) {
        assert_eq!(broker["id"], number);
        assert_eq!(broker["rack"], format!("rack-{number}"));
        assert!(broker["listeners"].as_str().unwrap().contains("://"));
    }
    let text = bed.text(&["cluster"]);
    assert!(text.contains("rack-2"), "{text}");
    assert_narrow(&text);
    assert!(bed.text(&["brokers"]).contains("advertised"));
}

#[test]
fn a_topic_lives_from_create_to_delete() {
    let bed = bed();
    let create = [
        "topics",
        "create",
        "life",
        "-p",
        "3",
        "-r",
        "2",
        "-c",
        "retention.ms=100000",
    ];
    assert_eq!(bed.json(&create), json!([{"name": "life", "error": null}]));
    let (code, words) = bed.refused(&create);
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("already exists"), "{words}");

    let described = bed.json(&["topics", "describe", "life"]);
    let topic = &described[0];
    assert_eq!(topic["partitions"].as_array().unwrap().len(), 3);
    for partition in topic["partitions"].as_array().unwrap() {
        assert_eq!(partition["in_sync"].as_array().unwrap().len(), 2);
    }
    let set = &topic["configs"][0];
    assert_eq!(
        (&set["name"], &set["value"], &set["source"]),
        (
            &json!("retention.ms"),
            &json!("100000"),
            &json!("dynamic-topic")
        )
    );
    assert_narrow(&bed.text(&["topics", "describe", "life"]));
    assert!(bed.text(&["topics", "list"]).contains("life"));

    bed.text(&["topics", "add-partitions", "life", "--partitions", "5"]);
    let (code, words) = bed.refused(&["topics", "add-partitions", "life", "--partitions", "2"]);
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("can only grow"), "{words}");

    let change = [
        "topics",
        "config",
        "life",
        "--set",
        "max.message.bytes=12345",
        "--unset",
        "retention.ms",
    ];
    bed.text(&change);
    wait_for(LIMIT, "changed configuration", || {
        let shown = bed.json(&["configs", "topic", "life"]);
        let all = shown[0]["configs"].as_array().unwrap().clone();
        let of = |name: &str| all.iter().find(|one| one["name"] == name).cloned();
        let changed = of("max.message.bytes").is_some_and(|one| one["value"] == "12345");
        (changed && of("retention.ms").is_none()).then_some(())
    });

    let (code, words) = bed.refused(&["topics", "delete", "life"]);
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("--yes"), "{words}");
    bed.text(&["topics", "delete", "life", "--yes"]);
    wait_for(LIMIT, "deleted topic", || {
        let topics = bed.json(&["topics", "list"]);
        let mut names = topics.as_array().unwrap().iter();
        (!names.any(|topic| topic["name"] == "life")).then_some(())
    });
}

#[test]
fn what_cannot_be_is_refused_with_the_next_step() {
    let bed = bed();
    for (words, said) in [
        (&["topics", "describe", "nowhere"][..], "topics list"),
        (
            &["topics", "create", "big", "-r", "9"],
            "tare kafka brokers",
        ),
        (&["topics", "create", "bad name"], "InvalidTopic"),
        (&["configs", "topic", "nowhere"], "topics list"),
        (&["configs", "broker", "9"], "no broker 9"),
        (&["configs", "brokers", "--set", "nonsense"], "KEY=VALUE"),
        (&["groups", "describe", "nobody"], "groups list"),
        (&["verify", "nowhere"], "topics list"),
    ] {
        let (code, error) = bed.refused(words);
        assert_eq!(code, Some(2), "{words:?}: {error}");
        assert!(error.contains(said), "{words:?}: {error}");
    }
    let output = bed.bare(&["cluster", "--bootstrap", "127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(crate::rig::stderr(&output).contains("127.0.0.1:1"));
}

#[test]
fn a_topic_is_placed_as_said_and_a_dry_run_makes_none() {
    let bed = bed();
    let dry = ["topics", "create", "dry", "--dry-run"];
    assert_eq!(bed.json(&dry)[0]["error"], Value::Null);
    let (code, _) = bed.refused(&["topics", "describe", "dry"]);
    assert_eq!(code, Some(2));
    bed.text(&["topics", "create", "placed", "--assignment", "3:1,2:3"]);
    let topic = &bed.json(&["topics", "describe", "placed"])[0];
    assert_eq!(topic["partitions"][0]["replicas"], json!([3, 1]));
    assert_eq!(topic["partitions"][1]["replicas"], json!([2, 3]));
    bed.text(&["topics", "delete", "placed", "--yes"]);
}

#[test]
fn a_broker_has_its_settings_and_a_secret_stays_one() {
    let bed = bed();
    let shown = bed.json(&["configs", "broker", "1", "--all"]);
    let all = shown[0]["configs"].as_array().unwrap();
    let of = |name: &str| all.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(of("broker.rack")["value"], "rack-1");
    assert_eq!(of("broker.rack")["source"], "static-broker");
    let secrets: Vec<_> = all
        .iter()
        .filter(|one| one["is_sensitive"] == true)
        .collect();
    assert!(!secrets.is_empty());
    assert!(secrets.iter().all(|one| one["value"].is_null()));
}

#[test]
fn the_preferred_leader_leads_again_after_its_broker_was_killed() {
    let mut bed = bed();
    bed.text(&["topics", "create", "led", "--assignment", "2:1:3"]);
    let killed = bed.kill(2);
    let leader = |bed: &crate::bed::Bed| {
        bed.json(&["topics", "describe", "led"])[0]["partitions"][0]["leader"].as_i64()
    };
    wait_for(LIMIT, "another leader", || {
        leader(&killed).filter(|leader| *leader != 2)
    });
    let unhealthy = killed.json(&["topics", "list", "--unhealthy"]);
    let mut names = unhealthy.as_array().unwrap().iter();
    assert!(names.any(|topic| topic["name"] == "led"));
    drop(killed);
    wait_for(LIMIT, "replica in sync again", || {
        let topic = &bed.json(&["topics", "describe", "led"])[0];
        let in_sync = topic["partitions"][0]["in_sync"].as_array()?.len();
        (in_sync == 3).then_some(())
    });
    // Those of the topics that other tests left, too: nobody can be elected who is not in sync.
    wait_for(LIMIT, "all replicas in sync again", || {
        (bed.json(&["topics", "list", "--unhealthy"]) == json!([])).then_some(())
    });
    bed.json(&["elect", "--all"]);
    wait_for(LIMIT, "preferred leader", || {
        leader(&bed).filter(|leader| *leader == 2)
    });
    assert_eq!(bed.json(&["elect", "led"]), json!([]));
    bed.text(&["topics", "delete", "led", "--yes"]);
}

#[test]
fn a_topic_of_kafka_itself_is_changed_only_by_an_option_of_its_own() {
    let bed = bed();
    bed.text(&["topics", "create", "committed", "-p", "1", "-r", "3"]);
    // The first commit of an offset makes the topic for them.
    bed.json(&[
        "groups",
        "reset",
        "first",
        "--topic",
        "committed",
        "--to-latest",
        "--new-group",
    ]);
    let of_kafka = "__consumer_offsets";
    let before = bed.json(&["topics", "describe", of_kafka])[0]["partitions"].clone();
    for words in [
        &["topics", "delete", of_kafka, "--yes"][..],
        &["topics", "delete", "committed", of_kafka, "--yes"],
        &[
            "topics",
            "add-partitions",
            of_kafka,
            "--partitions",
            "99",
            "--yes",
        ],
    ] {
        let (code, said) = bed.refused(words);
        assert_eq!(code, Some(2), "{words:?}: {said}");
        assert!(said.contains("--internal"), "{words:?}: {said}");
    }
    let after = bed.json(&["topics", "describe", of_kafka])[0]["partitions"].clone();
    assert_eq!(
        after.as_array().unwrap().len(),
        before.as_array().unwrap().len()
    );
    bed.text(&["topics", "describe", "committed"]);
    // The option says that it is meant; the question is still asked.
    let (code, said) = bed.refused(&["topics", "delete", of_kafka, "--internal"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("would delete") && said.contains("--yes"),
        "{said}"
    );
    bed.text(&["groups", "delete", "first", "--yes"]);
    bed.text(&["topics", "delete", "committed", "--yes"]);
}

#[test]
fn a_topic_that_was_made_again_after_it_was_shown_is_not_deleted() {
    let bed = bed();
    let create = ["topics", "create", "again", "-p", "1", "-r", "1"];
    bed.text(&create);
    let id = |topics: Value| topics[0]["id"].as_str().unwrap().to_owned();
    let shown = id(bed.json(&["topics", "describe", "again"]));
    bed.text(&["topics", "delete", "again", "--yes"]);
    // Brokers hear of it a little later.
    let new = wait_for(LIMIT, "the same topic once more", || {
        bed.kafka(&create);
        let said = bed.kafka(&["topics", "describe", "again", "--json"]);
        let topics = serde_json::from_slice(&said.stdout).ok()?;
        said.status
            .success()
            .then(|| id(topics))
            .filter(|new| *new != shown)
    });
    let bootstrap = bed.at("plain");
    let bootstrap = bootstrap.split(',').map(|word| word.parse().unwrap());
    let mut admin = Admin::connect(bootstrap.collect(), ClientSettings::default()).unwrap();
    let stale = TopicIdentity {
        name: "again".to_owned(),
        id: Some(shown),
    };
    let outcome = admin.delete_topics(&[stale]).unwrap().remove(0);
    assert_eq!(outcome.name, "again");
    assert_eq!(outcome.error.unwrap().name, "UnknownTopicId");
    assert_eq!(id(bed.json(&["topics", "describe", "again"])), new);
    bed.text(&["topics", "delete", "again", "--yes"]);
}
