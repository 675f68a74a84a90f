//! aggregate: stages, groups, and what is refused.

use super::rig::Rig;

fn bookings() -> Rig {
    Rig::with(&[
        "{_id: 1, who: 'ann', miles: 100, at: {port: 'x'}}",
        "{_id: 2, who: 'bob', miles: 250.5, at: {port: 'y'}}",
        "{_id: 3, who: 'ann', miles: 300, at: {port: 'x'}}",
        "{_id: 4, who: 'cid', at: {port: 'x'}}",
    ])
}

#[track_caller]
fn check(pipeline: &str, rows: &[&str]) {
    let mut rig = bookings();
    let given = rig.batch(&format!(
        "{{aggregate: 'c', cursor: {{}}, pipeline: [{pipeline}]}}"
    ));
    assert_eq!(given, rows, "{pipeline}");
}

#[test]
fn stages_follow_each_other() {
    check("{$match: {who: 'ann'}}, {$count: 'n'}", &["{ n: 2 }"]);
    check("{$match: {who: 'none'}}, {$count: 'n'}", &[]);
    check(
        "{$sort: {_id: -1}}, {$skip: 1}, {$limit: 1}, {$project: {who: 1}}",
        &["{ _id: 3, who: \"ann\" }"],
    );
    check(
        "{$sort: {_id: -1}}, {$limit: 2}, {$match: {who: 'cid'}}, {$project: {_id: 0, port: '$at.port'}}",
        &["{ port: \"x\" }"],
    );
}

#[test]
fn groups_add_up_what_their_documents_have() {
    check(
        "{$group: {_id: '$who', n: {$sum: 1}, miles: {$sum: '$miles'}, mean: {$avg: '$miles'}}}",
        &[
            "{ _id: \"ann\", n: 2, miles: 400, mean: 200.0 }",
            "{ _id: \"bob\", n: 1, miles: 250.5, mean: 250.5 }",
            "{ _id: \"cid\", n: 1, miles: 0, mean: null }",
        ],
    );
    check(
        "{$group: {_id: '$at.port', least: {$min: '$miles'}, most: {$max: '$miles'}, ids: {$push: '$_id'}, first: {$first: '$who'}, last: {$last: '$who'}, n: {$count: {}}}}",
        &[
            "{ _id: \"x\", least: 100, most: 300, ids: [ 1, 3, 4 ], first: \"ann\", last: \"cid\", n: 3 }",
            "{ _id: \"y\", least: 250.5, most: 250.5, ids: [ 2 ], first: \"bob\", last: \"bob\", n: 1 }",
        ],
    );
    check(
        "{$group: {_id: {who: '$who', port: '$at.port'}}}, {$sort: {'_id.who': -1}}, {$limit: 1}",
        &["{ _id: { who: \"cid\", port: \"x\" } }"],
    );
    check(
        "{$group: {_id: null, all: {$sum: 1}}}",
        &["{ _id: null, all: 4 }"],
    );
    check(
        "{$group: {_id: '$missing', all: {$sum: 1}}}",
        &["{ _id: null, all: 4 }"],
    );
}

/// As drivers count documents.
#[test]
fn the_count_of_drivers_works() {
    check(
        "{$match: {}}, {$skip: 1}, {$limit: 2}, {$group: {_id: 1, n: {$sum: 1}}}",
        &["{ _id: 1, n: 2 }"],
    );
}

#[test]
fn numbers_of_one_value_are_one_group() {
    let mut rig = Rig::with(&["{_id: 1, k: 1}", "{_id: 2, k: 1.0}", "{_id: 3, k: 1L}"]);
    let rows =
        rig.batch("{aggregate: 'c', cursor: {}, pipeline: [{$group: {_id: '$k', n: {$sum: 1}}}]}");
    assert_eq!(rows, ["{ _id: 1, n: 3 }"]);
}

#[test]
fn a_sum_too_large_becomes_a_double() {
    let mut rig = Rig::with(&["{_id: 1, n: 9223372036854775807L}", "{_id: 2, n: 1}"]);
    let rows = rig
        .batch("{aggregate: 'c', cursor: {}, pipeline: [{$group: {_id: null, n: {$sum: '$n'}}}]}");
    assert_eq!(rows, ["{ _id: null, n: 9.223372036854776e18 }"]);
}

#[test]
fn pipelines_that_are_not_served_are_refused() {
    let mut rig = bookings();
    for (pipeline, code) in [
        ("{$lookup: {}}", 168),
        ("{$group: {n: {$sum: 1}}}", 2),
        ("{$group: {_id: 1, n: {$median: 1}}}", 168),
        ("{$group: {_id: {$year: '$d'}}}", 168),
        ("{$limit: 0}", 2),
        ("{$match: 1}", 2),
        ("{$match: {}, $limit: 1}", 2),
        ("{$count: ''}", 2),
    ] {
        rig.fails(
            &format!("{{aggregate: 'c', cursor: {{}}, pipeline: [{pipeline}]}}"),
            code,
        );
    }
    rig.fails("{aggregate: 1, cursor: {}, pipeline: []}", 238);
    rig.fails("{aggregate: 'c', cursor: {}}", 40414);
}
