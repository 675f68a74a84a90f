//! Checks a YAML tree against a JSON Schema; each problem has a position and the nearest valid word.
//!
//! The schema is generated from the types that serde fills (`docs/schema`), so a key is declared once, for checks and for editors. Only the part
//! of JSON Schema that those types produce is supported, with the formats of [`tare_record::units`] and [`tare_record::name`].

use serde_json::Value as Json;
use tare_record::text::preview;
use tare_record::{name, units};

use crate::problem::{Problems, hint, list};
use crate::yaml::{Mark, Node, Value};

/// Adds every difference between tree and schema.
pub fn check(file: &str, schema: &Json, node: &Node, problems: &mut Problems) {
    let checker = Checker { root: schema };
    let mut found = Mismatches::default();
    checker.node(schema, node, &mut found);
    for (mark, text) in found.all {
        problems.add(file, mark, text);
    }
}

/// Differences with their weight. Of several alternatives of a schema, the one with the least weight is taken as meant.
#[derive(Default)]
struct Mismatches {
    all: Vec<(Mark, String)>,
    weight: u32,
}

impl Mismatches {
    fn add(&mut self, mark: Mark, weight: u32, text: impl Into<String>) {
        self.all.push((mark, text.into()));
        self.weight += weight;
    }
}

struct Checker<'a> {
    root: &'a Json,
}

// A value of another type is the strongest sign that an alternative was not meant, then an unknown key with a map or list, and
// last an invalid word.
const WEIGHT_KIND: u32 = 10;
const WEIGHT_KEY_OF_STRUCTURE: u32 = 6;
const WEIGHT_KEY: u32 = 3;
const WEIGHT_VALUE: u32 = 1;

impl<'a> Checker<'a> {
    fn node(&self, schema: &'a Json, node: &Node, found: &mut Mismatches) {
        let schema = self.resolved(schema);
        if let Some(branches) = branches(schema) {
            self.alternatives(branches, node, found);
            return;
        }
        if !self.kind(schema, node, found) {
            return;
        }
        match &node.value {
            Value::Map(_) => self.map(schema, node, found),
            Value::List(items) => self.list(schema, node, items, found),
            Value::Text(text) => self.text(schema, node, text, found),
            Value::Number(number) => self.number(schema, node, number, found),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn resolved(&self, schema: &'a Json) -> &'a Json {
        let mut schema = schema;
        // A longer chain of references is a cycle.
        for _ in 0..16 {
            let Some(reference) = word_in(schema, "$ref") else {
                break;
            };
            match self.root.pointer(reference.trim_start_matches('#')) {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }

    fn alternatives(&self, branches: &'a [Json], node: &Node, found: &mut Mismatches) {
        if let Some(words) = self.words(branches) {
            self.word(&words, node, found);
            return;
        }
        if let (Some(text), Some(mut words)) = (node.text(), self.words_beside_numbers(branches)) {
            if !words.contains(&text) {
                words.push("a number");
                self.word(&words, node, found);
            }
            return;
        }
        let alternatives = branches.iter().map(|branch| {
            let mut mismatches = Mismatches::default();
            self.node(branch, node, &mut mismatches);
            mismatches
        });
        if let Some(best) = alternatives.min_by_key(|mismatches| mismatches.weight) {
            found.all.extend(best.all);
            found.weight += best.weight;
        }
    }

    /// Allowed words, if all other branches are numbers.
    fn words_beside_numbers(&self, branches: &'a [Json]) -> Option<Vec<&'a str>> {
        let is_number = |branch: &&Json| word_in(self.resolved(branch), "type") == Some("number");
        let others = branches.iter().filter(|branch| !is_number(branch));
        self.words(others)
    }

    /// Allowed words, if all branches are constants (an enum with documented variants).
    fn words(&self, branches: impl IntoIterator<Item = &'a Json>) -> Option<Vec<&'a str>> {
        let mut words = Vec::new();
        for branch in branches {
            let branch = self.resolved(branch);
            if let Some(word) = word_in(branch, "const") {
                words.push(word);
            } else if let Some(listed) = branch.get("enum").and_then(Json::as_array) {
                words.extend(listed.iter().filter_map(Json::as_str));
            } else if let Some(inner) = crate::structure::branches(branch) {
                words.extend(self.words(inner)?);
            } else if word_in(branch, "type") != Some("null") {
                return None;
            }
        }
        Some(words)
    }

    fn word(&self, words: &[&str], node: &Node, found: &mut Mismatches) {
        let text = match node.text() {
            Some(text) if words.contains(&text) => return,
            Some(text) => format!(
                "unknown word \"{text}\"{}",
                hint(text, words.iter().copied())
            ),
            None if node.value == Value::Null => {
                format!("a value is missing here: one of {}", list(words))
            }
            None => format!("expected one of {}, found {}", list(words), describe(node)),
        };
        let weight = match node.text() {
            Some(_) => WEIGHT_VALUE,
            None => WEIGHT_KIND,
        };
        found.add(node.mark, weight, text);
    }

    fn kind(&self, schema: &'a Json, node: &Node, found: &mut Mismatches) -> bool {
        let kinds: Vec<&str> = match schema.get("type") {
            Some(Json::String(kind)) => vec![kind],
            Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).collect(),
            _ => return true,
        };
        let is = |kind: &&str| match &node.value {
            Value::Null => *kind == "null",
            Value::Bool(_) => *kind == "boolean",
            Value::Number(number) => {
                *kind == "number" || (*kind == "integer" && (number.is_u64() || number.is_i64()))
            }
            Value::Text(_) => *kind == "string",
            Value::List(_) => *kind == "array",
            Value::Map(_) => *kind == "object",
        };
        // An optional key that is written needs a value.
        if kinds.iter().any(is) && node.value != Value::Null {
            return true;
        }
        let wanted = self.wanted(schema, &kinds);
        let text = match &node.value {
            Value::Null => format!("a value is missing here: {wanted}"),
            Value::Number(number) if kinds == ["string"] => {
                format!("expected text, found the number {number}: write \"{number}\"")
            }
            _ => format!("expected {wanted}, found {}", describe(node)),
        };
        found.add(node.mark, WEIGHT_KIND, text);
        false
    }

    fn wanted(&self, schema: &'a Json, kinds: &[&str]) -> String {
        match word_in(schema, "format") {
            Some("period") => return String::from("a time such as 700ms"),
            Some("size") => return String::from("a size such as 1kB"),
            Some("share") => return String::from("a share such as 5%"),
            _ => {}
        }
        let words: Vec<&str> = kinds
            .iter()
            .filter_map(|kind| match *kind {
                "null" => None,
                "boolean" => Some("true or false"),
                "integer" => Some("a whole number"),
                "number" => Some("a number"),
                "string" => Some("text"),
                "array" => Some("a list"),
                _ => Some("keys with values"),
            })
            .collect();
        words.join(" or ")
    }

    fn map(&self, schema: &'a Json, node: &Node, found: &mut Mismatches) {
        let properties = schema.get("properties").and_then(Json::as_object);
        let others = schema.get("additionalProperties");
        let place = context(schema, node);
        for entry in node.entries() {
            if let Some(property) = properties.and_then(|known| known.get(&entry.key)) {
                self.node(property, &entry.value, found);
            } else if others == Some(&Json::Bool(false)) {
                let known = properties
                    .into_iter()
                    .flat_map(|known| known.keys().map(String::as_str))
                    .filter(|key| node.get(key).is_none());
                let text = format!(
                    "unknown key \"{}\" in {place}{}",
                    entry.key,
                    hint(&entry.key, known)
                );
                let weight = match entry.value.value {
                    Value::Map(_) | Value::List(_) => WEIGHT_KEY_OF_STRUCTURE,
                    _ => WEIGHT_KEY,
                };
                found.add(entry.key_mark, weight, text);
            } else {
                self.free_key(schema, entry, found);
                if let Some(other) = others.filter(|other| other.is_object()) {
                    self.node(other, &entry.value, found);
                }
            }
        }
        let required = schema.get("required").and_then(Json::as_array);
        for key in required.into_iter().flatten().filter_map(Json::as_str) {
            if node.get(key).is_none() {
                let text = format!("key \"{key}\" is missing in {place}");
                found.add(node.mark, WEIGHT_KEY, text);
            }
        }
        let least = schema.get("minProperties").and_then(Json::as_u64);
        if least.is_some_and(|least| (node.entries().len() as u64) < least) {
            let text = format!("{place} is empty: leave it out or fill it");
            found.add(node.mark, WEIGHT_VALUE, text);
        }
    }

    /// Checks a free key (of a map without fixed keys) against the format of its names.
    fn free_key(&self, schema: &'a Json, entry: &crate::yaml::Entry, found: &mut Mismatches) {
        let format = schema
            .get("propertyNames")
            .map(|names| self.resolved(names))
            .and_then(|names| names.get("format"))
            .and_then(Json::as_str);
        if let Some(text) = format.and_then(|format| name::check_format(format, &entry.key)) {
            found.add(entry.key_mark, WEIGHT_VALUE, text);
        }
    }

    fn list(&self, schema: &'a Json, node: &Node, items: &[Node], found: &mut Mismatches) {
        let least = schema.get("minItems").and_then(Json::as_u64).unwrap_or(0);
        if (items.len() as u64) < least {
            let text = "the list is empty: it needs at least one entry";
            found.add(node.mark, WEIGHT_VALUE, text);
        }
        if let Some(each) = schema.get("items") {
            for item in items {
                self.node(each, item, found);
            }
        }
    }

    fn text(&self, schema: &'a Json, node: &Node, text: &str, found: &mut Mismatches) {
        if let Some(words) = schema.get("enum").and_then(Json::as_array) {
            let words: Vec<&str> = words.iter().filter_map(Json::as_str).collect();
            return self.word(&words, node, found);
        }
        if let Some(word) = word_in(schema, "const") {
            return self.word(&[word], node, found);
        }
        let Some(format) = word_in(schema, "format") else {
            return;
        };
        let wrong = units::check_format(format, text).or_else(|| name::check_format(format, text));
        if let Some(text) = wrong {
            found.add(node.mark, WEIGHT_VALUE, text);
        }
    }

    fn number(
        &self,
        schema: &'a Json,
        node: &Node,
        number: &serde_json::Number,
        found: &mut Mismatches,
    ) {
        let value = number.as_f64().unwrap_or(f64::NAN);
        let bound = |key: &str| schema.get(key).and_then(Json::as_f64);
        let format = word_in(schema, "format").unwrap_or("");
        let text = if let Some(text) = units::check_format(format, &number.to_string()) {
            text
        } else if let Some(least) = bound("exclusiveMinimum").filter(|least| value <= *least) {
            format!("{number} is not above {least}")
        } else if let Some(least) = bound("minimum").filter(|least| value < *least) {
            format!("{number} is below {least}")
        } else if let Some(most) = bound("maximum")
            .or((format == "uint32").then_some(f64::from(u32::MAX)))
            .filter(|most| value > *most)
        {
            format!("{number} is above {most}")
        } else {
            return;
        };
        found.add(node.mark, WEIGHT_VALUE, text);
    }
}

/// The text of a key.
fn word_in<'a>(schema: &'a Json, key: &str) -> Option<&'a str> {
    schema.get(key).and_then(Json::as_str)
}

fn branches(schema: &Json) -> Option<&[Json]> {
    ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| schema.get(key))
        .and_then(Json::as_array)
        .map(Vec::as_slice)
}

/// `arm "both"`: the word for the schema's type, and the name if the map has one.
fn context(schema: &Json, node: &Node) -> String {
    let word = word_in(schema, "x-word");
    let name = node.get("name").and_then(Node::text);
    match (word, name) {
        (Some(word), Some(name)) => format!("{word} \"{name}\""),
        (Some(word), None) => word.to_owned(),
        (None, _) => String::from("this place"),
    }
}

fn describe(node: &Node) -> String {
    match &node.value {
        Value::Null => String::from("nothing"),
        Value::Bool(value) => format!("\"{value}\""),
        Value::Number(number) => format!("the number {number}"),
        Value::Text(text) => format!("\"{}\"", preview(text)),
        Value::List(_) => String::from("a list"),
        Value::Map(_) => String::from("a set of keys"),
    }
}
