//! Whether an answer is the one that should come.

use tare_mongo::bson::{Doc, Value};
use tare_mongo::message::{Header, MessageError, Msg, opcode};
use tare_schema::agent::Fault;
use thiserror::Error;

use super::documents::{Asked, Operation};
use crate::client::ErrorClass;

/// MongoDB's code of a key that is there already.
const DUPLICATE_KEY: i64 = 11000;

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub(super) enum Wrong<'a> {
    /// The server says that it failed.
    #[error("the server answers error {code}: {message}")]
    Failed { code: i64, message: &'a str },
    /// Another number of documents.
    #[error("{found} documents matched, not {expected}")]
    Count { found: i64, expected: i64 },
    /// Another document than the one asked for.
    #[error("the find brought another document than the one asked for")]
    Document,
    /// It does not say what every answer says.
    #[error("the answer has no {field}")]
    Field { field: &'static str },
    /// It answers another request.
    #[error("the answer is to request {to}, not to {asked}")]
    Other { to: i32, asked: i32 },
    /// No OP_MSG, or one that announces more.
    #[error("the answer is no OP_MSG, or announces a further one")]
    Kind,
    /// It cannot be read.
    #[error(transparent)]
    Message(#[from] MessageError),
}

impl Wrong<'_> {
    /// The class that it is counted under.
    pub(super) fn class(&self) -> ErrorClass {
        match self {
            Self::Failed { code, .. } => ErrorClass {
                name: "error",
                code: u16::try_from(*code).ok(),
                fault: Fault::Target,
            },
            Self::Count { .. } | Self::Document | Self::Field { .. } => ErrorClass::WRONG_BODY,
            Self::Other { .. } | Self::Kind | Self::Message(_) => ErrorClass::RUBBISH,
        }
    }

    /// Whether the connection can carry on: what was read was a whole answer to what was asked.
    pub(super) fn is_whole(&self) -> bool {
        self.class() != ErrorClass::RUBBISH
    }
}

/// Reads an answer to this request; its document.
fn read<'a>(header: &Header, message: &'a [u8], request_id: i32) -> Result<Doc<'a>, Wrong<'a>> {
    if header.opcode != opcode::MSG {
        return Err(Wrong::Kind);
    }
    let msg = Msg::read(message)?;
    if msg.flags.more_to_come() {
        return Err(Wrong::Kind);
    }
    if header.response_to != request_id {
        return Err(Wrong::Other {
            to: header.response_to,
            asked: request_id,
        });
    }
    match msg.body.get("ok") {
        Some(ok) if ok.is_true() => Ok(msg.body),
        Some(_) => Err(failed(msg.body)),
        None => Err(Wrong::Field { field: "ok" }),
    }
}

fn failed(doc: Doc<'_>) -> Wrong<'_> {
    Wrong::Failed {
        code: doc.get("code").and_then(|code| code.as_i64()).unwrap_or(0),
        message: doc
            .get("errmsg")
            .and_then(|text| text.as_str())
            .unwrap_or(""),
    }
}

/// Judges the answer to an operation.
pub(super) fn judge<'a>(
    header: &Header,
    message: &'a [u8],
    asked: &Asked,
) -> Result<(), Wrong<'a>> {
    let doc = read(header, message, asked.request_id)?;
    if asked.operation == Operation::Find {
        return found(doc, asked);
    }
    if let Some(Value::Array(errors)) = doc.get("writeErrors")
        && let Some(Value::Document(first)) = errors.values().next()
    {
        return Err(failed(first));
    }
    let n = doc.get("n").and_then(|n| n.as_i64());
    match n.ok_or(Wrong::Field { field: "n" })? {
        found if found == asked.matches => Ok(()),
        found => Err(Wrong::Count {
            found,
            expected: asked.matches,
        }),
    }
}

fn found<'a>(doc: Doc<'a>, asked: &Asked) -> Result<(), Wrong<'a>> {
    let missing = Wrong::Field {
        field: "cursor.firstBatch",
    };
    let cursor = doc.get("cursor").and_then(|cursor| cursor.as_doc());
    let batch = cursor.and_then(|cursor| cursor.get("firstBatch"));
    let batch = batch.and_then(|batch| batch.as_array()).ok_or(missing)?;
    let mut documents = batch.values();
    match (documents.next(), documents.next()) {
        (Some(Value::Document(document)), None) => {
            let id = document.get("_id").and_then(|id| id.as_i64());
            let is_it = id.and_then(|id| u64::try_from(id).ok()) == Some(asked.document);
            if is_it { Ok(()) } else { Err(Wrong::Document) }
        }
        _ => Err(Wrong::Count {
            found: i64::try_from(batch.iter().count()).unwrap_or(i64::MAX),
            expected: 1,
        }),
    }
}

/// Judges the answer to a message that fills: documents that were there are right too.
pub(super) fn judge_filling<'a>(
    header: &Header,
    message: &'a [u8],
    request_id: i32,
) -> Result<(), Wrong<'a>> {
    let doc = read(header, message, request_id)?;
    let Some(Value::Array(errors)) = doc.get("writeErrors") else {
        return Ok(());
    };
    let other = errors
        .values()
        .filter_map(|error| error.as_doc())
        .find(|error| error.get("code").and_then(|code| code.as_i64()) != Some(DUPLICATE_KEY));
    other.map_or(Ok(()), |error| Err(failed(error)))
}
