//! What drivers ask before anything else, and what they must be refused.

use super::rig::Rig;
use crate::database::{Context, Database, Limits, Operation};
use crate::message::{Header, MESSAGE_BYTES_MAX, Message, read_reply, write_query};

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
    for quiet in ["{ping: 1}", "{endSessions: []}", "{refreshSessions: []}"] {
        rig.says(quiet, "{ ok: 1.0 }");
    }
    rig.says(
        "{connectionStatus: 1}",
        "{ authInfo: { authenticatedUsers: [  ], authenticatedUserRoles: [  ] }, ok: 1.0 }",
    );
}

#[test]
fn an_unknown_command_is_refused_as_mongodb_does() {
    let mut rig = Rig::new();
    rig.says(
        "{frobnicate: 1}",
        "{ ok: 0.0, errmsg: \"no such command: 'frobnicate'\", code: 59, codeName: \"CommandNotFound\" }",
    );
    rig.fails("{}", 59);
    rig.fails(
        "{insert: 'c', documents: [{a: 1}], txnNumber: 1L, startTransaction: true}",
        20,
    );
}

#[test]
fn collections_and_databases_are_listed_and_dropped() {
    let mut rig = Rig::with(&["{_id: 1}"]);
    rig.run("{create: 'other'}");
    rig.fails("{create: 'other'}", 48);
    rig.fails("{create: 'capped', capped: true}", 238);
    let names = rig.batch("{listCollections: 1, filter: {name: 'c'}}");
    assert_eq!(names.len(), 1);
    assert!(
        names[0].starts_with("{ name: \"c\", type: \"collection\""),
        "{names:?}"
    );
    assert!(rig.shown("{listDatabases: 1}").contains("name: \"d\""));
    rig.says(
        "{drop: 'other'}",
        "{ nIndexesWas: 1, ns: \"d.other\", ok: 1.0 }",
    );
    rig.says("{drop: 'none'}", "{ ok: 1.0 }");
    rig.says("{dropDatabase: 1}", "{ dropped: \"d\", ok: 1.0 }");
    rig.says(
        "{listDatabases: 1}",
        "{ databases: [  ], totalSize: 0, ok: 1.0 }",
    );
    assert_eq!(rig.database.bytes, 0);
}

#[test]
fn a_hello_of_old_is_answered_and_nothing_else_of_old() {
    let mut database = Database::new(Limits::default(), 1);
    for (command, operation, works) in [
        ("isMaster", Operation::Hello, true),
        ("listDatabases", Operation::Command, false),
    ] {
        let mut sent = Vec::new();
        write_query(&mut sent, 9, |w| {
            w.i32(command, 1);
        });
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
        let answer = read_reply(&out).unwrap();
        assert_eq!(answer.get("ok").unwrap().is_true(), works);
        assert_eq!(
            answer.get("code").and_then(|code| code.as_i64()),
            (!works).then_some(352)
        );
    }
}

#[test]
fn names_of_databases_and_collections_are_checked() {
    let mut rig = Rig::new();
    for name in ["", "a$b", ".a"] {
        rig.fails(&format!("{{create: '{name}'}}"), 73);
    }
    rig.fails(&format!("{{create: '{}'}}", "x".repeat(300)), 73);
}
