//! Checks a YAML tree against a JSON Schema; each problem has a position and the nearest valid word.
//!
//! The schema is generated from the types that serde fills, so a key is declared once, for checks and for editors. Only the part
//! of JSON Schema that those types produce is supported, with the formats of [`crate::units`] and [`crate::name`].

use serde_json::Value as Json;

use crate::problem::{Problems, hint, list};
use crate::yaml::{Mark, Node, Value};
use crate::{name, units};

/// Adds every difference between tree and schema.
pub fn check(file: &str, schema: &Json, node: &Node, problems: &mut Problems) {
    let checker = Checker { root: schema };
    let mut found = Vec::new();
    checker.node(schema, node, &mut found);
    for mismatch in found {
        problems.add(file, mismatch.mark, mismatch.text);
    }
}

/// A difference with a weight. Of several alternatives of a schema, the one with the least weight is taken as meant.
struct Mismatch {
    mark: Mark,
    text: String,
    weight: u32,
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
    fn node(&self, schema: &'a Json, node: &Node, found: &mut Vec<Mismatch>) {
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
            let Some(reference) = schema.get("$ref").and_then(Json::as_str) else {
                break;
            };
            match self.root.pointer(reference.trim_start_matches('#')) {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }

    fn alternatives(&self, branches: &'a [Json], node: &Node, found: &mut Vec<Mismatch>) {
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
        let best = branches
            .iter()
            .map(|branch| {
                let mut mismatches = Vec::new();
                self.node(branch, node, &mut mismatches);
                mismatches
            })
            .min_by_key(|mismatches| {
                mismatches
                    .iter()
                    .map(|mismatch| mismatch.weight)
                    .sum::<u32>()
            });
        found.extend(best.unwrap_or_default());
    }

    /// Allowed words, if all other branches are numbers.
    fn words_beside_numbers(&self, branches: &'a [Json]) -> Option<Vec<&'a str>> {
        let is_number = |branch: &&Json| {
            self.resolved(branch).get("type").and_then(Json::as_str) == Some("number")
        };
        let others = branches.iter().filter(|branch| !is_number(branch));
        self.words(others)
    }

    /// Allowed words, if all branches are constants (an enum with documented variants).
    fn words(&self, branches: impl IntoIterator<Item = &'a Json>) -> Option<Vec<&'a str>> {
        let mut words = Vec::new();
        for branch in branches {
            let branch = self.resolved(branch);
            if let Some(word) = branch.get("const").and_then(Json::as_str) {
                words.push(word);
            } else if let Some(listed) = branch.get("enum").and_then(Json::as_array) {
                words.extend(listed.iter().filter_map(Json::as_str));
            } else if let Some(inner) = crate::structure::branches(branch) {
                words.extend(self.words(inner)?);
            } else if branch.get("type").and_then(Json::as_str) != Some("null") {
                return None;
            }
        }
        Some(words)
    }

    fn word(&self, words: &[&str], node: &Node, found: &mut Vec<Mismatch>) {
        let text = match node.text() {
            Some(text) if words.contains(&text) => return,
            Some(text) => format!(
                "unknown word \"{text}\"{}",
                hint(text, words.iter().copied())
            ),
            None if node.value == Value::Null => {
                format!("a value is missing here: one of {}", list(words))
            }
            None => format!("{} stands here, not one of {}", describe(node), list(words)),
        };
        let weight = if node.text().is_some() {
            WEIGHT_VALUE
        } else {
            WEIGHT_KIND
        };
        found.push(Mismatch {
            mark: node.mark,
            text,
            weight,
        });
    }

    fn kind(&self, schema: &'a Json, node: &Node, found: &mut Vec<Mismatch>) -> bool {
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
                format!("the number {number} stands here, not text: write \"{number}\"")
            }
            _ => format!("{} stands here, not {wanted}", describe(node)),
        };
        found.push(Mismatch {
            mark: node.mark,
            text,
            weight: WEIGHT_KIND,
        });
        false
    }

    fn wanted(&self, schema: &'a Json, kinds: &[&str]) -> String {
        match schema.get("format").and_then(Json::as_str) {
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

    fn map(&self, schema: &'a Json, node: &Node, found: &mut Vec<Mismatch>) {
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
                let structure = matches!(entry.value.value, Value::Map(_) | Value::List(_));
                found.push(Mismatch {
                    mark: entry.key_mark,
                    text,
                    weight: if structure {
                        WEIGHT_KEY_OF_STRUCTURE
                    } else {
                        WEIGHT_KEY
                    },
                });
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
                found.push(Mismatch {
                    mark: node.mark,
                    text: format!("key \"{key}\" is missing in {place}"),
                    weight: WEIGHT_KEY,
                });
            }
        }
        let least = schema.get("minProperties").and_then(Json::as_u64);
        if least.is_some_and(|least| (node.entries().len() as u64) < least) {
            found.push(Mismatch {
                mark: node.mark,
                text: format!("{place} is empty: leave it out or fill it"),
                weight: WEIGHT_VALUE,
            });
        }
    }

    /// Checks a free key (of a map without fixed keys) against the format of its names.
    fn free_key(&self, schema: &'a Json, entry: &crate::yaml::Entry, found: &mut Vec<Mismatch>) {
        let format = schema
            .get("propertyNames")
            .map(|names| self.resolved(names))
            .and_then(|names| names.get("format"))
            .and_then(Json::as_str);
        if let Some(text) = format.and_then(|format| name::check_format(format, &entry.key)) {
            found.push(Mismatch {
                mark: entry.key_mark,
                text,
                weight: WEIGHT_VALUE,
            });
        }
    }

    fn list(&self, schema: &'a Json, node: &Node, items: &[Node], found: &mut Vec<Mismatch>) {
        let least = schema.get("minItems").and_then(Json::as_u64).unwrap_or(0);
        if (items.len() as u64) < least {
            found.push(Mismatch {
                mark: node.mark,
                text: String::from("the list is empty: it needs at least one entry"),
                weight: WEIGHT_VALUE,
            });
        }
        if let Some(each) = schema.get("items") {
            for item in items {
                self.node(each, item, found);
            }
        }
    }

    fn text(&self, schema: &'a Json, node: &Node, text: &str, found: &mut Vec<Mismatch>) {
        if let Some(words) = schema.get("enum").and_then(Json::as_array) {
            let words: Vec<&str> = words.iter().filter_map(Json::as_str).collect();
            return self.word(&words, node, found);
        }
        if let Some(word) = schema.get("const").and_then(Json::as_str) {
            return self.word(&[word], node, found);
        }
        let Some(format) = schema.get("format").and_then(Json::as_str) else {
            return;
        };
        let wrong = units::check_format(format, text).or_else(|| name::check_format(format, text));
        if let Some(text) = wrong {
            found.push(Mismatch {
                mark: node.mark,
                text,
                weight: WEIGHT_VALUE,
            });
        }
    }

    fn number(
        &self,
        schema: &'a Json,
        node: &Node,
        number: &serde_json::Number,
        found: &mut Vec<Mismatch>,
    ) {
        let value = number.as_f64().unwrap_or(f64::NAN);
        let bound = |key: &str| schema.get(key).and_then(Json::as_f64);
        let format = schema.get("format").and_then(Json::as_str).unwrap_or("");
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
        found.push(Mismatch {
            mark: node.mark,
            text,
            weight: WEIGHT_VALUE,
        });
    }
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
    let word = schema.get("x-word").and_then(Json::as_str);
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
        Value::Text(text) => format!("\"{}\"", shortened(text)),
        Value::List(_) => String::from("a list"),
        Value::Map(_) => String::from("a set of keys"),
    }
}

fn shortened(text: &str) -> String {
    const SHOWN_MAX: usize = 60;
    if text.chars().count() <= SHOWN_MAX {
        return text.to_owned();
    }
    let head: String = text.chars().take(SHOWN_MAX).collect();
    format!("{head}…")
}
