//! find, getMore, count, distinct: filters, order, parts, batches.

use super::rig::Rig;

fn people() -> Rig {
    Rig::with(&[
        "{_id: 1, name: 'ann', age: 30, tags: ['a', 'b'], home: {city: 'x', zip: 5}}",
        "{_id: 2, name: 'bob', age: 25.5, tags: [], home: {city: 'y'}}",
        "{_id: 3, name: 'cid', age: 41L, tags: ['b', 'c']}",
        "{_id: 4, name: 'dan', age: null}",
        "{_id: 5, name: 'eve', age: '30', visits: [{day: 1, n: 5}, {day: 2, n: 7}]}",
    ])
}

#[test]
fn filters_find_what_they_name() {
    let mut rig = people();
    let cases: [(&str, &[i64]); 34] = [
        ("{}", &[1, 2, 3, 4, 5]),
        ("{_id: 3}", &[3]),
        ("{_id: 3.0}", &[3]),
        ("{name: 'bob'}", &[2]),
        ("{name: {$eq: 'bob'}}", &[2]),
        ("{name: {$ne: 'bob'}}", &[1, 3, 4, 5]),
        ("{age: {$gt: 25.5}}", &[1, 3]),
        ("{age: {$gte: 25.5, $lt: 41}}", &[1, 2]),
        ("{age: {$lte: 30}}", &[1, 2]),
        ("{age: {$gt: ''}}", &[5]),
        ("{age: null}", &[4]),
        ("{visits: null}", &[1, 2, 3, 4]),
        ("{visits: {$exists: true}}", &[5]),
        ("{age: {$exists: false}}", &[]),
        ("{_id: {$in: [5, 1, 9]}}", &[1, 5]),
        ("{_id: {$nin: [5, 1, 9]}}", &[2, 3, 4]),
        ("{_id: {$in: []}}", &[]),
        ("{tags: 'b'}", &[1, 3]),
        ("{tags: ['b', 'c']}", &[3]),
        ("{tags: []}", &[2]),
        ("{tags: {$size: 2}}", &[1, 3]),
        ("{'tags.0': 'b'}", &[3]),
        ("{'home.city': 'y'}", &[2]),
        ("{home: {city: 'x', zip: 5}}", &[1]),
        ("{home: {zip: 5, city: 'x'}}", &[]),
        ("{'visits.n': {$gt: 6}}", &[5]),
        ("{visits: {$elemMatch: {day: 1, n: 7}}}", &[]),
        ("{visits: {$elemMatch: {day: 2, n: 7}}}", &[5]),
        ("{tags: {$elemMatch: {$gt: 'b', $lt: 'd'}}}", &[3]),
        ("{$and: [{age: {$gt: 1}}, {name: {$lt: 'b'}}]}", &[1]),
        ("{$or: [{_id: 1}, {name: 'eve'}]}", &[1, 5]),
        ("{$nor: [{_id: 1}, {name: 'eve'}]}", &[2, 3, 4]),
        ("{age: {$not: {$gt: 26}}}", &[2, 4, 5]),
        ("{age: {$gt: NaN}}", &[]),
    ];
    for (filter, ids) in cases {
        assert_eq!(rig.ids(&format!("filter: {filter}")), ids, "{filter}");
    }
}

#[test]
fn what_is_no_filter_is_refused() {
    let mut rig = people();
    for filter in [
        "{$where: 'x'}",
        "{age: {$near: 1}}",
        "{$and: []}",
        "{$or: [1]}",
        "{a: {$in: 1}}",
        "{a: {$size: 1.5}}",
    ] {
        let message = rig.fails(&format!("{{find: 'c', filter: {filter}}}"), 2);
        assert!(!message.is_empty());
    }
    rig.fails("{find: 'c', filter: 1}", 14);
    rig.fails("{find: 'c', collation: {locale: 'de'}}", 238);
    rig.fails("{find: 'c', hint: 'none'}", 2);
    rig.fails("{find: 'c', sort: {a: 2}}", 2);
    rig.fails("{find: 'c', limit: -1}", 14);
    rig.fails("{find: ''}", 73);
}

#[test]
fn order_skip_and_limit_are_kept_with_and_without_an_index() {
    let mut rig = people();
    for indexed in [false, true] {
        if indexed {
            rig.run("{createIndexes: 'c', indexes: [{key: {age: -1}, name: 'age'}, {key: {name: 1}, name: 'n'}]}");
        }
        let cases: [(&str, &[i64]); 7] = [
            ("sort: {name: -1}", &[5, 4, 3, 2, 1]),
            ("sort: {name: -1}, skip: 1, limit: 2", &[4, 3]),
            ("sort: {age: 1}", &[4, 2, 1, 3, 5]),
            ("sort: {age: -1}, limit: 1", &[5]),
            ("sort: {tags: 1, _id: -1}", &[5, 4, 2, 1, 3]),
            ("skip: 9", &[]),
            ("filter: {_id: {$gt: 1}}, limit: 2, skip: 1", &[3, 4]),
        ];
        for (rest, ids) in cases {
            assert_eq!(rig.ids(rest), ids, "{rest}, indexed: {indexed}");
        }
    }
}

#[test]
fn projections_give_what_they_name() {
    let mut rig = people();
    let cases = [
        ("{name: 1}", "{ _id: 1, name: \"ann\" }"),
        ("{name: 1, _id: 0}", "{ name: \"ann\" }"),
        ("{_id: 1}", "{ _id: 1 }"),
        ("{'home.city': 1, _id: 0}", "{ home: { city: \"x\" } }"),
        (
            "{name: 0, tags: 0, 'home.zip': 0}",
            "{ _id: 1, age: 30, home: { city: \"x\" } }",
        ),
        (
            "{_id: 0, who: '$name', one: {$literal: 1}}",
            "{ who: \"ann\", one: 1 }",
        ),
    ];
    for (projection, shown) in cases {
        let command = format!("{{find: 'c', filter: {{_id: 1}}, projection: {projection}}}");
        assert_eq!(rig.batch(&command), [shown], "{projection}");
    }
    rig.fails("{find: 'c', projection: {a: 1, b: 0}}", 2);
    rig.fails("{find: 'c', projection: {'a.$': 1}}", 2);
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
    let limits = crate::database::Limits {
        cursors_max: 2,
        ..Default::default()
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

#[test]
fn counts_and_distinct_values_are_of_what_passes() {
    let mut rig = people();
    rig.says("{count: 'c'}", "{ n: 5, ok: 1.0 }");
    rig.says("{count: 'c', query: {tags: 'b'}}", "{ n: 2, ok: 1.0 }");
    rig.says("{count: 'c', skip: 1, limit: 2}", "{ n: 2, ok: 1.0 }");
    rig.says("{count: 'none'}", "{ n: 0, ok: 1.0 }");
    rig.says(
        "{distinct: 'c', key: 'tags'}",
        "{ values: [ \"a\", \"b\", \"c\" ], ok: 1.0 }",
    );
}
