//! Projections: which fields of a document are returned.

use super::command_error::CommandError;
use super::expression::Expression;
use super::path::split;
use crate::bson::{Doc, Value, Writer};

/// A parsed projection. The default returns everything.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Projection<'a> {
    mode: Mode,
    /// Included or excluded paths.
    paths: Vec<&'a str>,
    id: IdField,
    computed: Vec<(&'a str, Expression<'a>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    /// All fields except the paths.
    #[default]
    Exclude,
    /// Only the paths.
    Include,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum IdField {
    #[default]
    Included,
    Excluded,
}

impl<'a> Projection<'a> {
    /// Parses `{a: 1, "b.c": 1}`, `{a: 0}`, `{a: "$b"}`.
    pub(crate) fn read(doc: Doc<'a>) -> Result<Self, CommandError> {
        let mut projection = Self::default();
        let mut mode = None;
        let mut set_mode = |wanted: Mode, path: &str| match mode.replace(wanted) {
            Some(other) if other != wanted => Err(CommandError::bad_value(format!(
                "Cannot do inclusion and exclusion in one projection: {path}"
            ))),
            _ => Ok(()),
        };
        for (path, value) in doc {
            if path
                .split('.')
                .any(|name| name.is_empty() || name.starts_with('$'))
            {
                return Err(CommandError::bad_value(format!(
                    "'{path}' cannot be projected; name a field"
                )));
            }
            match value {
                Value::Bool(_) | Value::Int32(_) | Value::Int64(_) | Value::Double(_) => {
                    match (path, value.is_true()) {
                        ("_id", true) => {}
                        ("_id", false) => projection.id = IdField::Excluded,
                        (path, true) => {
                            set_mode(Mode::Include, path)?;
                            projection.paths.push(path);
                        }
                        (path, false) => {
                            set_mode(Mode::Exclude, path)?;
                            projection.paths.push(path);
                        }
                    }
                }
                value => {
                    set_mode(Mode::Include, path)?;
                    if path.contains('.') {
                        return Err(CommandError::unsupported("a made field with a dotted name"));
                    }
                    projection.computed.push((path, Expression::read(value)?));
                }
            }
        }
        let only_id = doc.get("_id").is_some_and(|value| value.is_true());
        projection.mode = mode.unwrap_or(if only_id {
            Mode::Include
        } else {
            Mode::Exclude
        });
        Ok(projection)
    }

    /// Whether it returns everything.
    pub(crate) fn is_all(&self) -> bool {
        self.mode == Mode::Exclude && self.paths.is_empty() && self.id == IdField::Included
    }

    /// Writes the projected elements of a document.
    pub(crate) fn write(&self, doc: Doc<'_>, w: &mut Writer<'_>) {
        if self.is_all() {
            w.all_of(doc);
            return;
        }
        for (key, value) in doc {
            if key == "_id" && !self.paths.iter().any(|path| path.starts_with("_id.")) {
                if self.id == IdField::Included {
                    w.value(key, value);
                }
                continue;
            }
            self.write_field(&self.paths, key, value, w);
        }
        for (key, expression) in &self.computed {
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
            (Mode::Include, true) => {
                w.value(key, value);
            }
            (Mode::Exclude, true) => {}
            (Mode::Include, false) if below.is_empty() => {}
            (Mode::Exclude, false) if below.is_empty() => {
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
                                item if self.mode == Mode::Exclude => {
                                    list.value(item);
                                }
                                _ => {}
                            }
                        }
                    });
                }
                value if self.mode == Mode::Exclude => {
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
