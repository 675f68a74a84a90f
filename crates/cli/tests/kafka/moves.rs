//! Partitions moved: planned, throttled, watched, left alone, cancelled.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::bed::{Bed, LIMIT, assert_narrow, bed};
use crate::rig::{kill, stderr, wait_for};

/// Where the partitions of a topic are.
fn replicas(bed: &Bed, topic: &str) -> Vec<Vec<i64>> {
    let topic = &bed.json(&["topics", "describe", topic])[0];
    let partitions = topic["partitions"].as_array().unwrap();
    partitions
        .iter()
        .map(|one| {
            let replicas = one["replicas"].as_array().unwrap();
            replicas.iter().map(|id| id.as_i64().unwrap()).collect()
        })
        .collect()
}

/// A topic on brokers 1 and 2 with four megabytes in each partition, and a plan that empties broker 1.
fn planned(bed: &Bed, topic: &str, folder: &std::path::Path) -> (String, Value) {
    bed.text(&["topics", "create", topic, "--assignment", "1:2,1:2"]);
    bed.produce(topic, 0, 40);
    bed.produce(topic, 1, 40);
    let path = folder.join("plan.json").display().to_string();
    let plan = bed.json(&["reassign", "plan", topic, "--drain", "1", "--out", &path]);
    (path, plan)
}

/// Ends what a test that fails leaves moving, and its throttles: the tests after it begin with nothing.
struct Tidy<'a>(&'a Bed);

impl Drop for Tidy<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let at = self.0.at("plain");
            for words in [
                &["reassign", "cancel", "--yes"][..],
                &["reassign", "watch"],
                &["reassign", "unthrottle", "--all", "--yes"],
            ] {
                let mut command = self.0.command(words);
                let _ = command.args(["--bootstrap", &at]).output();
            }
        }
    }
}

fn show(bed: &Bed) -> Value {
    bed.json(&["reassign", "show"])
}

fn nothing() -> Value {
    json!({"reassignments": [], "throttles": {"brokers": {}, "topics": {}}})
}

#[test]
fn a_broker_is_emptied_by_a_throttled_plan_and_the_throttles_go() {
    let bed = bed();
    let _tidy = Tidy(&bed);
    let folder = tempfile::tempdir().unwrap();
    let (path, plan) = planned(&bed, "emptied", folder.path());
    assert_eq!(plan["replicas_to_copy"], 2);
    assert_eq!(plan["after"]["2"]["leaders"], 1);
    assert_eq!(plan["after"]["3"]["leaders"], 1);
    assert_narrow(&bed.text(&["reassign", "plan", "emptied", "--drain", "1"]));

    let (code, words) = bed.refused(&["reassign", "run", "--plan", &path]);
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("--yes"), "{words}");
    let run = [
        "reassign",
        "run",
        "--plan",
        &path,
        "--throttle",
        "50MB",
        "--watch",
        "--yes",
    ];
    let text = bed.text(&run);
    assert!(text.contains("nothing is moving"), "{text}");
    // The controller tells what moves; the broker that is asked where replicas are hears of it a little later.
    wait_for(LIMIT, "replicas off broker 1", || {
        let all = replicas(&bed, "emptied");
        all.iter().flatten().all(|id| *id != 1).then_some(())
    });
    wait_for(LIMIT, "throttles gone", || {
        (show(&bed) == nothing()).then_some(())
    });
    // The same plan a second time is about a cluster that was.
    let (code, words) = bed.refused(&["reassign", "run", "--plan", &path, "--yes"]);
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("make a new plan"), "{words}");
    // And a new one finds nothing to do.
    let again = bed.json(&["reassign", "plan", "emptied", "--drain", "1"]);
    assert_eq!(again["reassignments"], json!([]));
    bed.text(&["topics", "delete", "emptied", "--yes"]);
}

#[test]
fn a_watch_that_is_interrupted_leaves_the_move_which_is_then_cancelled() {
    let bed = bed();
    let _tidy = Tidy(&bed);
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = planned(&bed, "slow", folder.path());
    // The first fetch of a megabyte goes through whole; the rest at a kilobyte a second is surely still moving when it is cancelled.
    let run = ["reassign", "run", "--plan", &path, "--throttle", "1kB"];
    bed.json(&run);
    // Each broker tells its own settings, once it has heard of them.
    let moving = wait_for(LIMIT, "throttle on broker 3", || {
        let moving = show(&bed);
        (moving["throttles"]["brokers"]["3"] == 1000).then_some(moving)
    });
    assert_eq!(
        moving["reassignments"].as_array().unwrap().len(),
        2,
        "{moving}"
    );
    let (code, words) = bed.refused(&["reassign", "plan", "slow"]);
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("moving already"), "{words}");

    let at = bed.at("plain");
    let mut command = bed.command(&["reassign", "watch", "--bootstrap", &at]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut lines, &mut said).unwrap();
    assert!(said.contains("2 partitions moving"), "{said}");
    kill(child.id(), "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let words = stderr(&output);
    assert!(
        words.contains("reassign watch") && words.contains("reassign cancel"),
        "{words}"
    );
    assert_eq!(show(&bed)["reassignments"].as_array().unwrap().len(), 2);

    bed.json(&["reassign", "cancel"]);
    wait_for(LIMIT, "end of the move", || {
        (show(&bed)["reassignments"] == json!([])).then_some(())
    });
    bed.text(&["reassign", "watch", "--yes"]);
    wait_for(LIMIT, "throttles gone", || {
        (show(&bed) == nothing()).then_some(())
    });
    // Kafka takes out what was added and leaves the order, and with it the preferred leader, as the move had it.
    let mut back = replicas(&bed, "slow");
    back.iter_mut().for_each(|one| one.sort_unstable());
    assert_eq!(back, [[1, 2], [1, 2]]);
    bed.text(&["topics", "delete", "slow", "--yes"]);
}

#[test]
fn replicas_are_added_and_disks_say_where_they_are() {
    let bed = bed();
    let _tidy = Tidy(&bed);
    let folder = tempfile::tempdir().unwrap();
    bed.text(&["topics", "create", "wider", "-p", "2", "-r", "1"]);
    bed.produce("wider", 0, 5);
    let path = folder.path().join("plan.json").display().to_string();
    bed.json(&["reassign", "plan", "wider", "-r", "3", "--out", &path]);
    bed.text(&["reassign", "run", "--plan", &path, "--watch", "--yes"]);
    wait_for(LIMIT, "three replicas of each", || {
        let all = replicas(&bed, "wider");
        all.iter().all(|one| one.len() == 3).then_some(())
    });
    wait_for(LIMIT, "copies on all disks", || {
        let dirs = bed.json(&["log-dirs", "--topic", "wider"]);
        let dirs = dirs.as_array().unwrap().clone();
        let full = dirs.iter().filter(|dir| {
            let mut all = dir["partitions"].as_array().unwrap().iter();
            all.any(|one| one["partition"] == 0 && one["size_bytes"].as_i64() > Some(500_000))
        });
        (full.count() == 3).then_some(())
    });
    assert_narrow(&bed.text(&["log-dirs", "--topic", "wider", "--partitions"]));
    bed.text(&["topics", "delete", "wider", "--yes"]);
}

/// The limits that somebody has set for broker 3 and a topic, as other tools do, once all brokers tell them.
fn throttled_by_others(bed: &Bed, topic: &str) -> Value {
    let rate = "leader.replication.throttled.rate=5000000";
    bed.text(&["configs", "broker", "3", "--set", rate, "--yes"]);
    let replicas = "follower.replication.throttled.replicas=0:3";
    bed.text(&["configs", "topic", topic, "--set", replicas, "--yes"]);
    let set = json!({
        "brokers": {"3": 5_000_000},
        "topics": {topic: {"leader_replicas": [], "follower_replicas": ["0:3"]}},
    });
    wait_for(LIMIT, "throttles of others", || {
        (show(bed)["throttles"] == set).then_some(())
    });
    set
}

#[test]
fn throttles_that_others_have_set_stay_unless_all_are_named() {
    let bed = bed();
    let _tidy = Tidy(&bed);
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = planned(&bed, "theirs", folder.path());
    let set = throttled_by_others(&bed, "theirs");

    let run = [
        "reassign",
        "run",
        "--plan",
        &path,
        "--throttle",
        "20MB",
        "--yes",
    ];
    let (_, words) = bed.refused(&run);
    assert!(words.contains("somebody else's move"), "{words}");
    for words in [
        &["reassign", "watch"][..],
        &["reassign", "watch", "--yes"],
        &["reassign", "cancel"],
        &["reassign", "cancel", "--yes"],
        &["reassign", "unthrottle"],
        &["reassign", "unthrottle", "--yes"],
    ] {
        bed.text(words);
        assert_eq!(show(&bed)["throttles"], set, "{words:?}");
    }
    let (code, words) = bed.refused(&["reassign", "unthrottle", "--all"]);
    assert_eq!(code, Some(2), "{words}");
    assert!(
        words.contains("others") && words.contains("--yes"),
        "{words}"
    );
    assert_eq!(show(&bed)["throttles"], set);
    bed.text(&["reassign", "unthrottle", "--all", "--yes"]);
    wait_for(LIMIT, "throttles gone", || {
        (show(&bed) == nothing()).then_some(())
    });
    bed.text(&["topics", "delete", "theirs", "--yes"]);
}

#[test]
fn a_throttle_is_removed_by_a_later_command_that_is_told_to_and_not_where_others_have_changed_it() {
    let bed = bed();
    let _tidy = Tidy(&bed);
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = planned(&bed, "later", folder.path());
    // It ends at once, as if it were killed.
    bed.text(&[
        "reassign",
        "run",
        "--plan",
        &path,
        "--throttle",
        "50MB",
        "--yes",
    ]);
    let output = bed.kafka(&["reassign", "watch"]);
    assert!(output.status.success());
    let words = stderr(&output);
    assert!(
        words.contains("`tare kafka reassign unthrottle` removes them"),
        "{words}"
    );
    let rate = "leader.replication.throttled.rate=7000000";
    bed.text(&["configs", "broker", "2", "--set", rate, "--yes"]);
    wait_for(LIMIT, "what others have changed", || {
        (show(&bed)["throttles"]["brokers"]["2"] == 7_000_000).then_some(())
    });
    // The command that looked has removed nothing.
    let text = bed.text(&["reassign", "watch", "--yes"]);
    assert!(text.contains("replication throttles removed"), "{text}");
    let left = json!({"brokers": {"2": 7_000_000}, "topics": {}});
    wait_for(LIMIT, "those that were set here gone", || {
        (show(&bed)["throttles"] == left).then_some(())
    });
    bed.text(&["reassign", "unthrottle", "--all", "--yes"]);
    wait_for(LIMIT, "throttles gone", || {
        (show(&bed) == nothing()).then_some(())
    });
    bed.text(&["topics", "delete", "later", "--yes"]);
}

#[test]
fn the_file_of_kafkas_own_tool_is_run_as_it_is() {
    let bed = bed();
    let _tidy = Tidy(&bed);
    bed.text(&["topics", "create", "theirs", "--assignment", "1:2,2:3"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs.json");
    let now = json!({"version": 1, "partitions": [
        {"topic": "theirs", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]},
    ]});
    let then = json!({"version": 1, "partitions": [
        {"topic": "theirs", "partition": 0, "replicas": [3, 2], "log_dirs": ["any", "any"]},
    ]});
    // As `--generate` prints it.
    let printed = format!(
        "Current partition replica assignment\n{now}\n\nProposed partition reassignment configuration\n{then}\n"
    );
    std::fs::write(&path, printed).unwrap();
    let path = path.display().to_string();
    bed.text(&["reassign", "run", "--plan", &path, "--watch", "--yes"]);
    assert_eq!(replicas(&bed, "theirs"), [[3, 2], [2, 3]]);
    std::fs::write(&path, then.to_string().replace("[3,2]", "[7,2]")).unwrap();
    let (code, said) = bed.refused(&["reassign", "run", "--plan", &path, "--yes"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("broker 7"), "{said}");
    bed.text(&["topics", "delete", "theirs", "--yes"]);
}
