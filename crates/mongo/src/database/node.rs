//! A document during an update: only changed parts are expanded, the rest stays encoded bytes of the old document or the
//! update.

use super::command_error::{Code, CommandError};
use super::path::split;
use crate::bson::{Doc, Value, Writer};

/// Items by which an update may extend an array beyond its end.
const PADDING_MAX: usize = 100_000;

/// A value, expanded as far as it was changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node<'a> {
    Value(Value<'a>),
    Doc(Fields<'a>),
    Array(Vec<Node<'a>>),
}

/// The elements of an expanded document.
pub(crate) type Fields<'a> = Vec<(&'a str, Node<'a>)>;

/// Expands a document by one level.
pub(crate) fn expand(doc: Doc<'_>) -> Fields<'_> {
    doc.iter()
        .map(|(key, value)| (key, Node::Value(value)))
        .collect()
}

pub(crate) fn write(fields: &Fields<'_>, w: &mut Writer<'_>) {
    for (key, node) in fields {
        node.write(key, w);
    }
}

impl<'a> Node<'a> {
    fn write(&self, key: &str, w: &mut Writer<'_>) {
        match self {
            Self::Value(value) => {
                w.value(key, *value);
            }
            Self::Doc(fields) => {
                w.doc(key, |w| write(fields, w));
            }
            Self::Array(items) => {
                w.array(key, |list| {
                    for item in items {
                        item.write_item(list);
                    }
                });
            }
        }
    }

    fn write_item(&self, list: &mut crate::bson::ArrayWriter<'_>) {
        match self {
            Self::Value(value) => {
                list.value(*value);
            }
            Self::Doc(fields) => {
                list.doc(|w| write(fields, w));
            }
            Self::Array(items) => {
                list.array(|list| items.iter().for_each(|item| item.write_item(list)));
            }
        }
    }

    /// The encoded value, unless it was expanded.
    pub(crate) fn as_value(&self) -> Option<Value<'a>> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Doc(_) | Self::Array(_) => None,
        }
    }

    /// Expands it as an array.
    pub(crate) fn items(&mut self) -> Option<&mut Vec<Node<'a>>> {
        if let Self::Value(Value::Array(items)) = self {
            *self = Self::Array(items.values().map(Node::Value).collect());
        }
        match self {
            Self::Array(items) => Some(items),
            Self::Value(_) | Self::Doc(_) => None,
        }
    }

    fn expanded(&mut self) -> &mut Self {
        match self {
            Self::Value(Value::Document(doc)) => *self = Self::Doc(expand(*doc)),
            Self::Value(Value::Array(items)) => {
                *self = Self::Array(items.values().map(Node::Value).collect());
            }
            Self::Value(_) | Self::Doc(_) | Self::Array(_) => {}
        }
        self
    }
}

/// Changes the value at a path. The closure maps the old value to the new one; `None` is no value.
pub(crate) fn change<'a>(
    fields: &mut Fields<'a>,
    path: &'a str,
    missing: MissingPath,
    with: &mut dyn FnMut(Option<Node<'a>>) -> Result<Option<Node<'a>>, CommandError>,
) -> Result<(), CommandError> {
    let (name, rest) = split(path);
    let at = fields.iter().position(|(key, _)| *key == name);
    let Some(rest) = rest else {
        match at {
            Some(at) => {
                let old = std::mem::replace(&mut fields[at].1, Node::Value(Value::Null));
                match with(Some(old))? {
                    Some(new) => fields[at].1 = new,
                    None => {
                        fields.remove(at);
                    }
                }
            }
            None => {
                if let Some(new) = with(None)? {
                    fields.push((name, new));
                }
            }
        }
        return Ok(());
    };
    match at {
        Some(at) => change_below(&mut fields[at].1, name, rest, missing, with),
        None if missing == MissingPath::Ignore => Ok(()),
        None => {
            let mut below = Vec::new();
            change(&mut below, rest, missing, with)?;
            fields.push((name, Node::Doc(below)));
            Ok(())
        }
    }
}

/// What to do if the path does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingPath {
    Create,
    Ignore,
}

fn change_below<'a>(
    node: &mut Node<'a>,
    name: &str,
    path: &'a str,
    missing: MissingPath,
    with: &mut dyn FnMut(Option<Node<'a>>) -> Result<Option<Node<'a>>, CommandError>,
) -> Result<(), CommandError> {
    let not_viable = |name: &str| {
        CommandError::new(
            Code::PathNotViable,
            format!("Cannot create field '{path}' in element {name}: it is no document"),
        )
    };
    match node.expanded() {
        Node::Doc(fields) => change(fields, path, missing, with),
        Node::Array(items) => {
            let (index, rest) = split(path);
            let Ok(at) = index.parse::<usize>() else {
                return match missing {
                    MissingPath::Ignore => Ok(()),
                    MissingPath::Create => Err(not_viable(name)),
                };
            };
            if at >= items.len() {
                if missing == MissingPath::Ignore {
                    return Ok(());
                }
                if at - items.len() > PADDING_MAX {
                    return Err(not_viable(name));
                }
                items.resize_with(at + 1, || Node::Value(Value::Null));
                if rest.is_some() {
                    items[at] = Node::Doc(Vec::new());
                }
            }
            match rest {
                Some(rest) => change_below(&mut items[at], index, rest, missing, with),
                None => {
                    let old = std::mem::replace(&mut items[at], Node::Value(Value::Null));
                    // A removed item is replaced by null, so that the others keep their index.
                    items[at] = with(Some(old))?.unwrap_or(Node::Value(Value::Null));
                    Ok(())
                }
            }
        }
        Node::Value(_) if missing == MissingPath::Ignore => Ok(()),
        Node::Value(_) => Err(not_viable(name)),
    }
}
