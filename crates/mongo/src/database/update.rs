//! Update documents: parsing, and application to a document.

use std::cmp::Ordering;

use super::command_error::{Code, CommandError};
use super::display::Displayed;
use super::node::{self, Fields, MissingPath, Node};
use super::number::{ArithmeticError, Operator, calculate};
use crate::bson::{DOCUMENT_BYTES_MAX, Doc, Value, compare, document};

/// A parsed update.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Update<'a> {
    /// Replace the document.
    Replace(Doc<'a>),
    /// Apply these changes in order.
    Change(Vec<Change<'a>>),
}

/// One update operator on one field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change<'a> {
    path: &'a str,
    action: Action<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Action<'a> {
    Set(Value<'a>),
    SetOnInsert(Value<'a>),
    Calculate(Operator, Value<'a>),
    /// The smaller (or larger) of this and the current value.
    MinMax(Ordering, Value<'a>),
    Unset,
    Push(Value<'a>),
    AddToSet(Value<'a>),
    Pull(Value<'a>),
    Now,
}

/// Whether an update changes a document or creates one (upsert).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteKind {
    Update,
    Insert,
}

impl<'a> Update<'a> {
    /// Parses an update.
    pub(crate) fn read(value: Value<'a>) -> Result<Self, CommandError> {
        let doc = match value {
            Value::Document(doc) => doc,
            Value::Array(_) => return Err(CommandError::unsupported("an update by a pipeline")),
            _ => {
                return Err(CommandError::new(
                    Code::FailedToParse,
                    "an update must be a document",
                ));
            }
        };
        if doc.first().is_none_or(|(name, _)| !name.starts_with('$')) {
            if let Some((name, _)) = doc.iter().find(|(name, _)| name.starts_with('$')) {
                return Err(CommandError::new(
                    Code::DollarPrefixedFieldName,
                    format!(
                        "The dollar ($) prefixed field '{name}' is not allowed in a replacement"
                    ),
                ));
            }
            return Ok(Self::Replace(doc));
        }
        let mut changes: Vec<Change<'a>> = Vec::new();
        for (operator, fields) in doc {
            let fields = fields.as_doc().ok_or_else(|| {
                CommandError::new(
                    Code::FailedToParse,
                    format!(
                        "Modifiers operate on fields but {operator} has {}",
                        Displayed(fields)
                    ),
                )
            })?;
            for (path, operand) in fields {
                check_path(path)?;
                if let Some(other) = changes.iter().find(|other| conflict(other.path, path)) {
                    return Err(CommandError::new(
                        Code::ConflictingUpdateOperators,
                        format!(
                            "Updating the path '{path}' would create a conflict at '{}'",
                            other.path
                        ),
                    ));
                }
                let action = action(operator, operand)?;
                changes.push(Change { path, action });
            }
        }
        Ok(Self::Change(changes))
    }

    /// The updated document; `_id` is kept. `now_ms` is the time for `$currentDate`.
    pub(crate) fn apply(
        &self,
        old: Doc<'_>,
        write_kind: WriteKind,
        now_ms: i64,
    ) -> Result<Vec<u8>, CommandError> {
        let mut new = Vec::with_capacity(old.bytes().len() + 64);
        match self {
            Self::Replace(doc) => {
                let id = old.get("_id");
                document(&mut new, |w| {
                    if let Some(id) = id.or(doc.get("_id")) {
                        w.value("_id", id);
                    }
                    for (key, value) in doc.iter().filter(|(key, _)| *key != "_id") {
                        w.value(key, value);
                    }
                });
            }
            Self::Change(changes) => {
                let mut fields = node::expand(old);
                for change in changes {
                    change.apply(&mut fields, write_kind, now_ms)?;
                }
                document(&mut new, |w| node::write(&fields, w));
            }
        }
        check_changed(old, &new)?;
        Ok(new)
    }
}

/// Checks that `_id` is unchanged and the document can be stored.
fn check_changed(old: Doc<'_>, new: &[u8]) -> Result<(), CommandError> {
    if new.len() > DOCUMENT_BYTES_MAX {
        return Err(CommandError::new(
            Code::BSONObjectTooLarge,
            format!(
                "the document would have {} bytes; at most {DOCUMENT_BYTES_MAX}",
                new.len()
            ),
        ));
    }
    // A path of many names creates nested documents.
    let new = Doc::check(new).map_err(|error| CommandError::bad_value(error.to_string()))?;
    let (before, after) = (old.get("_id"), new.get("_id"));
    match (before, after) {
        (Some(before), Some(after)) if compare(&before, &after) == Ordering::Equal => Ok(()),
        (None, _) => Ok(()),
        _ => Err(immutable_id()),
    }
}

/// The error for a changed `_id`.
pub(crate) fn immutable_id() -> CommandError {
    CommandError::new(
        Code::ImmutableField,
        "Performing an update on the path '_id' would modify the immutable field '_id'",
    )
}

fn check_path(path: &str) -> Result<(), CommandError> {
    for name in path.split('.') {
        if name.is_empty() {
            return Err(CommandError::new(
                Code::EmptyFieldName,
                format!(
                    "The update path '{path}' contains an empty field name, which is not allowed."
                ),
            ));
        }
        if name.starts_with("$[") || name == "$" {
            return Err(CommandError::unsupported(
                "a positional operator in an update",
            ));
        }
        if name.starts_with('$') {
            return Err(CommandError::new(
                Code::DollarPrefixedFieldName,
                format!("The dollar ($) prefixed field '{name}' in '{path}' is not allowed"),
            ));
        }
    }
    Ok(())
}

/// Whether one path is a prefix of the other.
fn conflict(one: &str, other: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    within(one, other) || within(other, one)
}

fn action<'a>(operator: &str, operand: Value<'a>) -> Result<Action<'a>, CommandError> {
    Ok(match operator {
        "$set" => Action::Set(operand),
        "$setOnInsert" => Action::SetOnInsert(operand),
        "$inc" => Action::Calculate(Operator::Add, operand),
        "$mul" => Action::Calculate(Operator::Multiply, operand),
        "$min" => Action::MinMax(Ordering::Less, operand),
        "$max" => Action::MinMax(Ordering::Greater, operand),
        "$unset" => Action::Unset,
        "$push" => Action::Push(operand),
        "$addToSet" => Action::AddToSet(operand),
        "$pull" => match operand {
            Value::Document(_) | Value::Regex { .. } => {
                return Err(CommandError::unsupported("$pull by a condition"));
            }
            value => Action::Pull(value),
        },
        "$currentDate" => Action::Now,
        _ => {
            return Err(CommandError::new(
                Code::FailedToParse,
                format!(
                    "Unknown modifier: {operator}. Served are $set $setOnInsert $inc $mul $min $max $unset $push $addToSet $pull $currentDate"
                ),
            ));
        }
    })
}

impl<'a> Change<'a> {
    fn apply(
        &self,
        fields: &mut Fields<'a>,
        write_kind: WriteKind,
        now_ms: i64,
    ) -> Result<(), CommandError> {
        let missing = match self.action {
            Action::Unset | Action::Pull(_) => MissingPath::Ignore,
            Action::SetOnInsert(_) if write_kind == WriteKind::Update => return Ok(()),
            _ => MissingPath::Create,
        };
        node::change(fields, self.path, missing, &mut |old| match self.action {
            Action::Set(value) | Action::SetOnInsert(value) => Ok(Some(Node::Value(value))),
            Action::Unset => Ok(None),
            Action::Now => Ok(Some(Node::Value(Value::Date(now_ms)))),
            Action::Calculate(operator, operand) => self.apply_arithmetic(old, operator, operand),
            Action::MinMax(wanted, value) => {
                let beats = match old.as_ref().and_then(Node::as_value) {
                    Some(old) => compare(&value, &old) == wanted,
                    None => old.is_none(),
                };
                Ok(if beats { Some(Node::Value(value)) } else { old })
            }
            Action::Push(operand) => self.apply_push(old, operand, Duplicates::Allowed),
            Action::AddToSet(operand) => self.apply_push(old, operand, Duplicates::Skipped),
            Action::Pull(value) => match old {
                Some(mut old) => {
                    let items = old.items().ok_or_else(|| self.no_array("$pull"))?;
                    items.retain(|item| !equals(item, value));
                    Ok(Some(old))
                }
                None => Ok(None),
            },
        })
    }

    fn apply_arithmetic(
        &self,
        old: Option<Node<'a>>,
        operator: Operator,
        operand: Value<'a>,
    ) -> Result<Option<Node<'a>>, CommandError> {
        let displayed =
            |value: Option<Value<'_>>| Displayed(value.unwrap_or(Value::Null)).to_string();
        let before = match &old {
            Some(node) => node.as_value().unwrap_or(Value::Document(Doc::EMPTY)),
            None => Value::Int32(0),
        };
        match calculate(&before, operator, &operand) {
            Ok(value) => Ok(Some(Node::Value(value))),
            Err(ArithmeticError::Overflow) => Err(CommandError::bad_value(format!(
                "Failed to apply the operation to current value {}: it does not fit 64 bits",
                displayed(Some(before))
            ))),
            Err(ArithmeticError::Type) => Err(CommandError::new(
                Code::TypeMismatch,
                format!(
                    "Cannot calculate with {} and {} at '{}': both must be numbers, and no decimals",
                    displayed(Some(before)),
                    Displayed(operand),
                    self.path
                ),
            )),
        }
    }

    fn apply_push(
        &self,
        old: Option<Node<'a>>,
        operand: Value<'a>,
        duplicates: Duplicates,
    ) -> Result<Option<Node<'a>>, CommandError> {
        let mut node = old.unwrap_or(Node::Array(Vec::new()));
        let items = node.items().ok_or_else(|| self.no_array("$push"))?;
        let mut push = |value: Value<'a>| {
            if duplicates == Duplicates::Allowed || !items.iter().any(|item| equals(item, value)) {
                items.push(Node::Value(value));
            }
        };
        match operand.as_doc().map(|doc| (doc, doc.get("$each"))) {
            Some((doc, Some(Value::Array(each)))) => {
                if doc.iter().count() > 1 {
                    return Err(CommandError::unsupported("$push with more than $each"));
                }
                each.values().for_each(push);
            }
            Some((_, Some(_))) => return Err(CommandError::bad_value("$each needs an array")),
            Some((_, None)) | None => push(operand),
        }
        Ok(Some(node))
    }

    fn no_array(&self, operator: &str) -> CommandError {
        CommandError::bad_value(format!(
            "The field '{}' must be an array for {operator}",
            self.path
        ))
    }
}

/// Whether values that the array already contains are added again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duplicates {
    Allowed,
    Skipped,
}

fn equals(item: &Node<'_>, value: Value<'_>) -> bool {
    item.as_value()
        .is_some_and(|item| compare(&item, &value) == Ordering::Equal)
}
