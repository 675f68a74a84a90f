//! aggregate: groups with sums, and what is refused.

use super::rig::Rig;

fn bookings() -> Rig {
    Rig::with(&[
        "{_id: 1, who: 'ann', miles: 100}",
        "{_id: 2, who: 'bob', miles: 250.5}",
        "{_id: 3, who: 'ann', miles: 300}",
        "{_id: 4, who: 'cid'}",
    ])
}

#[track_caller]
fn check(rig: &mut Rig, group: &str, rows: &[&str]) {
    let given = rig.batch(&format!(
        "{{aggregate: 'c', cursor: {{}}, pipeline: [{{$group: {group}}}]}}"
    ));
    assert_eq!(given, rows, "{group}");
}

#[test]
fn groups_add_up_what_their_documents_have() {
    let mut rig = bookings();
    check(
        &mut rig,
        "{_id: '$who', n: {$sum: 1}, miles: {$sum: '$miles'}}",
        &[
            "{ _id: \"ann\", n: 2, miles: 400 }",
            "{ _id: \"bob\", n: 1, miles: 250.5 }",
            "{ _id: \"cid\", n: 1, miles: 0 }",
        ],
    );
    // A string counts as 0.
    check(
        &mut rig,
        "{_id: null, all: {$sum: 1}, names: {$sum: '$who'}}",
        &["{ _id: null, all: 4, names: 0 }"],
    );
    check(
        &mut rig,
        "{_id: '$missing', all: {$sum: 1}}",
        &["{ _id: null, all: 4 }"],
    );
    check(&mut Rig::new(), "{_id: null, all: {$sum: 1}}", &[]);
}

#[test]
fn numbers_of_one_value_are_one_group() {
    let mut rig = Rig::with(&["{_id: 1, k: 1}", "{_id: 2, k: 1.0}", "{_id: 3, k: 1L}"]);
    check(&mut rig, "{_id: '$k', n: {$sum: 1}}", &["{ _id: 1, n: 3 }"]);
}

#[test]
fn a_sum_too_large_becomes_a_double() {
    let mut rig = Rig::with(&["{_id: 1, n: 9223372036854775807L}", "{_id: 2, n: 1}"]);
    check(
        &mut rig,
        "{_id: null, n: {$sum: '$n'}}",
        &["{ _id: null, n: 9.223372036854776e18 }"],
    );
}

#[test]
fn pipelines_that_are_not_served_are_refused_by_name() {
    let mut rig = bookings();
    for (pipeline, code, name) in [
        ("{$lookup: {}}", 168, "$lookup"),
        ("{$match: {}}, {$group: {_id: 1}}", 168, "$match"),
        ("{$group: {_id: 1}, $limit: 1}", 2, "$group"),
        ("{$group: {n: {$sum: 1}}}", 2, "_id"),
        ("{$group: {_id: 1, n: {$avg: 1}}}", 168, "$avg"),
        ("{$group: {_id: 1, n: {$sum: 1, $avg: 1}}}", 2, "'n'"),
        ("{$group: {_id: 1, n: {$sum: {$add: [1, 2]}}}}", 168, "$add"),
        ("{$group: {_id: {year: '$d'}}}", 168, "year"),
        ("{$group: {_id: '$$ROOT'}}", 168, "$$ROOT"),
        ("{$group: {_id: '$at.port'}}", 238, "at.port"),
        ("{$group: {_id: 1}}, {$group: {_id: 1}}", 238, "several"),
        ("", 238, "none"),
    ] {
        let command = format!("{{aggregate: 'c', cursor: {{}}, pipeline: [{pipeline}]}}");
        let message = rig.fails(&command, code);
        assert!(message.contains(name), "{pipeline}: {message}");
    }
    rig.fails("{aggregate: 1, cursor: {}, pipeline: []}", 73);
    rig.fails("{aggregate: 'c', cursor: {}}", 40414);
}
