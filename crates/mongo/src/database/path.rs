//! Dotted paths into documents and arrays, as in filters and indexes.

use crate::bson::{Doc, Value};

/// Whether any value at the path passes. A missing value is `None`; arrays at the end of the path are passed as a whole.
///
/// An array within the path is searched in each of its documents, and by index if the path has a number.
pub(crate) fn any_at<'a>(
    doc: Doc<'a>,
    path: &str,
    pass: &mut dyn FnMut(Option<Value<'a>>) -> bool,
) -> bool {
    let (name, rest) = split(path);
    match (doc.get(name), rest) {
        (None, _) => pass(None),
        (found, None) => pass(found),
        (Some(value), Some(rest)) => any_below(value, rest, pass),
    }
}

fn any_below<'a>(
    value: Value<'a>,
    path: &str,
    pass: &mut dyn FnMut(Option<Value<'a>>) -> bool,
) -> bool {
    match value {
        Value::Document(doc) => any_at(doc, path, pass),
        Value::Array(items) => {
            let (name, rest) = split(path);
            let indexed = name.parse().ok().and_then(|at| items.values().nth(at));
            let by_index = match (indexed, rest) {
                (None, _) => false,
                (found, None) => pass(found),
                (Some(item), Some(rest)) => any_below(item, rest, pass),
            };
            by_index
                || items.values().any(|item| match item {
                    Value::Document(doc) => any_at(doc, path, pass),
                    _ => false,
                })
        }
        _ => pass(None),
    }
}

/// The value at a path that leads through documents only, as in expressions.
pub(crate) fn at<'a>(doc: Doc<'a>, path: &str) -> Option<Value<'a>> {
    let (name, rest) = split(path);
    let value = doc.get(name)?;
    match rest {
        None => Some(value),
        Some(rest) => at(value.as_doc()?, rest),
    }
}

/// The first name of a path, and the rest.
pub(crate) fn split(path: &str) -> (&str, Option<&str>) {
    match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    }
}
