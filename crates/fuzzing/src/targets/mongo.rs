//! The MongoDB protocol against malformed input: a message is refused or answered by one complete message.

use tare_mongo::database::{Context, Database, Limits};
use tare_mongo::message::{Header, Message};

/// Longest message that is read.
const MESSAGE_BYTES_MAX: usize = 4096;

/// Runs one input.
pub fn run(data: &[u8]) {
    let limits = Limits {
        bytes_max: 100_000,
        ..Limits::default()
    };
    let mut database = Database::new(limits);
    let mut rest = data;
    let mut out = Vec::new();
    while let Ok(Some(header)) = Header::read(rest, MESSAGE_BYTES_MAX) {
        let Some((bytes, behind)) = rest.split_at_checked(header.length) else {
            return;
        };
        rest = behind;
        let Ok(message) = Message::read(&header, bytes) else {
            return;
        };
        let context = Context {
            connection: database.connect(),
            now_ms: 77,
        };
        out.clear();
        database.serve(&header, &message, context, &mut out);
        let answer = Header::read(&out, usize::MAX);
        assert!(
            matches!(answer, Ok(Some(answer)) if answer.length == out.len() && answer.response_to == header.request_id),
            "an answer is one message to the request"
        );
    }
}
