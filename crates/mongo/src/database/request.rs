//! A parsed command: name, database, fields, document sequences.

use super::command_error::{Code, CommandError};
use crate::bson::{Doc, Value};
use crate::message::Msg;

/// Length of a namespace, as in MongoDB.
const NAMESPACE_BYTES_MAX: usize = 255;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub name: &'a str,
    pub database: &'a str,
    pub body: Doc<'a>,
    msg: Option<Msg<'a>>,
}

impl<'a> Request<'a> {
    /// The command of an OP_MSG.
    pub(crate) fn of_msg(msg: Msg<'a>) -> Result<Self, CommandError> {
        let name = msg.body.first().map_or("", |(name, _)| name);
        let database = msg
            .body
            .get("$db")
            .and_then(|value| value.as_str())
            .ok_or_else(|| {
                CommandError::new(
                    Code::IDLFailedToParse,
                    "OP_MSG requests require a $db argument",
                )
            })?;
        if database.is_empty() || database.contains(['/', '\\', '.', ' ', '"', '$', '\0']) {
            return Err(CommandError::new(
                Code::InvalidNamespace,
                format!("Invalid database name: '{database}'"),
            ));
        }
        Ok(Self {
            name,
            database,
            body: msg.body,
            msg: Some(msg),
        })
    }

    /// The command of an OP_QUERY.
    pub(crate) fn of_query(body: Doc<'a>) -> Self {
        Self {
            name: body.first().map_or("", |(name, _)| name),
            database: "admin",
            body,
            msg: None,
        }
    }

    /// A command nested in this one.
    pub(crate) fn of_body(&self, body: Doc<'a>) -> Self {
        Self {
            name: body.first().map_or("", |(name, _)| name),
            body,
            ..*self
        }
    }

    /// The collection of the command.
    pub(crate) fn collection(&self) -> Result<&'a str, CommandError> {
        let value = self.body.first().map(|(_, value)| value);
        collection_name(
            self.database,
            value.and_then(|value| value.as_str()).unwrap_or(""),
        )
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value<'a>> {
        self.body.get(name).filter(|value| *value != Value::Null)
    }

    /// A document field; an empty document if it is missing.
    pub(crate) fn doc(&self, name: &str) -> Result<Doc<'a>, CommandError> {
        doc_of(self.body, name)
    }

    /// A non-negative integer field.
    pub(crate) fn count(&self, name: &str) -> Result<Option<usize>, CommandError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let count = value.as_i64().and_then(|count| usize::try_from(count).ok());
        count.map(Some).ok_or_else(|| {
            CommandError::new(
                Code::TypeMismatch,
                format!("{name} must be a whole number of at least 0"),
            )
        })
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.is_true())
    }

    /// Rejects options that are not supported.
    pub(crate) fn refuse(&self, names: &[&str]) -> Result<(), CommandError> {
        reject_unsupported(self.body, names)
    }

    /// A document sequence, or an array field.
    pub(crate) fn documents(&self, name: &str) -> Result<Vec<Doc<'a>>, CommandError> {
        if let Some(documents) = self.msg.and_then(|msg| msg.sequence(name)) {
            return Ok(documents.collect());
        }
        let missing = || {
            CommandError::new(
                Code::IDLFailedToParse,
                format!(
                    "{}.{name} is missing; send an array of documents",
                    self.name
                ),
            )
        };
        let items = self
            .get(name)
            .and_then(|value| value.as_array())
            .ok_or_else(missing)?;
        items
            .values()
            .map(|item| item.as_doc().ok_or_else(missing))
            .collect()
    }
}

/// A document within another; an empty one if it is missing.
pub(crate) fn doc_of<'a>(body: Doc<'a>, name: &str) -> Result<Doc<'a>, CommandError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(Doc::EMPTY),
        Some(Value::Document(doc)) => Ok(doc),
        Some(_) => Err(CommandError::new(
            Code::TypeMismatch,
            format!("{name} must be a document"),
        )),
    }
}

/// Rejects options of a command, or of one write in it, that are not supported. False and empty values have no effect and are
/// accepted.
pub(crate) fn reject_unsupported(body: Doc<'_>, names: &[&str]) -> Result<(), CommandError> {
    let found = body.iter().find(|(name, value)| {
        let says_nothing = match value {
            Value::Document(doc) | Value::Array(doc) => doc.is_empty(),
            value => !value.is_true(),
        };
        names.contains(name) && !says_nothing
    });
    match found {
        Some((name, _)) => Err(CommandError::unsupported(&format!("the option {name}"))),
        None => Ok(()),
    }
}

/// Validates a collection name.
pub(crate) fn collection_name<'a>(database: &str, name: &'a str) -> Result<&'a str, CommandError> {
    let unfit = name.is_empty()
        || name.contains(['$', '\0'])
        || name.starts_with('.')
        || database.len() + name.len() + 1 > NAMESPACE_BYTES_MAX;
    if unfit {
        return Err(CommandError::new(
            Code::InvalidNamespace,
            format!("Invalid namespace specified '{database}.{name}'"),
        ));
    }
    Ok(name)
}
