//! Indexes: that they are used, that they are right, and what they refuse.

use proptest::prelude::*;

use super::rig::Rig;

#[test]
fn a_filter_looks_only_at_what_the_best_index_gives() {
    let mut rig = Rig::new();
    for id in 0..200 {
        let (route, day) = (id % 20, id / 20);
        rig.run(&format!(
            "{{insert: 'c', documents: [{{_id: {id}, route: 'AA{route}', day: {day}, price: {}}}]}}",
            id * 7 % 50
        ));
    }
    assert_eq!(rig.candidates("{route: 'AA3', day: 2}"), 200);
    rig.says(
        "{createIndexes: 'c', indexes: [{key: {route: 1, day: 1}, name: 'route_day'}, {key: {price: -1}, name: 'price'}]}",
        "{ numIndexesBefore: 1, numIndexesAfter: 3, createdCollectionAutomatically: false, ok: 1.0 }",
    );
    for (filter, candidates) in [
        ("{_id: 5}", 1),
        ("{_id: 5.0}", 1),
        ("{_id: 900}", 0),
        ("{route: 'AA3', day: 2}", 1),
        ("{day: 2, route: 'AA3'}", 1),
        ("{price: 47, day: 2, route: 'AA3'}", 1),
        ("{route: 'AA3'}", 10),
        ("{price: 47}", 4),
        // Of equals the oldest index: that of _id.
        ("{price: 47, _id: 5}", 1),
        ("{day: 3}", 200),
        ("{}", 200),
    ] {
        assert_eq!(rig.candidates(filter), candidates, "{filter}");
    }
}

#[test]
fn unique_indexes_hold_for_inserts_updates_and_what_was_there() {
    let mut rig = Rig::with(&[
        "{_id: 1, mail: 'a'}",
        "{_id: 2, mail: 'b'}",
        "{_id: 3, mail: 'b'}",
    ]);
    let unique = "{createIndexes: 'c', indexes: [{key: {mail: 1}, name: 'mail_1', unique: true}]}";
    let message = rig.fails(unique, 11000);
    assert_eq!(
        message,
        "E11000 duplicate key error collection: d.c index: mail_1 dup key: { mail: \"b\" }"
    );
    rig.run("{delete: 'c', deletes: [{q: {_id: 3}, limit: 1}]}");
    assert!(rig.shown(unique).contains("numIndexesAfter: 2"));
    assert!(
        rig.shown(unique)
            .contains("note: \"all indexes already exist\"")
    );
    for write in [
        "{insert: 'c', documents: [{_id: 4, mail: 'a'}]}",
        "{update: 'c', updates: [{q: {_id: 1}, u: {$set: {mail: 'b'}}}]}",
    ] {
        let answer = rig.shown(write);
        assert!(answer.contains("code: 11000"), "{write}: {answer}");
    }
    assert_eq!(rig.ids("{}"), [1, 2]);
    rig.says(
        "{update: 'c', updates: [{q: {_id: 1}, u: {$set: {mail: 'a', x: 1}}}]}",
        "{ n: 1, nModified: 1, ok: 1.0 }",
    );
    // What is missing is null, once.
    rig.says("{insert: 'c', documents: [{_id: 5}]}", "{ n: 1, ok: 1.0 }");
    let answer = rig.shown("{insert: 'c', documents: [{_id: 6}]}");
    assert!(answer.contains("code: 11000"), "{answer}");
}

#[test]
fn indexes_that_are_not_served_are_refused() {
    let mut rig = Rig::with(&["{_id: 1, a: 1, list: [1, 2]}"]);
    let create = |spec: &str| format!("{{createIndexes: 'c', indexes: [{spec}]}}");
    for (spec, code) in [
        ("{key: {a: 'text'}, name: 'x'}", 67),
        ("{key: {a: 2}, name: 'x'}", 67),
        ("{key: {}, name: 'x'}", 67),
        ("{key: {'$**': 1}, name: 'x'}", 67),
        ("{key: {'a.b': 1}, name: 'x'}", 67),
        ("{key: {a: 1}}", 40414),
        ("{key: {a: 1}, name: 'x', expireAfterSeconds: 0}", 238),
        ("{key: {a: 1}, name: 'x', sparse: true}", 238),
        (
            "{key: {a: 1}, name: 'x', partialFilterExpression: {a: 1}}",
            238,
        ),
        ("{key: {list: 1}, name: 'x'}", 238),
    ] {
        rig.fails(&create(spec), code);
    }
    rig.run(&create("{key: {a: 1}, name: 'x'}"));
    rig.says(
        &create("{key: {a: 1.0}, name: 'x'}"),
        "{ numIndexesBefore: 2, numIndexesAfter: 2, createdCollectionAutomatically: false, \
         note: \"all indexes already exist\", ok: 1.0 }",
    );
    rig.fails(&create("{key: {b: 1}, name: 'x'}"), 86);
    rig.fails(&create("{key: {a: 1}, name: 'y', unique: true}"), 85);
    // An index of MongoDB would have a key for each item.
    for write in [
        "{insert: 'c', documents: [{_id: 2, a: [1]}]}",
        "{update: 'c', updates: [{q: {_id: 1}, u: {$set: {a: []}}}]}",
    ] {
        let answer = rig.shown(write);
        assert!(answer.contains("code: 238"), "{write}: {answer}");
    }
    assert_eq!(rig.ids("{a: 1}"), [1]);
}

#[test]
fn the_memory_of_indexes_is_counted_and_given_back() {
    let mut rig = Rig::new();
    rig.run("{createIndexes: 'c', indexes: [{key: {a: 1, b: -1}, name: 'x'}]}");
    let empty = rig.database.bytes;
    // The name, and a document of two fields.
    assert_eq!(empty, 1 + 5 + 2 * 7);
    rig.run("{insert: 'c', documents: [{_id: 1, a: 'x'}, {_id: 2, a: 'y'}]}");
    rig.run("{update: 'c', updates: [{q: {_id: 2}, u: {$set: {a: 'longer', b: 1}}}]}");
    assert!(rig.database.bytes > empty);
    rig.run("{delete: 'c', deletes: [{q: {}, limit: 0}]}");
    assert_eq!(rig.database.bytes, empty);
}

fn any_field() -> impl Strategy<Value = String> {
    prop_oneof![
        (0_i32..6).prop_map(|number| number.to_string()),
        (0_i32..6).prop_map(|number| format!("{number}.5")),
        prop::sample::select(vec!["null", "'a'", "'b'", "true", "{x: 1}", "{x: 1.0}"])
            .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The same documents with and without indexes give the same answers, whatever is asked and changed.
    #[test]
    fn an_index_changes_no_answer(
        rows in prop::collection::vec((any_field(), any_field()), 1..12),
        (one, other) in (any_field(), any_field()),
        changed in any_field(),
    ) {
        let mut plain = Rig::new();
        let mut indexed = Rig::new();
        indexed.run("{createIndexes: 'c', indexes: [{key: {a: 1}, name: 'a'}, {key: {k: -1, a: 1}, name: 'ka'}]}");
        for (id, (a, b)) in rows.iter().enumerate() {
            let row = format!("{{insert: 'c', documents: [{{_id: {id}, a: {a}, b: [{b}], k: {}}}]}}", id % 3);
            plain.run(&row);
            indexed.run(&row);
        }
        let change = format!("{{update: 'c', updates: [{{q: {{k: 0, a: {one}}}, u: {{$set: {{a: {changed}}}}}, multi: true}}]}}");
        prop_assert_eq!(plain.shown(&change), indexed.shown(&change));
        for filter in [
            format!("{{a: {one}}}"),
            format!("{{a: {one}, k: 1}}"),
            "{k: 1}".to_owned(),
            format!("{{a: {one}, b: {other}}}"),
            format!("{{_id: 2, a: {changed}}}"),
            format!("{{a: {one}, missing: null}}"),
        ] {
            let (mut found, mut by_index) = (plain.ids(&filter), indexed.ids(&filter));
            found.sort_unstable();
            by_index.sort_unstable();
            prop_assert_eq!(found, by_index, "{}", filter);
        }
    }
}
