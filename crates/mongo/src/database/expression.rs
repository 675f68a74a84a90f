//! Aggregation expressions: fields, constants and documents of them.

use super::command_error::{Code, CommandError};
use super::path;
use crate::bson::{Doc, Value, Writer};

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression<'a> {
    /// `"$a.b"`; paths lead through documents only, not arrays.
    Field(&'a str),
    Constant(Value<'a>),
    Document(Vec<(&'a str, Expression<'a>)>),
}

impl<'a> Expression<'a> {
    pub(crate) fn read(value: Value<'a>) -> Result<Self, CommandError> {
        match value {
            Value::String("$$ROOT" | "$$CURRENT") => Ok(Self::Field("")),
            Value::String(text) if text.starts_with("$$") => {
                Err(CommandError::unsupported(&format!("the variable {text}")))
            }
            Value::String(text) => Ok(match text.strip_prefix('$') {
                Some("") => {
                    return Err(CommandError::bad_value(
                        "'$' by itself is not a valid FieldPath",
                    ));
                }
                Some(path) => Self::Field(path),
                None => Self::Constant(value),
            }),
            Value::Document(doc) => match doc.first() {
                Some(("$literal", literal)) => Ok(Self::Constant(literal)),
                Some((operator, _)) if operator.starts_with('$') => Err(CommandError::new(
                    Code::InvalidPipelineOperator,
                    format!(
                        "Unrecognized expression '{operator}'; served are fields, constants, documents and $literal"
                    ),
                )),
                _ => doc
                    .iter()
                    .map(|(key, value)| Ok((key, Self::read(value)?)))
                    .collect::<Result<_, CommandError>>()
                    .map(Self::Document),
            },
            value => Ok(Self::Constant(value)),
        }
    }

    /// Writes the value of the expression for a document; nothing if a field is missing.
    pub(crate) fn write(&self, key: &str, doc: Doc<'_>, w: &mut Writer<'_>) {
        match self {
            Self::Document(fields) => {
                w.doc(key, |w| {
                    for (key, expression) in fields {
                        expression.write(key, doc, w);
                    }
                });
            }
            Self::Field("") => {
                w.value(key, Value::Document(doc));
            }
            Self::Field(path) => {
                if let Some(value) = path::at(doc, path) {
                    w.value(key, value);
                }
            }
            Self::Constant(value) => {
                w.value(key, *value);
            }
        }
    }
}
