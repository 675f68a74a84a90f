//! The newest records of a topic with transactions, which kcat writes.

use std::io::Write;

use serde_json::Value;
use tare_test_cluster::Cluster;

use crate::kafka::{AT, cluster, create, kcat, kcat_child, server};

/// How kcat writes in a transaction, which it commits at the end of its input.
const WRITE: [&str; 5] = ["-P", "-t", "paid", "-X", "transactional.id=payments"];

/// Begins a transaction, and kills who has begun it. kcat reads its input in blocks: there are enough records for one.
fn leave_open(cluster: &Cluster, is_written: impl Fn()) {
    let mut child = kcat_child(cluster, &WRITE);
    let mut input = child.stdin.take().unwrap();
    let records = "left open\n".repeat(10_000);
    input.write_all(records.as_bytes()).unwrap();
    input.flush().unwrap();
    is_written();
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn markers_and_aborted_records_are_told_among_the_newest() {
    let cluster = cluster();
    let (_place, server) = server(&cluster);
    create(&server, "paid", 1);
    for number in 0..6 {
        kcat(&cluster, &WRITE, &format!("value {number}\n"));
    }
    let path = format!("{AT}/topics/paid");
    let end = |topic: &Value| topic["live"]["partitions"][0]["end"].as_i64();
    server.until(&path, |topic| end(topic) == Some(12));
    let records = |count: usize| server.get(&format!("{path}/records?count={count}"));
    let states = |page: &Value| -> Vec<(i64, Value)> {
        let rows = page["records"].as_array().unwrap().iter();
        rows.map(|row| (row["offset"].as_i64().unwrap(), row["transaction"].clone()))
            .collect()
    };
    let page = records(4);
    assert_eq!(
        states(&page),
        [(10, "committed".into()), (8, "committed".into())]
    );
    let note = page["notes"][0].as_str().unwrap();
    assert!(note.contains("2 records are shown"), "{note}");
    assert!(note.contains("2 are transaction markers"), "{note}");
    // All that there is: nothing is missing.
    let page = records(20);
    assert_eq!(
        (states(&page).len(), page["notes"].as_array().unwrap().len()),
        (6, 0)
    );

    leave_open(&cluster, || {
        server.until(&path, |topic| end(topic) > Some(12));
        assert_eq!(states(&records(1))[0].1, "open");
    });
    // The next producer with this id ends what was left open: its mark, the new record and its mark are the newest.
    kcat(&cluster, &WRITE, "last\n");
    let page = server.until(&format!("{path}/records?count=5"), |page| {
        page["records"][0]["transaction"] == "committed"
    });
    let states: Vec<Value> = states(&page).into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, ["committed", "aborted", "aborted"]);
    server.ask("DELETE", &path, None);
}
