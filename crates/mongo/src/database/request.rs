//! A parsed command: name, kind, database, fields, document sequences; and checks of what commands contain.

use super::command_error::{Code, CommandError, Result};
use crate::bson::{Doc, Value};
use crate::message::Msg;

/// Length of a namespace, as in MongoDB.
const NAMESPACE_BYTES_MAX: usize = 255;

macro_rules! operations {
    ($($name:ident = $command:literal,)*) => {
        /// A kind of operation, for counters.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Operation {
            $($name,)*
            /// Every other command, known or not.
            Command,
        }

        impl Operation {
            /// All kinds, by index.
            pub const ALL: [Self; 9] = [$(Self::$name,)* Self::Command];

            /// The name in counters: that of the command.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $command,)*
                    Self::Command => "command",
                }
            }
        }
    };
}

operations! {
    Hello = "hello",
    Insert = "insert",
    Find = "find",
    GetMore = "getMore",
    Update = "update",
    Delete = "delete",
    FindAndModify = "findAndModify",
    Aggregate = "aggregate",
}

impl Operation {
    /// The kind of a command.
    #[must_use]
    pub fn of(command: &str) -> Self {
        if matches!(command, "isMaster" | "ismaster") {
            return Self::Hello;
        }
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.name() == command)
            .unwrap_or(Self::Command)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub name: &'a str,
    pub database: &'a str,
    pub body: Doc<'a>,
    msg: Option<Msg<'a>>,
}

impl<'a> Request<'a> {
    /// The command of an OP_MSG.
    pub(crate) fn of_msg(msg: Msg<'a>) -> Result<Self> {
        let name = msg.body.first().map_or("", |(name, _)| name);
        let database = msg
            .body
            .get("$db")
            .and_then(|value| value.as_str())
            .ok_or_else(|| {
                Code::IDLFailedToParse.error("OP_MSG requests require a $db argument")
            })?;
        if database.is_empty() || database.contains(['/', '\\', '.', ' ', '"', '$', '\0']) {
            return Err(
                Code::InvalidNamespace.error(format!("Invalid database name: '{database}'"))
            );
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

    /// The collection of the command.
    pub(crate) fn collection(&self) -> Result<&'a str> {
        let name = self.body.first().and_then(|(_, value)| value.as_str());
        let (database, name) = (self.database, name.unwrap_or_default());
        let is_invalid = name.is_empty()
            || name.contains(['$', '\0'])
            || name.starts_with('.')
            || database.len() + name.len() + 1 > NAMESPACE_BYTES_MAX;
        if is_invalid {
            return Err(Code::InvalidNamespace
                .error(format!("Invalid namespace specified '{database}.{name}'")));
        }
        Ok(name)
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value<'a>> {
        self.body.get(name).filter(|value| *value != Value::Null)
    }

    /// A document field; an empty document if it is missing.
    pub(crate) fn doc(&self, name: &str) -> Result<Doc<'a>> {
        doc_of(self.body, name)
    }

    /// A non-negative integer field.
    pub(crate) fn count(&self, name: &str) -> Result<Option<usize>> {
        count_of(self.body, name)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.is_true())
    }

    /// Rejects options that are not supported.
    pub(crate) fn refuse(&self, names: &[&str]) -> Result<()> {
        reject_unsupported(self.body, names)
    }

    /// A document sequence, or an array field.
    pub(crate) fn documents(&self, name: &str) -> Result<Vec<Doc<'a>>> {
        if let Some(documents) = self.msg.and_then(|msg| msg.sequence(name)) {
            return Ok(documents.collect());
        }
        let missing = || {
            Code::IDLFailedToParse.error(format!(
                "{}.{name} is missing; send an array of documents",
                self.name
            ))
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
pub(crate) fn doc_of<'a>(body: Doc<'a>, name: &str) -> Result<Doc<'a>> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(Doc::EMPTY),
        Some(Value::Document(doc)) => Ok(doc),
        Some(_) => Err(Code::TypeMismatch.error(format!("{name} must be a document"))),
    }
}

/// A non-negative integer within a document.
pub(crate) fn count_of(body: Doc<'_>, name: &str) -> Result<Option<usize>> {
    let Some(value) = body.get(name).filter(|value| *value != Value::Null) else {
        return Ok(None);
    };
    let count = value.as_i64().and_then(|count| usize::try_from(count).ok());
    count.map(Some).ok_or_else(|| {
        Code::TypeMismatch.error(format!("{name} must be a whole number of at least 0"))
    })
}

/// Rejects options of a command, or of one write in it, that are not supported. Null, false and empty values have no effect and
/// are accepted.
pub(crate) fn reject_unsupported(body: Doc<'_>, names: &[&str]) -> Result<()> {
    let found = body.iter().find(|(name, value)| {
        let has_effect = match value {
            Value::Document(doc) | Value::Array(doc) => !doc.is_empty(),
            value => !matches!(value, Value::Null | Value::Bool(false)),
        };
        names.contains(name) && has_effect
    });
    match found {
        Some((name, _)) => Err(CommandError::unsupported(format_args!("the option {name}"))),
        None => Ok(()),
    }
}

/// Rejects paths into documents: only top-level fields can be named.
pub(crate) fn check_field(field: &str) -> Result<()> {
    if field.contains('.') {
        return Err(CommandError::unsupported(format_args!(
            "the path '{field}' into a document"
        )));
    }
    Ok(())
}

/// Rejects types that the database cannot compare as MongoDB does.
pub(crate) fn check_types(value: Value<'_>) -> Result<()> {
    match value {
        Value::Document(doc) | Value::Array(doc) => doc.values().try_for_each(check_types),
        Value::Other { kind, .. } => Err(CommandError::unsupported(format_args!(
            "a value of BSON type {kind:#04x}"
        ))),
        _ => Ok(()),
    }
}
