//! insert, update, delete, findAndModify.

use super::rig::Rig;
use crate::bson::{Doc, Value, document, kind};
use crate::database::Limits;
use crate::database::request::check_types;

#[test]
fn ids_come_first_and_are_no_arrays() {
    let mut rig = Rig::new();
    rig.says(
        "{insert: 'c', documents: [{a: 2, _id: 7}]}",
        "{ n: 1, ok: 1.0 }",
    );
    assert_eq!(rig.batch("{find: 'c'}"), ["{ _id: 7, a: 2 }"]);
    for document in ["{a: 1}", "{_id: [1]}"] {
        rig.says(
            &format!("{{insert: 'c', documents: [{document}]}}"),
            "{ n: 0, writeErrors: [ { index: 0, code: 53, errmsg: \"a document needs an '_id' that is no array; drivers add it\" } ], ok: 1.0 }",
        );
    }
}

#[test]
fn types_that_cannot_be_compared_are_refused_at_every_depth() {
    let other = Value::Other {
        kind: kind::DECIMAL128,
        bytes: &[0; 16],
    };
    let mut out = Vec::new();
    document(&mut out, |w| {
        w.i32("_id", 1).array("list", |list| {
            list.doc(|w| {
                w.value("d", other);
            });
        });
    });
    let doc = Doc::check(&out).unwrap();
    let refused = check_types(Value::Document(doc)).unwrap_err();
    assert!(refused.message.contains("BSON type 0x13"), "{refused:?}");
    assert!(check_types(Value::Document(Doc::EMPTY)).is_ok());
}

#[test]
fn a_key_that_is_taken_is_refused_and_ends_ordered_writes_alone() {
    let mut rig = Rig::with(&["{_id: 1}"]);
    let error = "code: 11000, keyPattern: { _id: 1 }, keyValue: { _id: 1 }, errmsg: \"E11000 duplicate key error collection: d.c index: _id_ dup key: { _id: 1 }\"";
    rig.says(
        "{insert: 'c', documents: [{_id: 2}, {_id: 1}, {_id: 3}]}",
        &format!("{{ n: 1, writeErrors: [ {{ index: 1, {error} }} ], ok: 1.0 }}"),
    );
    rig.says(
        "{insert: 'c', documents: [{_id: 4}, {_id: 1}, {_id: 5}], ordered: false}",
        &format!("{{ n: 2, writeErrors: [ {{ index: 1, {error} }} ], ok: 1.0 }}"),
    );
    assert_eq!(rig.ids("{}"), [1, 2, 4, 5]);
}

/// Applies an update to one document and shows what becomes of it.
fn updated(document: &str, update: &str) -> String {
    let mut rig = Rig::with(&[document]);
    let answer = rig.shown(&format!(
        "{{update: 'c', updates: [{{q: {{_id: 1}}, u: {update}}}]}}"
    ));
    assert!(
        answer.starts_with("{ n: 1, nModified: "),
        "{update}: {answer}"
    );
    rig.batch("{find: 'c'}").remove(0)
}

#[test]
fn operators_change_what_they_name() {
    let before = "{_id: 1, n: 5, s: 'x', in: {a: 1}}";
    let rest = "s: \"x\", in: { a: 1 }";
    let cases = [
        ("{$set: {n: 6}}", format!("n: 6, {rest}")),
        ("{$set: {n: 5}}", format!("n: 5, {rest}")),
        ("{$set: {_id: 1, n: [7]}}", format!("n: [ 7 ], {rest}")),
        (
            "{$set: {in: {b: 2}, t: 'y'}}",
            "n: 5, s: \"x\", in: { b: 2 }, t: \"y\"".to_owned(),
        ),
        ("{$inc: {n: 2}}", format!("n: 7, {rest}")),
        ("{$inc: {n: -2.5}}", format!("n: 2.5, {rest}")),
        ("{$inc: {n: 2147483647}}", format!("n: 2147483652, {rest}")),
        ("{$inc: {k: 1L}}", format!("n: 5, {rest}, k: 1")),
        (
            "{$inc: {n: 1}, $set: {s: 'y'}}",
            "n: 6, s: \"y\", in: { a: 1 }".to_owned(),
        ),
    ];
    for (update, after) in cases {
        assert_eq!(
            updated(before, update),
            format!("{{ _id: 1, {after} }}"),
            "{update}"
        );
    }
}

#[test]
fn updates_that_cannot_be_are_refused_by_their_code() {
    let mut rig = Rig::with(&["{_id: 1, s: 'x'}"]);
    let cases = [
        ("{$inc: {s: 1}}", 14),
        ("{$inc: {n: 'x'}}", 14),
        ("{$set: {_id: 2}}", 66),
        ("{$set: {a: 1}, $inc: {a: 1}}", 40),
        ("{$set: {'': 1}}", 56),
        ("{$set: {$a: 1}}", 52),
        ("{$set: {'a.b': 1}}", 238),
        ("{$push: {a: 1}}", 9),
        ("{$unset: {s: 1}}", 9),
        ("{$set: 1}", 9),
        ("{a: 1}", 238),
        ("{}", 238),
        ("[{$set: {a: 1}}]", 238),
        ("1", 9),
        ("{$inc: {n: 9223372036854775807L}}", 0),
        ("{$inc: {n: 1}}", 2),
    ];
    for (update, code) in cases {
        let answer = rig.shown(&format!(
            "{{update: 'c', updates: [{{q: {{}}, u: {update}}}]}}"
        ));
        if code == 0 {
            assert!(!answer.contains("writeErrors"), "{update}: {answer}");
        } else {
            assert!(
                answer.contains(&format!("index: 0, code: {code},")),
                "{update}: {answer}"
            );
        }
    }
    assert_eq!(
        rig.batch("{find: 'c'}"),
        ["{ _id: 1, s: \"x\", n: 9223372036854775807 }"]
    );
}

#[test]
fn updates_count_what_matched_and_what_changed() {
    let mut rig = Rig::with(&["{_id: 1, n: 1}", "{_id: 2, n: 2}", "{_id: 3, n: 2}"]);
    rig.says(
        "{update: 'c', updates: [{q: {n: 2}, u: {$set: {n: 1}}}]}",
        "{ n: 1, nModified: 1, ok: 1.0 }",
    );
    rig.says(
        "{update: 'c', updates: [{q: {}, u: {$set: {n: 1}}, multi: true}]}",
        "{ n: 3, nModified: 1, ok: 1.0 }",
    );
    rig.says(
        "{update: 'c', updates: [{q: {_id: 9}, u: {$set: {n: 1}}, upsert: false}]}",
        "{ n: 0, nModified: 0, ok: 1.0 }",
    );
    let upsert = "{update: 'c', updates: [{q: {_id: 9}, u: {$set: {n: 1}}, upsert: true}]}";
    let answer = rig.shown(upsert);
    assert!(
        answer.contains("code: 238,") && answer.contains("upsert"),
        "{answer}"
    );
}

#[test]
fn deletes_take_one_or_all() {
    let mut rig = Rig::with(&[
        "{_id: 1, a: 1}",
        "{_id: 2, a: 1}",
        "{_id: 3, a: 2}",
        "{_id: 4, a: 1}",
    ]);
    rig.says(
        "{delete: 'c', deletes: [{q: {a: 1}, limit: 1}]}",
        "{ n: 1, ok: 1.0 }",
    );
    rig.says(
        "{delete: 'c', deletes: [{q: {a: 1}, limit: 0}, {q: {_id: 9}, limit: 0}]}",
        "{ n: 2, ok: 1.0 }",
    );
    assert_eq!(rig.ids("{}"), [3]);
    let answer = rig.shown("{delete: 'c', deletes: [{q: {}, limit: 5}]}");
    assert!(answer.contains("code: 9,"), "{answer}");
    // Without a filter nothing is deleted.
    let answer = rig.shown("{delete: 'c', deletes: [{limit: 0}]}");
    assert!(answer.contains("code: 40414,"), "{answer}");
    rig.fails("{delete: 'c', deletes: []}", 72);
    rig.fails("{delete: 'c'}", 40414);
    assert_eq!(rig.ids("{}"), [3]);
}

#[test]
fn find_and_modify_gives_the_document_before_or_after() {
    let mut rig = Rig::with(&["{_id: 1, n: 1}", "{_id: 2, n: 2}"]);
    rig.says(
        "{findAndModify: 'c', query: {n: 2}, update: {$inc: {n: 10}}}",
        "{ lastErrorObject: { n: 1, updatedExisting: true }, value: { _id: 2, n: 2 }, ok: 1.0 }",
    );
    for _ in 0..2 {
        // The second time it is unchanged.
        rig.says(
            "{findAndModify: 'c', query: {_id: 2}, update: {$set: {n: 13}}, new: true}",
            "{ lastErrorObject: { n: 1, updatedExisting: true }, value: { _id: 2, n: 13 }, ok: 1.0 }",
        );
    }
    rig.says(
        "{findAndModify: 'c', query: {_id: 9}, update: {$inc: {n: 1}}, new: true}",
        "{ lastErrorObject: { n: 0, updatedExisting: false }, value: null, ok: 1.0 }",
    );
    rig.says(
        "{findAndModify: 'c', query: {_id: 1, n: 1}, remove: true}",
        "{ lastErrorObject: { n: 1 }, value: { _id: 1, n: 1 }, ok: 1.0 }",
    );
    rig.says(
        "{findAndModify: 'c', query: {_id: 1}, remove: true}",
        "{ lastErrorObject: { n: 0 }, value: null, ok: 1.0 }",
    );
    rig.fails("{findAndModify: 'c', query: {}}", 9);
    rig.fails(
        "{findAndModify: 'c', remove: true, update: {$set: {a: 1}}}",
        9,
    );
    for option in ["upsert: true", "sort: {n: 1}", "fields: {n: 1}"] {
        let command =
            format!("{{findAndModify: 'c', query: {{}}, update: {{$inc: {{n: 1}}}}, {option}}}");
        rig.fails(&command, 238);
    }
}

#[test]
fn a_full_database_refuses_more_and_takes_again_after_a_delete() {
    let limits = Limits {
        bytes_max: 2000,
        collections_max: 2,
        ..Limits::default()
    };
    let mut rig = Rig::limited(limits);
    let text = "x".repeat(1000);
    let one = |id| format!("{{insert: 'c', documents: [{{_id: {id}, text: '{text}'}}]}}");
    rig.says(&one(1), "{ n: 1, ok: 1.0 }");
    let full = rig.shown(&one(2));
    assert!(full.contains("code: 14031,"), "{full}");
    rig.run("{delete: 'c', deletes: [{q: {}, limit: 0}]}");
    assert_eq!(rig.database.bytes, 0);
    rig.says(&one(2), "{ n: 1, ok: 1.0 }");
    let index = |name: &str| {
        format!("{{createIndexes: '{name}', indexes: [{{key: {{a: 1}}, name: 'a'}}]}}")
    };
    rig.run(&index("second"));
    rig.fails(&index("third"), 14031);
}
