//! Checks responses.

use tare_mongo::bson::{Doc, Value};
use tare_mongo::message::{Header, MessageError, Msg, opcode};
use tare_record::agent::ErrorSource;
use thiserror::Error;

use super::documents::{Operation, SentOperation};
use crate::client::ErrorClass;

/// MongoDB's error code DuplicateKey.
const DUPLICATE_KEY: i64 = 11000;

#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub(super) enum ResponseError<'a> {
    /// The server reports an error.
    #[error("the server answers error {code}: {message}")]
    Failed { code: i64, message: &'a str },
    /// An unexpected number of documents.
    #[error("{found} documents matched, not {expected}")]
    Count { found: i64, expected: i64 },
    /// Another document than the requested one.
    #[error("the find brought another document than the one asked for")]
    Document,
    /// A field that every response has is missing.
    #[error("the answer has no {field}")]
    Field { field: &'static str },
    /// Its `responseTo` is not the id of the request.
    #[error("the answer is to request {to}, not to {sent}")]
    WrongRequestId { to: i32, sent: i32 },
    /// Not an OP_MSG, or one with `moreToCome`.
    #[error("the response is not an OP_MSG, or announces a further one")]
    UnexpectedMessage,
    /// Malformed.
    #[error(transparent)]
    Message(#[from] MessageError),
}

impl ResponseError<'_> {
    /// The error class that it is counted under.
    pub(super) fn class(&self) -> ErrorClass {
        match self {
            Self::Failed { code, .. } => ErrorClass {
                name: "mongodb-error",
                code: u16::try_from(*code).ok(),
                error_source: ErrorSource::Target,
            },
            Self::Count { .. } | Self::Document | Self::Field { .. } => ErrorClass::WRONG_BODY,
            Self::WrongRequestId { .. } | Self::UnexpectedMessage | Self::Message(_) => {
                ErrorClass::MALFORMED
            }
        }
    }

    /// Whether the connection can be used further: it was a well-formed response to the request.
    pub(super) fn keeps_connection(&self) -> bool {
        self.class() != ErrorClass::MALFORMED
    }
}

/// Reads the document of a response to this request.
fn read<'a>(
    header: &Header,
    message: &'a [u8],
    request_id: i32,
) -> Result<Doc<'a>, ResponseError<'a>> {
    if header.opcode != opcode::MSG {
        return Err(ResponseError::UnexpectedMessage);
    }
    let msg = Msg::read(message)?;
    if msg.more_to_come {
        return Err(ResponseError::UnexpectedMessage);
    }
    if header.response_to != request_id {
        return Err(ResponseError::WrongRequestId {
            to: header.response_to,
            sent: request_id,
        });
    }
    match msg.body.get("ok") {
        Some(ok) if ok.is_true() => Ok(msg.body),
        Some(_) => Err(failed(msg.body)),
        None => Err(ResponseError::Field { field: "ok" }),
    }
}

fn failed(doc: Doc<'_>) -> ResponseError<'_> {
    ResponseError::Failed {
        code: doc.get("code").and_then(|code| code.as_i64()).unwrap_or(0),
        message: doc
            .get("errmsg")
            .and_then(|text| text.as_str())
            .unwrap_or(""),
    }
}

/// Checks the response to an operation.
pub(super) fn check_response<'a>(
    header: &Header,
    message: &'a [u8],
    sent: &SentOperation,
) -> Result<(), ResponseError<'a>> {
    let doc = read(header, message, sent.request_id)?;
    if sent.operation == Operation::Find {
        return found(doc, sent);
    }
    if let Some(Value::Array(errors)) = doc.get("writeErrors")
        && let Some(Value::Document(first)) = errors.values().next()
    {
        return Err(failed(first));
    }
    let n = doc.get("n").and_then(|n| n.as_i64());
    match n.ok_or(ResponseError::Field { field: "n" })? {
        found if found == sent.matches => Ok(()),
        found => Err(ResponseError::Count {
            found,
            expected: sent.matches,
        }),
    }
}

fn found<'a>(doc: Doc<'a>, sent: &SentOperation) -> Result<(), ResponseError<'a>> {
    let missing = ResponseError::Field {
        field: "cursor.firstBatch",
    };
    let cursor = doc.get("cursor").and_then(|cursor| cursor.as_doc());
    let batch = cursor.and_then(|cursor| cursor.get("firstBatch"));
    let batch = batch.and_then(|batch| batch.as_array()).ok_or(missing)?;
    let mut documents = batch.values();
    match (documents.next(), documents.next()) {
        (Some(Value::Document(document)), None) => {
            let id = document.get("_id").and_then(|id| id.as_i64());
            let is_it = id.and_then(|id| u64::try_from(id).ok()) == Some(sent.document);
            if is_it {
                Ok(())
            } else {
                Err(ResponseError::Document)
            }
        }
        _ => Err(ResponseError::Count {
            found: i64::try_from(batch.iter().count()).unwrap_or(i64::MAX),
            expected: 1,
        }),
    }
}

/// Checks the response to an insert of the preload: documents that exist already are no error.
pub(super) fn check_preload<'a>(
    header: &Header,
    message: &'a [u8],
    request_id: i32,
) -> Result<(), ResponseError<'a>> {
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
