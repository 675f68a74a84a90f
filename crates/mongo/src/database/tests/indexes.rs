//! Indexes: that they are used, that they are right, and what they refuse.

use proptest::prelude::*;

use super::rig::Rig;

fn flights() -> Rig {
    let mut rig = Rig::new();
    for id in 0..200 {
        let (route, day) = (id % 20, id / 20);
        rig.run(&format!(
            "{{insert: 'c', documents: [{{_id: {id}, route: 'AA{route}', day: {day}, price: {}}}]}}",
            id * 7 % 50
        ));
    }
    rig
}

#[test]
fn equality_and_ranges_look_only_at_what_they_need() {
    let mut rig = flights();
    assert_eq!(
        rig.explained("filter: {route: 'AA3', day: 2}"),
        (None, 0, 200)
    );
    rig.says(
        "{createIndexes: 'c', indexes: [{key: {route: 1, day: 1}, name: 'route_day'}, {key: {price: -1}, name: 'price'}]}",
        "{ numIndexesBefore: 1, numIndexesAfter: 3, createdCollectionAutomatically: false, ok: 1.0 }",
    );
    let by = |name: &str, keys, docs| (Some(name.to_owned()), keys, docs);
    let cases = [
        ("filter: {_id: 5}", by("_id_", 1, 1)),
        ("filter: {_id: {$in: [5, 6, 900]}}", by("_id_", 2, 2)),
        ("filter: {_id: {$gte: 190}}", by("_id_", 10, 10)),
        ("filter: {route: 'AA3', day: 2}", by("route_day", 1, 1)),
        ("filter: {day: 2, route: 'AA3'}", by("route_day", 1, 1)),
        (
            "filter: {$and: [{route: 'AA3'}, {day: {$gt: 2, $lte: 4}}]}",
            by("route_day", 2, 2),
        ),
        (
            "filter: {route: {$in: ['AA3', 'AA4']}, day: {$lt: 2}}",
            by("route_day", 4, 4),
        ),
        (
            "filter: {route: 'AA3'}, sort: {day: -1}, limit: 2",
            by("route_day", 2, 2),
        ),
        ("filter: {price: {$gt: 47}}", by("price", 8, 8)),
        ("filter: {price: {$gte: 10, $lt: 12}}", by("price", 8, 8)),
        ("sort: {price: -1}, limit: 3", by("price", 3, 3)),
        ("filter: {day: 3}", (None, 0, 200)),
    ];
    for (query, expected) in cases {
        assert_eq!(rig.explained(query), expected, "{query}");
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
        "{update: 'c', updates: [{q: {mail: 'a', _id: 9}, u: {$set: {x: 1}}, upsert: true}]}",
    ] {
        let answer = rig.shown(write);
        assert!(answer.contains("code: 11000"), "{write}: {answer}");
    }
    assert_eq!(rig.ids(""), [1, 2]);
    rig.says(
        "{update: 'c', updates: [{q: {_id: 1}, u: {$set: {mail: 'a', x: 1}}}]}",
        "{ n: 1, nModified: 1, ok: 1.0 }",
    );
    // What is missing is null, once; unless the index is sparse.
    rig.says("{insert: 'c', documents: [{_id: 5}]}", "{ n: 1, ok: 1.0 }");
    assert!(
        rig.shown("{insert: 'c', documents: [{_id: 6}]}")
            .contains("code: 11000")
    );
    rig.run("{dropIndexes: 'c', index: 'mail_1'}");
    rig.run(
        "{createIndexes: 'c', indexes: [{key: {mail: 1}, name: 'm', unique: true, sparse: true}]}",
    );
    rig.says(
        "{insert: 'c', documents: [{_id: 6}, {_id: 7}]}",
        "{ n: 2, ok: 1.0 }",
    );
    assert_eq!(rig.ids("filter: {mail: null}"), [5, 6, 7]);
}

#[test]
fn indexes_are_listed_and_dropped() {
    let mut rig = Rig::new();
    rig.fails("{listIndexes: 'c'}", 26);
    rig.says(
        "{createIndexes: 'c', indexes: [{key: {a: 1}, name: 'a_1', unique: true}]}",
        "{ numIndexesBefore: 1, numIndexesAfter: 2, createdCollectionAutomatically: true, ok: 1.0 }",
    );
    assert_eq!(
        rig.batch("{listIndexes: 'c'}"),
        [
            "{ v: 2, key: { _id: 1 }, name: \"_id_\" }",
            "{ v: 2, key: { a: 1 }, name: \"a_1\", unique: true }"
        ]
    );
    rig.fails("{dropIndexes: 'c', index: '_id_'}", 72);
    rig.fails("{dropIndexes: 'c', index: 'none'}", 27);
    rig.fails("{dropIndexes: 'none', index: '*'}", 26);
    rig.says(
        "{dropIndexes: 'c', index: {a: 1}}",
        "{ nIndexesWas: 2, ok: 1.0 }",
    );
    rig.says(
        "{dropIndexes: 'c', index: '*'}",
        "{ nIndexesWas: 1, ok: 1.0 }",
    );
}

#[test]
fn indexes_that_are_not_served_are_refused() {
    let mut rig = Rig::with(&["{_id: 1, a: [1, 2], b: [1, 2]}"]);
    let create = |spec: &str| format!("{{createIndexes: 'c', indexes: [{spec}]}}");
    for (spec, code) in [
        ("{key: {a: 'text'}, name: 'x'}", 67),
        ("{key: {}, name: 'x'}", 67),
        ("{key: {'$**': 1}, name: 'x'}", 67),
        ("{key: {a: 1}}", 40414),
        ("{key: {a: 1}, name: 'x', expireAfterSeconds: 5}", 238),
        (
            "{key: {a: 1}, name: 'x', partialFilterExpression: {a: 1}}",
            238,
        ),
        ("{key: {a: 1, b: 1}, name: 'x'}", 171),
    ] {
        rig.fails(&create(spec), code);
    }
    rig.run(&create("{key: {a: 1}, name: 'x'}"));
    rig.fails(&create("{key: {b: 1}, name: 'x'}"), 86);
    rig.fails(&create("{key: {a: 1}, name: 'y', unique: true}"), 85);
}

#[test]
fn items_of_an_array_may_pass_the_ends_of_a_range_apart() {
    let mut rig = Rig::with(&[
        "{_id: 1, a: [1, 9]}",
        "{_id: 2, a: [4, 5]}",
        "{_id: 3, a: 2}",
    ]);
    for _ in 0..2 {
        assert_eq!(rig.ids("filter: {a: {$gt: 3, $lt: 4}}"), [1]);
        assert_eq!(
            rig.ids("filter: {a: {$gt: 3, $lt: 5}}, sort: {_id: 1}"),
            [1, 2]
        );
        rig.run("{createIndexes: 'c', indexes: [{key: {a: 1}, name: 'a'}]}");
    }
    // A document with two keys in the range is given once.
    assert_eq!(rig.ids("filter: {a: {$gt: 0}}, sort: {_id: 1}"), [1, 2, 3]);
}

fn any_field() -> impl Strategy<Value = String> {
    prop_oneof![
        (0_i32..6).prop_map(|number| number.to_string()),
        (0_i32..6).prop_map(|number| format!("{number}.5")),
        prop::sample::select(vec![
            "null", "'a'", "'b'", "true", "[]", "[1, 3]", "[2, 'a']", "{x: 1}"
        ])
        .prop_map(str::to_owned),
    ]
}

fn any_test() -> impl Strategy<Value = String> {
    let operator = prop::sample::select(vec!["$eq", "$gt", "$gte", "$lt", "$lte"]);
    prop_oneof![
        any_field(),
        (operator.clone(), any_field()).prop_map(|(name, value)| format!("{{{name}: {value}}}")),
        (operator.clone(), any_field(), operator, any_field())
            .prop_map(|(name, value, other, more)| format!("{{{name}: {value}, {other}: {more}}}")),
        prop::collection::vec(any_field(), 0..3)
            .prop_map(|values| format!("{{$in: [{}]}}", values.join(", "))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The same documents with and without indexes give the same answers, whatever is asked and changed.
    #[test]
    fn an_index_changes_no_answer(
        rows in prop::collection::vec((any_field(), any_field()), 1..12),
        (test, other) in (any_test(), any_test()),
        directions in (prop::bool::ANY, prop::bool::ANY, prop::bool::ANY),
        changed in any_field(),
    ) {
        let mut plain = Rig::new();
        let mut indexed = Rig::new();
        let way = |down: bool| if down { -1 } else { 1 };
        indexed.run(&format!("{{createIndexes: 'c', indexes: [{{key: {{a: {}}}, name: 'a'}}]}}", way(directions.0)));
        // Two arrays in one document cannot be in one index: b is never one there.
        let (one, two) = (way(directions.1), way(directions.2));
        indexed.run(&format!("{{createIndexes: 'c', indexes: [{{key: {{a: {one}, k: {two}}}, name: 'ak'}}]}}"));
        for (id, (a, b)) in rows.iter().enumerate() {
            let row = format!("{{insert: 'c', documents: [{{_id: {id}, a: {a}, b: {b}, k: {}}}]}}", id % 3);
            plain.run(&row);
            indexed.run(&row);
        }
        let change = format!("{{update: 'c', updates: [{{q: {{_id: {{$gte: 3}}, a: {test}}}, u: {{$set: {{a: {changed}}}}}, multi: true}}]}}");
        prop_assert_eq!(plain.shown(&change), indexed.shown(&change));
        for query in [
            format!("filter: {{a: {test}}}, sort: {{_id: 1}}"),
            format!("filter: {{a: {test}, k: 1}}, sort: {{_id: 1}}"),
            format!("filter: {{a: {test}, k: {{$gt: 0}}}}, sort: {{_id: -1}}, limit: 2"),
            format!("filter: {{$and: [{{a: {test}}}, {{a: {other}}}]}}, sort: {{_id: 1}}"),
            format!("filter: {{a: {test}, b: {other}}}, sort: {{_id: 1}}"),
            format!("filter: {{k: 1, a: {test}}}, sort: {{a: 1, _id: 1}}"),
            format!("filter: {{a: {test}}}, sort: {{k: -1, _id: 1}}, skip: 1"),
        ] {
            prop_assert_eq!(plain.ids(&query), indexed.ids(&query), "{}", query);
        }
        // The order of equals is left open: only the values of the field ordered by are the same.
        let by_a = "{find: 'c', sort: {a: -1}, projection: {a: 1, _id: 0}}";
        let without_arrays = rows.iter().all(|(a, _)| !a.starts_with('[')) && !changed.starts_with('[');
        if without_arrays {
            prop_assert_eq!(plain.batch(by_a), indexed.batch(by_a));
        }
    }
}
