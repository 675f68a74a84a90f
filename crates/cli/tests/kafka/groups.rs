//! Consumer groups: offsets set, lag counted, deleted.

use serde_json::json;

use crate::bed::{assert_narrow, bed};

#[test]
fn a_group_is_set_counted_moved_and_deleted() {
    let bed = bed();
    bed.text(&["topics", "create", "read", "-p", "2", "-r", "3"]);
    bed.produce("read", 0, 3);
    let words = [
        "groups",
        "reset",
        "readers",
        "--topic",
        "read",
        "--to-earliest",
    ];
    // A mistyped name makes no group, whatever --yes says.
    let (code, said) = bed.refused(&[&words[..], &["--yes"]].concat());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--new-group"), "{said}");
    let listed = bed.json(&["groups", "list"]);
    let mut groups = listed.as_array().unwrap().iter();
    assert!(groups.all(|group| group["name"] != "readers"), "{listed}");
    let to_start = bed.json(&[&words[..], &["--new-group"]].concat());
    assert_eq!(to_start[0]["to"], 0);
    let lag = &bed.json(&["groups", "lag", "readers"])[0];
    assert_eq!(lag["lag"], 300);
    assert_eq!(lag["partitions"][0]["end"], 300);
    assert_eq!(lag["partitions"][1]["lag"], 0);
    let text = bed.text(&["groups", "lag"]);
    assert!(text.contains("readers") && text.contains("300"), "{text}");
    assert_narrow(&text);

    let on = bed.json(&["groups", "reset", "readers", "--shift-by", "120"]);
    assert_eq!(
        (&on[0]["from"], &on[0]["to"]),
        (&json!(0), &json!(120)),
        "{on}"
    );
    // Beyond the end is the end; a dry run changes nothing.
    let dry = bed.json(&[
        "groups",
        "reset",
        "readers",
        "--to-offset",
        "9999",
        "--dry-run",
    ]);
    assert_eq!(dry[0]["to"], 300);
    assert_eq!(bed.json(&["groups", "lag", "readers"])[0]["lag"], 180);
    // Records carry the time of today: later there is nothing, and that is the end.
    let words = [
        "groups",
        "reset",
        "readers",
        "--to-time",
        "2023-01-01T00:00:00Z",
    ];
    assert_eq!(bed.json(&words)[0]["to"], 0);
    let words = [
        "groups",
        "reset",
        "readers",
        "--to-time",
        "2100-01-01T00:00:00Z",
    ];
    let late = bed.json(&words);
    assert_eq!(
        (&late[0]["to"], &late[0]["limit"]),
        (&json!(300), &json!("no-later-record"))
    );
    let text = bed.text(&[&words[..], &["--dry-run"]].concat());
    assert!(text.contains("no record at or after that time"), "{text}");

    let listed = bed.json(&["groups", "list"]);
    let mut groups = listed.as_array().unwrap().iter();
    let ours = groups.find(|group| group["name"] == "readers").unwrap();
    assert_eq!(ours["state"], "Empty");
    let described = &bed.json(&["groups", "describe", "readers"])[0];
    assert_eq!(described["members"], json!([]));
    let (code, words) = bed.refused(&["groups", "delete", "readers"]);
    assert_eq!(code, Some(2), "{words}");
    bed.text(&["groups", "delete", "readers", "--yes"]);
    let (code, words) = bed.refused(&["groups", "describe", "readers"]);
    assert_eq!(code, Some(2), "{words}");
    bed.text(&["topics", "delete", "read", "--yes"]);
}
