//! Parses YAML into a tree in which every key and value has its position.

use std::collections::BTreeMap;

use granit_parser::{Event, Marker, Parser, ScalarStyle, Span};
use serde_json::{Map, Number};

use crate::problem::Problems;

/// Largest file: experiments are pages, not data.
pub const FILE_BYTES_MAX: usize = 1 << 20;
/// Greatest depth of nesting.
pub const DEPTH_MAX: usize = 32;
/// Greatest number of nodes, aliases expanded: stops files that expand exponentially.
pub const NODES_MAX: usize = 100_000;

/// A position in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

impl Mark {
    /// Start of a file.
    pub const START: Mark = Mark { line: 1, column: 1 };

    fn of(marker: &Marker) -> Mark {
        Mark {
            line: marker.line().max(1),
            column: marker.col() + 1,
        }
    }
}

/// A value with its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Position of its first character.
    pub mark: Mark,
    /// The value.
    pub value: Value,
}

/// A value, resolved by the core schema of YAML 1.2.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`, `~`, or no value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer or a fraction.
    Number(Number),
    /// Text.
    Text(String),
    /// A list: `- a`.
    List(Vec<Node>),
    /// A map: `key: value`, in the order of the file, without duplicate keys.
    Map(Vec<Entry>),
}

/// An entry of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Key.
    pub key: String,
    /// Position of the key.
    pub key_mark: Mark,
    /// Value.
    pub value: Node,
}

impl Node {
    /// Entries of a map; empty for any other value.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Items of a list; empty for any other value.
    #[must_use]
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The entry of a key, if any.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The value of a key, if any.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value of a key for changes, if any.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let Value::Map(entries) = &mut self.value else {
            return None;
        };
        let mut entries = entries.iter_mut();
        Some(&mut entries.find(|entry| entry.key == key)?.value)
    }

    /// An empty map.
    #[must_use]
    pub fn map(mark: Mark) -> Node {
        let value = Value::Map(Vec::new());
        Node { mark, value }
    }

    /// A text.
    #[must_use]
    pub fn text_at(mark: Mark, text: &str) -> Node {
        let value = Value::Text(text.to_owned());
        Node { mark, value }
    }

    /// The text, if the value is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Position of the value at a path of keys and list indices, or of the deepest existing part of the path.
    #[must_use]
    pub fn mark_at(&self, path: &[&str]) -> Mark {
        self.descend(path).mark
    }

    /// Position of the last key of a path, or of the deepest existing part of the path.
    #[must_use]
    pub fn key_mark_at(&self, path: &[&str]) -> Mark {
        let Some((last, parents)) = path.split_last() else {
            return self.mark;
        };
        let parent = self.descend(parents);
        parent
            .entry(last)
            .map_or(parent.descend(&[last]).mark, |entry| entry.key_mark)
    }

    /// The value at a path of keys and list indices, or the deepest existing part of the path.
    #[must_use]
    pub fn descend(&self, path: &[&str]) -> &Node {
        let mut node = self;
        for step in path {
            let next = match &node.value {
                Value::Map(_) => node.get(step),
                Value::List(items) => step.parse::<usize>().ok().and_then(|at| items.get(at)),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    /// Sets the value at a path of keys, creating maps as needed; `key_mark` is the position of created keys.
    pub fn set(&mut self, path: &[&str], key_mark: Mark, value: Node) {
        let Some((first, rest)) = path.split_first() else {
            *self = value;
            return;
        };
        if !matches!(self.value, Value::Map(_)) {
            self.value = Value::Map(Vec::new());
        }
        if let Value::Map(entries) = &mut self.value {
            if let Some(entry) = entries.iter_mut().find(|entry| entry.key == *first) {
                entry.value.set(rest, key_mark, value);
                return;
            }
            let mut made = Node::map(key_mark);
            made.set(rest, key_mark, value);
            entries.push(Entry {
                key: (*first).to_owned(),
                key_mark,
                value: made,
            });
        }
    }

    /// Merges another tree into this one: maps by key, any other value is replaced.
    pub fn overlay(&mut self, over: &Node) {
        if let (Value::Map(entries), Value::Map(over_entries)) = (&mut self.value, &over.value) {
            for entry in over_entries {
                match entries.iter_mut().find(|known| known.key == entry.key) {
                    Some(known) => known.value.overlay(&entry.value),
                    None => entries.push(entry.clone()),
                }
            }
        } else {
            *self = over.clone();
        }
    }

    /// Removes a key from a map.
    pub fn remove(&mut self, key: &str) {
        if let Value::Map(entries) = &mut self.value {
            entries.retain(|entry| entry.key != key);
        }
    }

    /// The value as JSON, without positions.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => serde_json::Value::Bool(*value),
            Value::Number(number) => serde_json::Value::Number(number.clone()),
            Value::Text(text) => serde_json::Value::String(text.clone()),
            Value::List(items) => items.iter().map(Node::to_json).collect(),
            Value::Map(entries) => serde_json::Value::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.value.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    fn weight(&self) -> usize {
        1 + match &self.value {
            Value::List(items) => items.iter().map(Node::weight).sum(),
            Value::Map(entries) => entries.iter().map(|entry| 1 + entry.value.weight()).sum(),
            _ => 0,
        }
    }
}

/// Parses a file of one document.
///
/// # Errors
/// Invalid YAML, duplicate keys, tags, several documents, and whatever exceeds a limit.
pub fn parse(file: &str, text: &str) -> Result<Node, Problems> {
    if text.len() > FILE_BYTES_MAX {
        let message = format!(
            "the file has {} bytes, more than {FILE_BYTES_MAX}: keep data in files of their own",
            text.len()
        );
        return Err(Problems::one(file, Mark::START, message));
    }
    let mut builder = Builder {
        file,
        ..Builder::default()
    };
    let mut parser = Parser::new_from_str(text);
    while let Some(next) = parser.next_event() {
        match next {
            Ok((fault, span)) => {
                if !builder.take(fault, &span) {
                    break;
                }
            }
            Err(error) => {
                let mark = Mark::of(error.marker());
                let message = format!("this is not YAML: {}", error.info());
                builder.problems.add(file, mark, message);
                break;
            }
        }
    }
    builder.finish()
}

/// A collection that is not yet closed.
struct Open {
    node: Node,
    anchor: usize,
    /// A key whose value is still to come.
    key: Option<(String, Mark)>,
}

#[derive(Default)]
struct Builder<'a> {
    file: &'a str,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
    problems: Problems,
}

impl Builder<'_> {
    /// Processes an event; `false`: parsing cannot continue.
    fn take(&mut self, fault: Event<'_>, span: &Span) -> bool {
        let mark = Mark::of(&span.start);
        match fault {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return self.refuse(
                        mark,
                        "a second document begins here: one file holds one document",
                    );
                }
                true
            }
            Event::Scalar(text, style, anchor, tag) => {
                if tag.is_some() {
                    self.refuse_tag(mark);
                }
                // A key is text, whatever it looks like.
                let value = if style == ScalarStyle::Plain && !self.expects_key() {
                    scalar(&text)
                } else {
                    Value::Text(text.into_owned())
                };
                self.put(Node { mark, value }, anchor)
            }
            Event::SequenceStart(_, anchor, tag) | Event::MappingStart(_, anchor, tag)
                if tag.is_some() =>
            {
                self.refuse_tag(mark);
                self.begin(mark, Value::List(Vec::new()), anchor);
                false
            }
            Event::SequenceStart(_, anchor, _) => self.begin(mark, Value::List(Vec::new()), anchor),
            Event::MappingStart(_, anchor, _) => self.begin(mark, Value::Map(Vec::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(closed) => self.put(closed.node, closed.anchor),
                None => true,
            },
            Event::Alias(anchor) => {
                if let Some(node) = self.anchors.get(&anchor).cloned() {
                    self.nodes += node.weight();
                    return self.put(node, 0);
                }
                self.refuse(mark, "this alias stands inside the thing it repeats")
            }
            _ => true,
        }
    }

    fn expects_key(&self) -> bool {
        self.open
            .last()
            .is_some_and(|open| open.key.is_none() && matches!(open.node.value, Value::Map(_)))
    }

    /// Adds a problem after which parsing cannot continue.
    fn refuse(&mut self, mark: Mark, message: impl Into<String>) -> bool {
        self.problems.add(self.file, mark, message);
        false
    }

    fn refuse_tag(&mut self, mark: Mark) {
        self.refuse(mark, "tags (words with !) mean nothing here: remove it");
    }

    fn begin(&mut self, mark: Mark, value: Value, anchor: usize) -> bool {
        if self.open.len() >= DEPTH_MAX {
            return self.refuse(mark, format!("nested deeper than {DEPTH_MAX}"));
        }
        self.open.push(Open {
            node: Node { mark, value },
            anchor,
            key: None,
        });
        true
    }

    fn put(&mut self, node: Node, anchor: usize) -> bool {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return self.refuse(node.mark, format!("more than {NODES_MAX} values"));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return true;
        };
        match &mut open.node.value {
            Value::List(items) => items.push(node),
            Value::Map(entries) => match open.key.take() {
                Some((key, key_mark)) => {
                    if let Some(first) = entries.iter().find(|entry| entry.key == key) {
                        let message = format!(
                            "duplicate key \"{key}\": first in line {}",
                            first.key_mark.line
                        );
                        self.problems.add(self.file, key_mark, message);
                    } else {
                        entries.push(Entry {
                            key,
                            key_mark,
                            value: node,
                        });
                    }
                }
                None => match node.value {
                    Value::Text(key) => open.key = Some((key, node.mark)),
                    _ => {
                        return self.refuse(node.mark, "a key must be a word");
                    }
                },
            },
            _ => {}
        }
        true
    }

    fn finish(mut self) -> Result<Node, Problems> {
        match self.root.take() {
            Some(root) => self.problems.into_result(root),
            None => {
                if self.problems.is_empty() {
                    let message = "the file is empty";
                    self.problems.add(self.file, Mark::START, message);
                }
                Err(self.problems)
            }
        }
    }
}

/// Resolves a plain scalar by the core schema of YAML 1.2 (without octal, hexadecimal and infinite numbers).
fn scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    number(text).map_or_else(|| Value::Text(text.to_owned()), Value::Number)
}

fn number(text: &str) -> Option<Number> {
    // Rust would also parse `inf` and `nan`.
    if !text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
    {
        return None;
    }
    let digits = text.strip_prefix('+').unwrap_or(text);
    if let Ok(whole) = digits.parse::<u64>() {
        return Some(Number::from(whole));
    }
    if let Ok(whole) = digits.parse::<i64>() {
        return Some(Number::from(whole));
    }
    digits.parse::<f64>().ok().and_then(Number::from_f64)
}
