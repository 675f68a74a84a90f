//! Which fields of a document are given.

use super::expression::Expression;
use super::failure::Failure;
use super::path::split;
use crate::bson::{Doc, Value, Writer};

/// A projection, read. The default gives everything.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Projection<'a> {
    mode: Mode,
    /// Paths that are in or out.
    paths: Vec<&'a str>,
    id: Id,
    made: Vec<(&'a str, Expression<'a>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    /// Everything but the paths.
    #[default]
    Without,
    /// The paths alone.
    Only,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Id {
    #[default]
    Given,
    Left,
}

impl<'a> Projection<'a> {
    /// Reads `{a: 1, "b.c": 1}`, `{a: 0}`, `{a: "$b"}`.
    pub(crate) fn read(doc: Doc<'a>) -> Result<Self, Failure> {
        let mut projection = Self::default();
        let mut mode = None;
        let mut set_mode = |wanted: Mode, path: &str| match mode.replace(wanted) {
            Some(other) if other != wanted => Err(Failure::bad(format!(
                "Cannot do inclusion and exclusion in one projection: {path}"
            ))),
            _ => Ok(()),
        };
        for (path, value) in doc {
            if path
                .split('.')
                .any(|name| name.is_empty() || name.starts_with('$'))
            {
                return Err(Failure::bad(format!(
                    "'{path}' cannot be projected; name a field"
                )));
            }
            match value {
                Value::Bool(_) | Value::Int32(_) | Value::Int64(_) | Value::Double(_) => {
                    match (path, value.is_true()) {
                        ("_id", true) => {}
                        ("_id", false) => projection.id = Id::Left,
                        (path, true) => {
                            set_mode(Mode::Only, path)?;
                            projection.paths.push(path);
                        }
                        (path, false) => {
                            set_mode(Mode::Without, path)?;
                            projection.paths.push(path);
                        }
                    }
                }
                value => {
                    set_mode(Mode::Only, path)?;
                    if path.contains('.') {
                        return Err(Failure::unserved("a made field with a dotted name"));
                    }
                    projection.made.push((path, Expression::read(value)?));
                }
            }
        }
        let only_id = doc.get("_id").is_some_and(|value| value.is_true());
        projection.mode = mode.unwrap_or(if only_id { Mode::Only } else { Mode::Without });
        Ok(projection)
    }

    /// Whether it changes nothing.
    pub(crate) fn is_all(&self) -> bool {
        self.mode == Mode::Without && self.paths.is_empty() && self.id == Id::Given
    }

    /// Writes the elements of a document that are given.
    pub(crate) fn write(&self, doc: Doc<'_>, w: &mut Writer<'_>) {
        if self.is_all() {
            w.all_of(doc);
            return;
        }
        for (key, value) in doc {
            if key == "_id" && !self.paths.iter().any(|path| path.starts_with("_id.")) {
                if self.id == Id::Given {
                    w.value(key, value);
                }
                continue;
            }
            self.write_field(&self.paths, key, value, w);
        }
        for (key, expression) in &self.made {
            expression.write(key, doc, w);
        }
    }

    fn write_field(&self, paths: &[&str], key: &str, value: Value<'_>, w: &mut Writer<'_>) {
        let mut below = Vec::new();
        let mut named = false;
        for path in paths {
            match split(path) {
                (name, None) if name == key => named = true,
                (name, Some(rest)) if name == key => below.push(rest),
                _ => {}
            }
        }
        match (self.mode, named) {
            (Mode::Only, true) => {
                w.value(key, value);
            }
            (Mode::Without, true) => {}
            (Mode::Only, false) if below.is_empty() => {}
            (Mode::Without, false) if below.is_empty() => {
                w.value(key, value);
            }
            (_, false) => match value {
                Value::Document(doc) => {
                    w.doc(key, |w| self.write_below(&below, doc, w));
                }
                Value::Array(items) => {
                    w.array(key, |list| {
                        for item in items.values() {
                            match item {
                                Value::Document(doc) => {
                                    list.doc(|w| self.write_below(&below, doc, w));
                                }
                                item if self.mode == Mode::Without => {
                                    list.value(item);
                                }
                                _ => {}
                            }
                        }
                    });
                }
                value if self.mode == Mode::Without => {
                    w.value(key, value);
                }
                _ => {}
            },
        }
    }

    fn write_below(&self, paths: &[&str], doc: Doc<'_>, w: &mut Writer<'_>) {
        for (key, value) in doc {
            self.write_field(paths, key, value, w);
        }
    }
}
