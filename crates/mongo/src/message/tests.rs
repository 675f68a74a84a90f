//! Messages to the byte, their faults, and properties.

use proptest::prelude::*;

use super::*;
use crate::bson::Value;

/// An OP_QUERY with a command `{name: 1}`.
pub(crate) fn query(request_id: i32, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_message(&mut out, request_id, 0, opcode::QUERY, |out| {
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(b"admin.$cmd\0");
        out.extend_from_slice(&0_i32.to_le_bytes());
        out.extend_from_slice(&(-1_i32).to_le_bytes());
        document(out, |w| {
            w.i32(name, 1);
        });
    });
    out
}

/// The document of an OP_REPLY.
pub(crate) fn reply(message: &[u8]) -> Doc<'_> {
    const FIELDS_BYTES: usize = 4 + 8 + 4 + 4;
    Doc::check(&message[HEADER_BYTES + FIELDS_BYTES..]).unwrap()
}

fn ping(out: &mut Vec<u8>) {
    write_msg(out, 7, 0, |w| {
        w.i32("ping", 1).str("$db", "admin");
    });
}

fn read(message: &[u8]) -> Result<Message<'_>, MessageError> {
    let header = Header::read(message, MESSAGE_BYTES_MAX)?.unwrap();
    Message::read(&header, message)
}

/// The message, its checksum added.
fn summed(mut message: Vec<u8>) -> Vec<u8> {
    let length = i32::try_from(message.len() + 4).unwrap();
    message[..4].copy_from_slice(&length.to_le_bytes());
    message[16] |= 1;
    let sum = crc32c::crc32c(&message);
    message.extend_from_slice(&sum.to_le_bytes());
    message
}

#[test]
fn a_ping_is_written_to_the_byte_and_read_again() {
    let mut out = Vec::new();
    ping(&mut out);
    let mut expected = vec![
        51, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0, 0, 0, 0, 0, 0,
    ];
    expected.extend_from_slice(b"\x1e\0\0\0\x10ping\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0");
    assert_eq!(out, expected);
    let Message::Msg(msg) = read(&out).unwrap() else {
        panic!("no OP_MSG")
    };
    assert_eq!(msg.body.first(), Some(("ping", Value::Int32(1))));
    assert!(!msg.more_to_come);
    assert!(msg.sequence("documents").is_none());
}

#[test]
fn documents_beside_the_command_are_found_by_name() {
    let mut out = Vec::new();
    let body = |w: &mut Writer<'_>| {
        w.str("insert", "c");
    };
    write_msg_with(&mut out, 1, body, "documents", |out| {
        for id in 0..3 {
            document(out, |w| {
                w.i32("_id", id);
            });
        }
    });
    let Message::Msg(msg) = read(&out).unwrap() else {
        panic!("no OP_MSG")
    };
    let ids: Vec<_> = msg
        .sequence("documents")
        .unwrap()
        .map(|doc| doc.get("_id").unwrap().as_i64().unwrap())
        .collect();
    assert_eq!(ids, [0, 1, 2]);
    assert!(msg.sequence("updates").is_none());
}

#[test]
fn a_checksum_is_checked() {
    let mut out = Vec::new();
    ping(&mut out);
    let mut sent = summed(out);
    assert!(matches!(read(&sent), Ok(Message::Msg(_))));
    sent[30] ^= 1;
    assert_eq!(read(&sent), Err(MessageError::Checksum));
}

#[test]
fn flags_that_must_be_understood_are_refused_and_others_ignored() {
    let mut out = Vec::new();
    ping(&mut out);
    out[16] = 4;
    assert_eq!(read(&out), Err(MessageError::Flags(4)));
    out[16] = 2;
    assert!(matches!(read(&out), Ok(Message::Msg(msg)) if msg.more_to_come));
    out[16] = 0;
    out[18] = 0x81;
    assert!(matches!(read(&out), Ok(Message::Msg(msg)) if !msg.more_to_come));
}

#[test]
fn lengths_outside_the_limits_and_unknown_opcodes_are_refused() {
    for length in [-1_i32, 0, 15, 48_000_001] {
        let mut raw = [0; 16];
        raw[..4].copy_from_slice(&length.to_le_bytes());
        let refused = Header::read(&raw, MESSAGE_BYTES_MAX);
        assert!(matches!(refused, Err(MessageError::Length(..))), "{length}");
    }
    assert_eq!(Header::read(&[1; 15], 100), Ok(None));
    let mut out = Vec::new();
    ping(&mut out);
    // 2012 is a compressed message.
    for opcode in [opcode::REPLY, 2012, 0] {
        out[12..16].copy_from_slice(&opcode.to_le_bytes());
        assert_eq!(read(&out), Err(MessageError::Opcode(opcode)));
    }
}

#[test]
fn sections_are_one_body_and_sequences() {
    let mut twice = Vec::new();
    ping(&mut twice);
    twice.push(0);
    twice.extend_from_slice(Doc::EMPTY.bytes());
    let mut none = twice[..21].to_vec();
    none.truncate(20);
    let mut unknown = twice[..twice.len() - 6].to_vec();
    unknown.push(2);
    for mut message in [twice, none, unknown] {
        let length = i32::try_from(message.len()).unwrap();
        message[..4].copy_from_slice(&length.to_le_bytes());
        assert_eq!(read(&message), Err(MessageError::Sections));
    }
}

#[test]
fn a_first_hello_of_old_is_read_and_answered() {
    let sent = query(3, "isMaster");
    let Message::Query(query) = read(&sent).unwrap() else {
        panic!("no OP_QUERY")
    };
    assert_eq!(query.collection, "admin.$cmd");
    assert_eq!(query.command().first(), Some(("isMaster", Value::Int32(1))));
    let mut out = Vec::new();
    write_reply(&mut out, 9, 3, |w| {
        w.f64("ok", 1.0);
    });
    let header = Header::read(&out, MESSAGE_BYTES_MAX).unwrap().unwrap();
    assert_eq!(
        (header.length, header.response_to, header.opcode),
        (out.len(), 3, opcode::REPLY)
    );
    assert_eq!(reply(&out).get("ok"), Some(Value::Double(1.0)));
}

proptest! {
    #[test]
    fn malformed_input_never_panics(mut data in prop::collection::vec(any::<u8>(), 20..200), msg: bool) {
        let length = i32::try_from(data.len()).unwrap();
        data[..4].copy_from_slice(&length.to_le_bytes());
        let opcode = if msg { opcode::MSG } else { opcode::QUERY };
        data[12..16].copy_from_slice(&opcode.to_le_bytes());
        data[16..18].fill(0);
        if let Ok(Message::Msg(msg)) = read(&data) {
            let _ = msg.sequence("documents").map(Iterator::count);
        }
    }

    #[test]
    fn a_message_cut_short_is_refused(keep in 16_usize..50) {
        let mut out = Vec::new();
        ping(&mut out);
        out.truncate(keep);
        let length = i32::try_from(keep).unwrap();
        out[..4].copy_from_slice(&length.to_le_bytes());
        prop_assert!(read(&out).is_err());
    }
}
