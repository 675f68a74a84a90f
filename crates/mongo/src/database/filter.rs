//! Filters of find, update and delete: parsed once, then applied to every candidate.

use std::cmp::Ordering;

use super::command_error::{Code, CommandError};
use super::path;
use crate::bson::{Doc, Value, compare, type_order_of};

/// A parsed filter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter<'a> {
    /// A value at this path passes the test.
    Field {
        path: &'a str,
        test: Test<'a>,
    },
    All(Vec<Filter<'a>>),
    Any(Vec<Filter<'a>>),
    None(Vec<Filter<'a>>),
}

/// A test of a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test<'a> {
    Equal(Value<'a>),
    Compared(Bound, Value<'a>),
    In(Doc<'a>),
    /// Not all of these hold.
    Not(Vec<Test<'a>>),
    Exists,
    /// An array of this length.
    Size(i64),
    /// An array with an item for which all of these hold.
    Item(Vec<Test<'a>>),
    /// An array with a document that matches.
    Document(Box<Filter<'a>>),
}

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Bound {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order == Ordering::Less,
            Self::LessOrEqual => order != Ordering::Greater,
            Self::Greater => order == Ordering::Greater,
            Self::GreaterOrEqual => order != Ordering::Less,
        }
    }
}

impl<'a> Filter<'a> {
    /// Parses a filter.
    pub(crate) fn read(doc: Doc<'a>) -> Result<Self, CommandError> {
        let mut all = Vec::new();
        for (name, value) in doc {
            match name {
                "$and" => all.push(Self::All(Self::read_list(name, value)?)),
                "$or" => all.push(Self::Any(Self::read_list(name, value)?)),
                "$nor" => all.push(Self::None(Self::read_list(name, value)?)),
                "$comment" => {}
                name if name.starts_with('$') => {
                    return Err(CommandError::bad_value(format!(
                        "unknown top level operator: {name}; served are $and, $or, $nor"
                    )));
                }
                path => {
                    for test in tests(value)? {
                        all.push(Self::Field { path, test });
                    }
                }
            }
        }
        Ok(match all.len() {
            1 => all.swap_remove(0),
            _ => Self::All(all),
        })
    }

    fn read_list(name: &str, value: Value<'a>) -> Result<Vec<Self>, CommandError> {
        let items = value
            .as_array()
            .filter(|items| !items.is_empty())
            .ok_or_else(|| {
                CommandError::bad_value(format!("{name} argument must be a non-empty array"))
            })?;
        items
            .values()
            .map(|item| match item {
                Value::Document(doc) => Self::read(doc),
                _ => Err(CommandError::bad_value(
                    "$or/$and/$nor entries need to be full objects",
                )),
            })
            .collect()
    }

    /// Whether a document matches.
    pub(crate) fn passes(&self, doc: Doc<'_>) -> bool {
        match self {
            Self::Field { path, test } => test.passes_at(doc, path),
            Self::All(filters) => filters.iter().all(|filter| filter.passes(doc)),
            Self::Any(filters) => filters.iter().any(|filter| filter.passes(doc)),
            Self::None(filters) => !filters.iter().any(|filter| filter.passes(doc)),
        }
    }

    /// The tests that every matching document passes.
    pub(crate) fn required<'f>(&'f self, found: &mut Vec<(&'a str, &'f Test<'a>)>) {
        match self {
            Self::Field { path, test } => found.push((path, test)),
            Self::All(filters) => filters.iter().for_each(|filter| filter.required(found)),
            Self::Any(_) | Self::None(_) => {}
        }
    }
}

/// The tests on one field: a value to equal, or operators.
fn tests(value: Value<'_>) -> Result<Vec<Test<'_>>, CommandError> {
    match value {
        Value::Document(doc) if doc.first().is_some_and(|(name, _)| name.starts_with('$')) => doc
            .iter()
            .map(|(name, operand)| test(name, operand))
            .collect(),
        value => Ok(vec![Test::Equal(check_operand(value)?)]),
    }
}

fn test<'a>(name: &str, operand: Value<'a>) -> Result<Test<'a>, CommandError> {
    let list = || {
        operand
            .as_array()
            .ok_or_else(|| CommandError::bad_value(format!("{name} needs an array")))
    };
    let values = || {
        let items = list()?;
        for item in items.values() {
            check_operand(item)?;
        }
        Ok::<_, CommandError>(items)
    };
    Ok(match name {
        "$eq" => Test::Equal(check_operand(operand)?),
        "$ne" => Test::Not(vec![Test::Equal(check_operand(operand)?)]),
        "$gt" => Test::Compared(Bound::Greater, check_operand(operand)?),
        "$gte" => Test::Compared(Bound::GreaterOrEqual, check_operand(operand)?),
        "$lt" => Test::Compared(Bound::Less, check_operand(operand)?),
        "$lte" => Test::Compared(Bound::LessOrEqual, check_operand(operand)?),
        "$in" => Test::In(values()?),
        "$nin" => Test::Not(vec![Test::In(values()?)]),
        "$exists" if operand.is_true() => Test::Exists,
        "$exists" => Test::Not(vec![Test::Exists]),
        "$not" => match operand {
            Value::Document(doc) if !doc.is_empty() => Test::Not(
                doc.iter()
                    .map(|(name, operand)| test(name, operand))
                    .collect::<Result<_, _>>()?,
            ),
            _ => {
                return Err(CommandError::bad_value(
                    "$not needs a document of operators",
                ));
            }
        },
        "$size" => Test::Size(operand.as_i64().filter(|&size| size >= 0).ok_or_else(|| {
            CommandError::bad_value("$size must be a whole number of at least 0")
        })?),
        "$elemMatch" => item_test(operand)?,
        _ => {
            return Err(CommandError::bad_value(format!(
                "unknown operator: {name}; served are $eq $ne $gt $gte $lt $lte $in $nin $exists $not $size $elemMatch"
            )));
        }
    })
}

fn item_test(operand: Value<'_>) -> Result<Test<'_>, CommandError> {
    let Value::Document(doc) = operand else {
        return Err(CommandError::bad_value("$elemMatch needs an Object"));
    };
    match doc.first() {
        Some((name, _)) if name.starts_with('$') && !matches!(name, "$and" | "$or" | "$nor") => {
            Ok(Test::Item(tests(operand)?))
        }
        _ => Ok(Test::Document(Box::new(Filter::read(doc)?))),
    }
}

/// Rejects operands that MongoDB treats as patterns, not values.
fn check_operand(value: Value<'_>) -> Result<Value<'_>, CommandError> {
    match value {
        Value::Regex { .. } => Err(CommandError::unsupported(
            "a regular expression in a filter",
        )),
        Value::Undefined => Err(CommandError::new(
            Code::BadValue,
            "cannot compare to undefined",
        )),
        value => Ok(value),
    }
}

impl Test<'_> {
    fn passes_at(&self, doc: Doc<'_>, path: &str) -> bool {
        match self {
            Self::Not(tests) => !tests.iter().all(|test| test.passes_at(doc, path)),
            Self::Exists | Self::Size(_) | Self::Item(_) | Self::Document(_) => {
                path::any_at(doc, path, &mut |value| self.holds(value))
            }
            Self::Equal(_) | Self::Compared(..) | Self::In(_) => {
                path::any_at(doc, path, &mut |value| {
                    self.holds(value)
                        || matches!(value, Some(Value::Array(items))
                            if items.values().any(|item| self.holds(Some(item))))
                })
            }
        }
    }

    /// Whether it holds for this value, without looking into arrays.
    fn holds(&self, value: Option<Value<'_>>) -> bool {
        let present = value.unwrap_or(Value::Null);
        match self {
            Self::Equal(wanted) => compare(&present, wanted) == Ordering::Equal,
            Self::Compared(bound, limit) => compared(*bound, &present, limit),
            Self::In(items) => items
                .values()
                .any(|wanted| compare(&present, &wanted) == Ordering::Equal),
            Self::Not(tests) => !tests.iter().all(|test| test.holds(value)),
            Self::Exists => value.is_some(),
            Self::Size(size) => matches!(value, Some(Value::Array(items))
                if i64::try_from(items.iter().count()) == Ok(*size)),
            Self::Item(tests) => matches!(value, Some(Value::Array(items))
                if items.values().any(|item| tests.iter().all(|test| test.holds(Some(item))))),
            Self::Document(filter) => matches!(value, Some(Value::Array(items))
                if items.values().any(|item| item.as_doc().is_some_and(|doc| filter.passes(doc)))),
        }
    }
}

/// Only values of the same type order compare; NaN is neither above nor below anything.
fn compared(bound: Bound, value: &Value<'_>, limit: &Value<'_>) -> bool {
    let nan = |value: &Value<'_>| matches!(value, Value::Double(number) if number.is_nan());
    let order = compare(value, limit);
    type_order_of(value) == type_order_of(limit)
        && (order == Ordering::Equal || nan(value) == nan(limit))
        && bound.holds(order)
}
