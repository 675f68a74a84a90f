//! What drivers ask before anything else, and what they must be refused.

use super::rig::Rig;
use crate::database::{Context, Database, Limits, Operation};
use crate::message::{Header, MESSAGE_BYTES_MAX, Message, tests};

#[test]
fn a_driver_learns_whom_it_talks_to() {
    let mut rig = Rig::new();
    rig.says(
        "{hello: 1, helloOk: true, client: {}, compression: ['zlib']}",
        "{ helloOk: true, isWritablePrimary: true, maxBsonObjectSize: 16777216, maxMessageSizeBytes: 48000000, \
         maxWriteBatchSize: 100000, localTime: new Date(1700000000000), logicalSessionTimeoutMinutes: 30, \
         connectionId: 3, minWireVersion: 0, maxWireVersion: 21, readOnly: false, ok: 1.0 }",
    );
    assert!(rig.shown("{isMaster: 1}").starts_with("{ ismaster: true,"));
    assert!(rig.shown("{buildInfo: 1}").contains("version: \"7.0.0\""));
    for quiet in ["{ping: 1}", "{endSessions: []}"] {
        rig.says(quiet, "{ ok: 1.0 }");
    }
}

#[test]
fn an_unknown_command_is_refused_as_mongodb_does() {
    let mut rig = Rig::new();
    for name in ["frobnicate", "count", "distinct", "listCollections"] {
        let answer = rig.shown(&format!("{{{name}: 1}}"));
        let start = format!("{{ ok: 0.0, errmsg: \"no such command: '{name}'; supported are find,");
        assert!(answer.starts_with(&start), "{answer}");
        assert!(
            answer.ends_with("code: 59, codeName: \"CommandNotFound\" }"),
            "{answer}"
        );
    }
    rig.fails("{}", 59);
    rig.fails(
        "{insert: 'c', documents: [{_id: 1}], txnNumber: 1L, startTransaction: true}",
        20,
    );
}

#[test]
fn a_hello_of_old_is_answered_and_nothing_else_of_old() {
    let mut database = Database::new(Limits::default());
    for (command, operation, works) in [
        ("isMaster", Operation::Hello, true),
        ("ping", Operation::Command, false),
    ] {
        let sent = tests::query(9, command);
        let header = Header::read(&sent, MESSAGE_BYTES_MAX).unwrap().unwrap();
        let message = Message::read(&header, &sent).unwrap();
        let context = Context {
            connection: 1,
            now_ms: 0,
        };
        let mut out = Vec::new();
        let served = database.serve(&header, &message, context, &mut out);
        assert_eq!(
            (served.operation, served.failed.is_none()),
            (operation, works)
        );
        let answer = tests::reply(&out);
        assert_eq!(answer.get("ok").unwrap().is_true(), works);
        assert_eq!(
            answer.get("code").and_then(|code| code.as_i64()),
            (!works).then_some(352)
        );
    }
}

#[test]
fn every_kind_of_operation_is_known_by_its_command() {
    for kind in Operation::ALL {
        assert_eq!(Operation::of(kind.name()), kind);
    }
    assert_eq!(Operation::of("ismaster"), Operation::Hello);
    assert_eq!(Operation::of("frobnicate"), Operation::Command);
}

#[test]
fn names_of_databases_and_collections_are_checked() {
    let mut rig = Rig::new();
    let long = "x".repeat(300);
    for name in ["", "a$b", ".a", long.as_str()] {
        let insert = format!("{{insert: '{name}', documents: [{{_id: 1}}]}}");
        rig.fails(&insert, 73);
    }
}
