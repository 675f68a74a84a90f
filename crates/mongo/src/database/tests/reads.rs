//! find, getMore, killCursors: filters, limits, batches.

use super::rig::Rig;
use crate::database::Limits;

fn people() -> Rig {
    Rig::with(&[
        "{_id: 1, name: 'ann', age: 30, tags: ['a', 'b'], home: {city: 'x', zip: 5}}",
        "{_id: 2, name: 'bob', age: 25.5, tags: [], home: {city: 'y'}}",
        "{_id: 3, name: 'cid', age: 41L, tags: ['b', 'c']}",
        "{_id: 4, name: 'dan', age: null}",
    ])
}

#[test]
fn filters_find_what_equals_all_their_values() {
    let mut rig = people();
    let cases: [(&str, &[i64]); 14] = [
        ("{}", &[1, 2, 3, 4]),
        ("{_id: 3}", &[3]),
        ("{_id: 3.0}", &[3]),
        ("{name: 'bob'}", &[2]),
        ("{name: 'bob', age: 25.5}", &[2]),
        ("{name: 'bob', age: 26}", &[]),
        ("{age: 41}", &[3]),
        ("{age: null}", &[4]),
        ("{tags: null}", &[4]),
        ("{tags: 'b'}", &[1, 3]),
        ("{tags: ['b', 'c']}", &[3]),
        ("{tags: []}", &[2]),
        ("{home: {city: 'x', zip: 5}}", &[1]),
        ("{home: {zip: 5, city: 'x'}}", &[]),
    ];
    for (filter, ids) in cases {
        assert_eq!(rig.ids(filter), ids, "{filter}");
    }
    assert_eq!(rig.batch("{find: 'c', limit: 2}").len(), 2);
    assert_eq!(rig.batch("{find: 'none'}").len(), 0);
}

#[test]
fn what_is_no_filter_of_values_is_refused_by_name() {
    let mut rig = people();
    for (filter, code, name) in [
        ("{$where: 'x'}", 2, "$where"),
        ("{$and: [{a: 1}]}", 2, "$and"),
        ("{age: {$gt: 1}}", 2, "$gt"),
        ("{age: {$in: [1]}}", 2, "$in"),
        ("{'home.city': 'x'}", 238, "home.city"),
    ] {
        let message = rig.fails(&format!("{{find: 'c', filter: {filter}}}"), code);
        assert!(message.contains(name), "{filter}: {message}");
    }
    for option in [
        "sort: {a: 1}",
        "skip: 1",
        "projection: {a: 1}",
        "collation: {locale: 'de'}",
        "hint: '_id_'",
    ] {
        let message = rig.fails(&format!("{{find: 'c', {option}}}"), 238);
        let name = option.split(':').next().unwrap();
        assert!(message.contains(name), "{option}: {message}");
    }
    // What has no effect is accepted.
    rig.batch("{find: 'c', sort: {}, hint: null, allowPartialResults: false}");
    rig.fails("{find: 'c', filter: 1}", 14);
    rig.fails("{find: 'c', limit: -1}", 14);
    rig.fails("{find: ''}", 73);
}

#[test]
fn an_answer_comes_in_batches_until_its_cursor_is_done() {
    let mut rig = Rig::with(&["{_id: 0}"]);
    for id in 1..250 {
        rig.run(&format!("{{insert: 'c', documents: [{{_id: {id}}}]}}"));
    }
    assert_eq!(rig.batch("{find: 'c'}").len(), 101);
    assert_eq!(
        rig.batch("{getMore: 1L, collection: 'c', batchSize: 100}")
            .len(),
        100
    );
    // What is deleted meanwhile was there when the query was.
    rig.run("{delete: 'c', deletes: [{q: {}, limit: 0}]}");
    let last = rig.shown("{getMore: 1L, collection: 'c'}");
    assert!(
        last.contains("{ _id: 249 }") && last.contains("id: 0,"),
        "{last}"
    );
    rig.fails("{getMore: 1L, collection: 'c'}", 43);
    rig.says(
        "{find: 'c', batchSize: 0}",
        "{ cursor: { firstBatch: [  ], id: 0, ns: \"d.c\" }, ok: 1.0 }",
    );
}

#[test]
fn cursors_can_be_killed_and_are_bounded() {
    let limits = Limits {
        cursors_max: 2,
        ..Limits::default()
    };
    let mut rig = Rig::limited(limits);
    rig.run("{insert: 'c', documents: [{_id: 1}, {_id: 2}]}");
    for _ in 0..3 {
        rig.run("{find: 'c', batchSize: 1}");
    }
    rig.fails("{getMore: 1L, collection: 'c'}", 43);
    rig.fails("{getMore: 2L, collection: 'other'}", 43);
    let killed = rig.shown("{killCursors: 'c', cursors: [2L, 9L]}");
    assert_eq!(
        killed,
        "{ cursorsKilled: [ 2 ], cursorsNotFound: [ 9 ], cursorsAlive: [  ], cursorsUnknown: [  ], ok: 1.0 }"
    );
    assert_eq!(rig.batch("{getMore: 3L, collection: 'c'}"), ["{ _id: 2 }"]);
    rig.run("{find: 'c', batchSize: 1, singleBatch: true}");
    rig.fails("{getMore: 4L, collection: 'c'}", 43);
}
