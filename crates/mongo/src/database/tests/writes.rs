//! insert, update, delete, findAndModify.

use super::rig::Rig;
use crate::database::Limits;

#[test]
fn documents_without_id_get_one_in_front() {
    let mut rig = Rig::new();
    rig.says(
        "{insert: 'c', documents: [{a: 1}, {a: 2, _id: 7}]}",
        "{ n: 2, ok: 1.0 }",
    );
    let rows = rig.batch("{find: 'c'}");
    assert!(rows[0].starts_with("{ _id: ObjectId('6553f100"), "{rows:?}");
    assert_eq!(rows[1], "{ _id: 7, a: 2 }");
    rig.says(
        "{insert: 'c', documents: [{_id: [1]}]}",
        "{ n: 0, writeErrors: [ { index: 0, code: 53, errmsg: \"The '_id' value cannot be an array, a regular expression or undefined\" } ], ok: 1.0 }",
    );
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
    assert_eq!(rig.ids(""), [1, 2, 4, 5]);
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
    let before = "{_id: 1, n: 5, s: 'x', list: [1, 2], in: {a: 1, b: 2}}";
    let rest = "s: \"x\", list: [ 1, 2 ], in: { a: 1, b: 2 }";
    let cases = [
        ("{$set: {n: 6}}", format!("n: 6, {rest}")),
        ("{$set: {n: 5}}", format!("n: 5, {rest}")),
        ("{$inc: {n: 2}}", format!("n: 7, {rest}")),
        ("{$inc: {n: -2.5}}", format!("n: 2.5, {rest}")),
        ("{$inc: {n: 2147483647}}", format!("n: 2147483652, {rest}")),
        ("{$mul: {n: 3}}", format!("n: 15, {rest}")),
        (
            "{$min: {n: 3}, $max: {s: 'y'}}",
            format!("n: 3, {}", rest.replace("\"x\"", "\"y\"")),
        ),
        ("{$unset: {n: ''}}", rest.to_owned()),
        ("{$unset: {'no.such': 1}}", format!("n: 5, {rest}")),
        ("{$inc: {k: 1}}", format!("n: 5, {rest}, k: 1")),
        (
            "{$set: {'in.c.d': 1}}",
            format!("n: 5, {}", rest.replace("b: 2", "b: 2, c: { d: 1 }")),
        ),
        (
            "{$set: {'list.3': 9}}",
            format!("n: 5, {}", rest.replace("1, 2 ]", "1, 2, null, 9 ]")),
        ),
        (
            "{$push: {list: 2}}",
            format!("n: 5, {}", rest.replace("1, 2 ]", "1, 2, 2 ]")),
        ),
        (
            "{$push: {list: {$each: [3, 4]}}}",
            format!("n: 5, {}", rest.replace("1, 2 ]", "1, 2, 3, 4 ]")),
        ),
        ("{$push: {fresh: 1}}", format!("n: 5, {rest}, fresh: [ 1 ]")),
        (
            "{$addToSet: {list: {$each: [2, 3]}}}",
            format!("n: 5, {}", rest.replace("1, 2 ]", "1, 2, 3 ]")),
        ),
        (
            "{$pull: {list: 1}}",
            format!("n: 5, {}", rest.replace("1, 2 ]", "2 ]")),
        ),
        ("{$setOnInsert: {n: 9}}", format!("n: 5, {rest}")),
        (
            "{$currentDate: {n: true}}",
            format!("n: new Date(1700000000000), {rest}"),
        ),
        ("{other: 1}", "other: 1".to_owned()),
        ("{_id: 1, other: 1}", "other: 1".to_owned()),
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
    let mut rig = Rig::with(&["{_id: 1, s: 'x', list: [1]}"]);
    let cases = [
        ("{$inc: {s: 1}}", 14),
        ("{$set: {_id: 2}}", 66),
        ("{_id: 2}", 66),
        ("{$unset: {_id: 1}}", 66),
        ("{$push: {s: 1}}", 2),
        ("{$set: {'s.t': 1}}", 28),
        ("{$set: {a: 1}, $inc: {a: 1}}", 40),
        ("{$set: {a: 1, 'a.b': 1}}", 40),
        ("{$set: {'a..b': 1}}", 56),
        ("{$set: {'list.$': 1}}", 238),
        ("{$set: {'a.$b': 1}}", 52),
        ("{$frobnicate: {a: 1}}", 9),
        ("{$set: 1}", 9),
        ("{a: 1, $set: {b: 1}}", 52),
        ("[{$set: {a: 1}}]", 238),
        ("{$inc: {n: 9223372036854775807L}, $mul: {m: 1}}", 0),
        ("{$inc: {n: 9223372036854775807L}}", 2),
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
        ["{ _id: 1, s: \"x\", list: [ 1 ], n: 9223372036854775807, m: 0 }"]
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
        "{update: 'c', updates: [{q: {_id: 9}, u: {$set: {n: 1}}}]}",
        "{ n: 0, nModified: 0, ok: 1.0 }",
    );
    let answer = rig.shown("{update: 'c', updates: [{q: {}, u: {n: 1}, multi: true}]}");
    assert!(answer.contains("code: 9,"), "{answer}");
}

#[test]
fn an_upsert_makes_a_document_of_filter_and_update() {
    let mut rig = Rig::new();
    rig.says(
        "{update: 'c', updates: [{q: {_id: 7, a: {$gt: 1}, 'b.c': 2}, u: {$set: {d: 3}, $setOnInsert: {e: 4}}, upsert: true}]}",
        "{ n: 1, nModified: 0, upserted: [ { index: 0, _id: 7 } ], ok: 1.0 }",
    );
    assert_eq!(
        rig.batch("{find: 'c'}"),
        ["{ _id: 7, b: { c: 2 }, d: 3, e: 4 }"]
    );
    rig.says(
        "{update: 'c', updates: [{q: {_id: 8, x: 1}, u: {y: 2}, upsert: true}]}",
        "{ n: 1, nModified: 0, upserted: [ { index: 0, _id: 8 } ], ok: 1.0 }",
    );
    assert_eq!(
        rig.batch("{find: 'c', filter: {_id: 8}}"),
        ["{ _id: 8, y: 2 }"]
    );
    let made = rig.shown("{update: 'c', updates: [{q: {k: 1}, u: {$inc: {n: 1}}, upsert: true}]}");
    assert!(made.contains("_id: ObjectId("), "{made}");
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
    assert_eq!(rig.ids(""), [3]);
    let answer = rig.shown("{delete: 'c', deletes: [{q: {}, limit: 5}]}");
    assert!(answer.contains("code: 9,"), "{answer}");
    rig.fails("{delete: 'c', deletes: []}", 72);
    rig.fails("{delete: 'c'}", 40414);
}

#[test]
fn find_and_modify_gives_the_document_before_or_after() {
    let mut rig = Rig::with(&["{_id: 1, n: 1}", "{_id: 2, n: 2}"]);
    rig.says(
        "{findAndModify: 'c', query: {}, sort: {n: -1}, update: {$inc: {n: 10}}}",
        "{ lastErrorObject: { n: 1, updatedExisting: true }, value: { _id: 2, n: 2 }, ok: 1.0 }",
    );
    rig.says(
        "{findAndModify: 'c', query: {_id: 2}, update: {$inc: {n: 1}}, new: true, fields: {_id: 0}}",
        "{ lastErrorObject: { n: 1, updatedExisting: true }, value: { n: 13 }, ok: 1.0 }",
    );
    rig.says(
        "{findAndModify: 'c', query: {_id: 9}, update: {$inc: {n: 1}}}",
        "{ lastErrorObject: { n: 0, updatedExisting: false }, value: null, ok: 1.0 }",
    );
    rig.says(
        "{findAndModify: 'c', query: {_id: 9}, update: {$inc: {n: 1}}, upsert: true, new: true}",
        "{ lastErrorObject: { n: 1, updatedExisting: false, upserted: 9 }, value: { _id: 9, n: 1 }, ok: 1.0 }",
    );
    rig.says(
        "{findandmodify: 'c', query: {_id: 9}, remove: true}",
        "{ lastErrorObject: { n: 1 }, value: { _id: 9, n: 1 }, ok: 1.0 }",
    );
    rig.fails("{findAndModify: 'c', query: {}}", 9);
    rig.fails("{findAndModify: 'c', remove: true, update: {a: 1}}", 9);
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
    rig.says(&one(2), "{ n: 1, ok: 1.0 }");
    rig.run("{create: 'second'}");
    rig.fails("{create: 'third'}", 14031);
    rig.run("{drop: 'c'}");
    rig.says("{create: 'third'}", "{ ok: 1.0 }");
    assert_eq!(rig.database.bytes, 0);
}
