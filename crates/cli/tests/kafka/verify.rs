//! Replicas compared: the same, and one that was changed on its disk.

use std::io::{Read, Seek, SeekFrom, Write};

use serde_json::json;

use crate::bed::{Bed, assert_narrow, bed};
use crate::rig::{finish, stdout};

/// Where a broker keeps the first segment of a partition.
fn segment(bed: &Bed, broker: i64, partition: &str) -> std::path::PathBuf {
    let dirs = bed.json(&["log-dirs", "--brokers", &broker.to_string()]);
    let path = dirs[0]["path"].as_str().unwrap();
    std::path::Path::new(path)
        .join(partition)
        .join("00000000000000000000.log")
}

#[test]
fn equal_replicas_are_the_same_and_a_flipped_bit_is_found() {
    let bed = bed();
    bed.text(&["topics", "create", "equal", "--assignment", "1:2:3"]);
    bed.produce("equal", 0, 20);
    let views = bed.json(&["verify", "equal"]);
    let view = &views[0];
    assert_eq!(view["result"], "identical", "{view}");
    assert_eq!(view["replicas"].as_array().unwrap().len(), 3);
    // Followers hear of the end with their next fetch, which is waited for.
    assert_eq!(
        (&view["batches"], &view["records"]),
        (&json!(20), &json!(2000)),
        "{view}"
    );
    assert_eq!(view["notes"], json!([]), "{view}");
    assert_narrow(&bed.text(&["verify", "equal"]));

    // In the fifth batch of a follower, in the middle of a value.
    let path = segment(&bed, 3, "equal-0");
    let mut file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let length = file.metadata().unwrap().len();
    let at = length / 20 * 4 + length / 40;
    let mut byte = [0];
    file.seek(SeekFrom::Start(at)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[byte[0] ^ 1]).unwrap();
    drop(file);

    let at = bed.at("plain");
    let words = ["verify", "equal", "--bootstrap", &at, "--json"];
    let output = finish(&mut bed.command(&words), crate::bed::LIMIT);
    assert_eq!(output.status.code(), Some(1));
    let views: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(views[0]["result"], "different", "{views}");
    let corrupt: Vec<i64> = views[0]["replicas"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["corrupt"].as_i64().unwrap())
        .collect();
    assert_eq!(corrupt, [0, 0, 1]);
    let output = finish(&mut bed.command(&words[..4]), crate::bed::LIMIT);
    let text = stdout(&output);
    assert!(
        text.contains("broker 3 has 1 batch with a wrong checksum"),
        "{text}"
    );
    bed.text(&["topics", "delete", "equal", "--yes"]);
}
