//! What an update does to a document.

use std::cmp::Ordering;

use super::failure::{Code, Failure};
use super::node::{self, Fields, Make, Node};
use super::number::{NoNumber, Operator, calculate};
use super::show::Shown;
use crate::bson::{DOCUMENT_BYTES_MAX, Doc, Value, compare, document};

/// An update, read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Update<'a> {
    /// This document instead.
    Replace(Doc<'a>),
    /// These changes, in order.
    Change(Vec<Change<'a>>),
}

/// One operator on one field.
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
    /// The lesser (or greater) of this and what is there.
    Extreme(Ordering, Value<'a>),
    Unset,
    Push(Value<'a>),
    AddToSet(Value<'a>),
    Pull(Value<'a>),
    Now,
}

/// Whether the document is a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    Update,
    Insert,
}

impl<'a> Update<'a> {
    /// Reads an update as drivers send it.
    pub(crate) fn read(value: Value<'a>) -> Result<Self, Failure> {
        let doc = match value {
            Value::Document(doc) => doc,
            Value::Array(_) => return Err(Failure::unserved("an update by a pipeline")),
            _ => {
                return Err(Failure::new(
                    Code::FailedToParse,
                    "an update must be a document",
                ));
            }
        };
        if doc.first().is_none_or(|(name, _)| !name.starts_with('$')) {
            if let Some((name, _)) = doc.iter().find(|(name, _)| name.starts_with('$')) {
                return Err(Failure::new(
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
                Failure::new(
                    Code::FailedToParse,
                    format!(
                        "Modifiers operate on fields but {operator} has {}",
                        Shown(fields)
                    ),
                )
            })?;
            for (path, operand) in fields {
                check_path(path)?;
                if let Some(other) = changes.iter().find(|other| conflict(other.path, path)) {
                    return Err(Failure::new(
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

    /// The document after the update; `_id` stays. `now_ms` is the time for `$currentDate`.
    pub(crate) fn apply(
        &self,
        old: Doc<'_>,
        occasion: Occasion,
        now_ms: i64,
    ) -> Result<Vec<u8>, Failure> {
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
                let mut fields = node::open(old);
                for change in changes {
                    change.apply(&mut fields, occasion, now_ms)?;
                }
                document(&mut new, |w| node::write(&fields, w));
            }
        }
        check_changed(old, &new)?;
        Ok(new)
    }
}

/// `_id` is what it was, and the document is one that can be stored.
fn check_changed(old: Doc<'_>, new: &[u8]) -> Result<(), Failure> {
    if new.len() > DOCUMENT_BYTES_MAX {
        return Err(Failure::new(
            Code::BSONObjectTooLarge,
            format!(
                "the document would have {} bytes; at most {DOCUMENT_BYTES_MAX}",
                new.len()
            ),
        ));
    }
    // A path of many names makes documents within documents.
    let new = Doc::check(new).map_err(|error| Failure::bad(error.to_string()))?;
    let (before, after) = (old.get("_id"), new.get("_id"));
    match (before, after) {
        (Some(before), Some(after)) if compare(&before, &after) == Ordering::Equal => Ok(()),
        (None, _) => Ok(()),
        _ => Err(immutable_id()),
    }
}

/// What is said when `_id` would change.
pub(crate) fn immutable_id() -> Failure {
    Failure::new(
        Code::ImmutableField,
        "Performing an update on the path '_id' would modify the immutable field '_id'",
    )
}

fn check_path(path: &str) -> Result<(), Failure> {
    for name in path.split('.') {
        if name.is_empty() {
            return Err(Failure::new(
                Code::EmptyFieldName,
                format!(
                    "The update path '{path}' contains an empty field name, which is not allowed."
                ),
            ));
        }
        if name.starts_with("$[") || name == "$" {
            return Err(Failure::unserved("a positional operator in an update"));
        }
        if name.starts_with('$') {
            return Err(Failure::new(
                Code::DollarPrefixedFieldName,
                format!("The dollar ($) prefixed field '{name}' in '{path}' is not allowed"),
            ));
        }
    }
    Ok(())
}

/// Whether one path is the other or lies in it.
fn conflict(one: &str, other: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    within(one, other) || within(other, one)
}

fn action<'a>(operator: &str, operand: Value<'a>) -> Result<Action<'a>, Failure> {
    Ok(match operator {
        "$set" => Action::Set(operand),
        "$setOnInsert" => Action::SetOnInsert(operand),
        "$inc" => Action::Calculate(Operator::Add, operand),
        "$mul" => Action::Calculate(Operator::Multiply, operand),
        "$min" => Action::Extreme(Ordering::Less, operand),
        "$max" => Action::Extreme(Ordering::Greater, operand),
        "$unset" => Action::Unset,
        "$push" => Action::Push(operand),
        "$addToSet" => Action::AddToSet(operand),
        "$pull" => match operand {
            Value::Document(_) | Value::Regex { .. } => {
                return Err(Failure::unserved("$pull by a condition"));
            }
            value => Action::Pull(value),
        },
        "$currentDate" => Action::Now,
        _ => {
            return Err(Failure::new(
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
        occasion: Occasion,
        now_ms: i64,
    ) -> Result<(), Failure> {
        let make = match self.action {
            Action::Unset | Action::Pull(_) => Make::Nothing,
            Action::SetOnInsert(_) if occasion == Occasion::Update => return Ok(()),
            _ => Make::Documents,
        };
        node::change(fields, self.path, make, &mut |old| match self.action {
            Action::Set(value) | Action::SetOnInsert(value) => Ok(Some(Node::Value(value))),
            Action::Unset => Ok(None),
            Action::Now => Ok(Some(Node::Value(Value::Date(now_ms)))),
            Action::Calculate(operator, operand) => self.calculated(old, operator, operand),
            Action::Extreme(wanted, value) => {
                let beats = match old.as_ref().and_then(Node::closed) {
                    Some(old) => compare(&value, &old) == wanted,
                    None => old.is_none(),
                };
                Ok(if beats { Some(Node::Value(value)) } else { old })
            }
            Action::Push(operand) => self.pushed(old, operand, Repeats::Allowed),
            Action::AddToSet(operand) => self.pushed(old, operand, Repeats::Left),
            Action::Pull(value) => match old {
                Some(mut old) => {
                    let items = old.items().ok_or_else(|| self.no_array("$pull"))?;
                    items.retain(|item| !is(item, value));
                    Ok(Some(old))
                }
                None => Ok(None),
            },
        })
    }

    fn calculated(
        &self,
        old: Option<Node<'a>>,
        operator: Operator,
        operand: Value<'a>,
    ) -> Result<Option<Node<'a>>, Failure> {
        let shown = |value: Option<Value<'_>>| Shown(value.unwrap_or(Value::Null)).to_string();
        let before = match &old {
            Some(node) => node.closed().unwrap_or(Value::Document(Doc::EMPTY)),
            None => Value::Int32(0),
        };
        match calculate(&before, operator, &operand) {
            Ok(value) => Ok(Some(Node::Value(value))),
            Err(NoNumber::Overflow) => Err(Failure::bad(format!(
                "Failed to apply the operation to current value {}: it does not fit 64 bits",
                shown(Some(before))
            ))),
            Err(NoNumber::Type) => Err(Failure::new(
                Code::TypeMismatch,
                format!(
                    "Cannot calculate with {} and {} at '{}': both must be numbers, and no decimals",
                    shown(Some(before)),
                    Shown(operand),
                    self.path
                ),
            )),
        }
    }

    fn pushed(
        &self,
        old: Option<Node<'a>>,
        operand: Value<'a>,
        repeats: Repeats,
    ) -> Result<Option<Node<'a>>, Failure> {
        let mut node = old.unwrap_or(Node::Array(Vec::new()));
        let items = node.items().ok_or_else(|| self.no_array("$push"))?;
        let mut push = |value: Value<'a>| {
            if repeats == Repeats::Allowed || !items.iter().any(|item| is(item, value)) {
                items.push(Node::Value(value));
            }
        };
        match operand.as_doc().map(|doc| (doc, doc.get("$each"))) {
            Some((doc, Some(Value::Array(each)))) => {
                if doc.iter().count() > 1 {
                    return Err(Failure::unserved("$push with more than $each"));
                }
                each.values().for_each(push);
            }
            Some((_, Some(_))) => return Err(Failure::bad("$each needs an array")),
            Some((_, None)) | None => push(operand),
        }
        Ok(Some(node))
    }

    fn no_array(&self, operator: &str) -> Failure {
        Failure::bad(format!(
            "The field '{}' must be an array for {operator}",
            self.path
        ))
    }
}

/// Whether an item that is there already is added again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeats {
    Allowed,
    Left,
}

fn is(item: &Node<'_>, value: Value<'_>) -> bool {
    item.closed()
        .is_some_and(|item| compare(&item, &value) == Ordering::Equal)
}
