//! A document being changed: what is touched is opened up, the rest stays bytes of the old document or of the update.

use super::failure::{Code, Failure};
use super::path::split;
use crate::bson::{Doc, Value, Writer};

/// Items that a path may add to an array beyond its end.
const PADDING_MAX: usize = 100_000;

/// A value, opened as far as it was changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node<'a> {
    Value(Value<'a>),
    Doc(Fields<'a>),
    Array(Vec<Node<'a>>),
}

/// The elements of an opened document.
pub(crate) type Fields<'a> = Vec<(&'a str, Node<'a>)>;

/// The elements of a document, each closed.
pub(crate) fn open(doc: Doc<'_>) -> Fields<'_> {
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

    fn write_item(&self, list: &mut crate::bson::Items<'_>) {
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

    /// The value, if it was not opened.
    pub(crate) fn closed(&self) -> Option<Value<'a>> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Doc(_) | Self::Array(_) => None,
        }
    }

    /// As an array, opened.
    pub(crate) fn items(&mut self) -> Option<&mut Vec<Node<'a>>> {
        if let Self::Value(Value::Array(items)) = self {
            *self = Self::Array(items.values().map(Node::Value).collect());
        }
        match self {
            Self::Array(items) => Some(items),
            Self::Value(_) | Self::Doc(_) => None,
        }
    }

    fn opened(&mut self) -> &mut Self {
        match self {
            Self::Value(Value::Document(doc)) => *self = Self::Doc(open(*doc)),
            Self::Value(Value::Array(items)) => {
                *self = Self::Array(items.values().map(Node::Value).collect());
            }
            Self::Value(_) | Self::Doc(_) | Self::Array(_) => {}
        }
        self
    }
}

/// Changes the value at a path. The closure gets what is there and gives what should be; `None` for nothing.
pub(crate) fn change<'a>(
    fields: &mut Fields<'a>,
    path: &'a str,
    make: Make,
    with: &mut dyn FnMut(Option<Node<'a>>) -> Result<Option<Node<'a>>, Failure>,
) -> Result<(), Failure> {
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
        Some(at) => change_below(&mut fields[at].1, name, rest, make, with),
        None if make == Make::Nothing => Ok(()),
        None => {
            let mut below = Vec::new();
            change(&mut below, rest, make, with)?;
            fields.push((name, Node::Doc(below)));
            Ok(())
        }
    }
}

/// What is done about a path that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Make {
    Documents,
    Nothing,
}

fn change_below<'a>(
    node: &mut Node<'a>,
    name: &str,
    path: &'a str,
    make: Make,
    with: &mut dyn FnMut(Option<Node<'a>>) -> Result<Option<Node<'a>>, Failure>,
) -> Result<(), Failure> {
    let not_viable = |name: &str| {
        Failure::new(
            Code::PathNotViable,
            format!("Cannot create field '{path}' in element {name}: it is no document"),
        )
    };
    match node.opened() {
        Node::Doc(fields) => change(fields, path, make, with),
        Node::Array(items) => {
            let (index, rest) = split(path);
            let Ok(at) = index.parse::<usize>() else {
                return match make {
                    Make::Nothing => Ok(()),
                    Make::Documents => Err(not_viable(name)),
                };
            };
            if at >= items.len() {
                if make == Make::Nothing {
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
                Some(rest) => change_below(&mut items[at], index, rest, make, with),
                None => {
                    let old = std::mem::replace(&mut items[at], Node::Value(Value::Null));
                    // An item that is taken away leaves null, so that the others keep their places.
                    items[at] = with(Some(old))?.unwrap_or(Node::Value(Value::Null));
                    Ok(())
                }
            }
        }
        Node::Value(_) if make == Make::Nothing => Ok(()),
        Node::Value(_) => Err(not_viable(name)),
    }
}
