//! Whether a body has the shape that the description of the API gives it: what does not fit is refused with its place.
//!
//! Types alone take more: a list in the place of an object, numbers beyond what makes sense. Of JSON Schema this knows what the
//! schemas of the API use; a test compares.

use std::sync::OnceLock;

use regex::Regex;
use serde_json::{Map, Value};
use tare_record::schemas::Shape;
use tare_record::shape;
use tare_report::quantity::counted;

/// What the API takes and returns.
const API: Shape = shape!("api", "");
/// The same of its part for Kafka.
const KAFKA_API: Shape = shape!("kafka-api", "");
/// Where the description has its shapes.
pub const PLACE: &str = "#/components/schemas/";

/// All shapes by name, with references as OpenAPI has them, and with the bounds that formats of numbers have.
pub fn all() -> &'static Map<String, Value> {
    static SHAPES: OnceLock<Map<String, Value>> = OnceLock::new();
    SHAPES.get_or_init(|| {
        let mut all = Map::new();
        for shape in [API, KAFKA_API] {
            if let Value::Object(shapes) = shape.schema()["$defs"].take() {
                all.extend(shapes);
            }
        }
        all.values_mut().for_each(complete);
        all
    })
}

/// Least and greatest number of a format.
fn bounds(format: &str) -> Option<(Value, Value)> {
    Some(match format {
        "uint8" => (0.into(), u8::MAX.into()),
        "uint16" => (0.into(), u16::MAX.into()),
        "uint32" => (0.into(), u32::MAX.into()),
        "uint" | "uint64" => (0.into(), u64::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int64" => (i64::MIN.into(), i64::MAX.into()),
        _ => return None,
    })
}

fn complete(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some((least, greatest)) = fields
                .get("format")
                .and_then(|format| bounds(format.as_str()?))
            {
                fields.entry("minimum").or_insert(least);
                fields.entry("maximum").or_insert(greatest);
            }
            if let Some(Value::String(text)) = fields.get_mut("$ref") {
                *text = text.replace("#/$defs/", PLACE);
            }
            fields.values_mut().for_each(complete);
        }
        Value::Array(items) => items.iter_mut().for_each(complete),
        _ => {}
    }
}

/// Checks a value against a shape by its name.
///
/// # Errors
/// With what does not fit, and where.
pub fn check(shape: &str, value: &Value) -> Result<(), String> {
    match all().get(shape) {
        Some(schema) => fits(schema, value, "the body"),
        None => Ok(()),
    }
}

fn fits(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix(PLACE).unwrap_or(name);
        if let Some(schema) = all().get(name) {
            fits(schema, value, at)?;
        }
    }
    for word in ["oneOf", "anyOf"] {
        let Some(choices) = schema[word].as_array() else {
            continue;
        };
        let mut last = Ok(());
        let is_any = choices.iter().any(|choice| {
            last = fits(choice, value, at);
            last.is_ok()
        });
        if !is_any {
            // That of one choice says more than that none fits, if there is only one beside null.
            let choices = choices.iter().filter(|choice| choice["type"] != "null");
            return match choices.count() {
                1 => last,
                _ => Err(format!("{at} has none of the forms that it can have")),
            };
        }
    }
    has_type(schema, value, at)?;
    if let Some(wanted) = schema.get("const").filter(|wanted| *wanted != value) {
        return Err(format!("{at} is not {wanted}"));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        return Err(format!("{at} is none of the words that it can be"));
    }
    match value {
        Value::Number(_) => number(schema, value, at),
        Value::String(text) => string(schema, text, at),
        Value::Array(items) => list(schema, items, at),
        Value::Object(fields) => object(schema, fields, at),
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

fn has_type(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let is = |name: &Value| match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    };
    let fits = match &schema["type"] {
        Value::Null => true,
        Value::Array(names) => names.iter().any(is),
        name => is(name),
    };
    match fits {
        true => Ok(()),
        false => Err(format!("{at} is not of the type {}", schema["type"])),
    }
}

fn number(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let number = value.as_f64().unwrap_or_default();
    let bound = |word: &str| schema[word].as_f64();
    if let Some(least) = bound("minimum").filter(|least| number < *least) {
        return Err(format!("{at} is less than {least}"));
    }
    if let Some(greatest) = bound("maximum").filter(|greatest| number > *greatest) {
        return Err(format!("{at} is greater than {greatest}"));
    }
    Ok(())
}

fn string(schema: &Value, text: &str, at: &str) -> Result<(), String> {
    let Some(pattern) = schema["pattern"].as_str() else {
        return Ok(());
    };
    // A test compiles all.
    let is_match = Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text));
    match text.is_empty() || text.chars().any(char::is_control) {
        _ if is_match => Ok(()),
        true => Err(format!("{at} is empty or has control characters")),
        // What it is says more than the pattern.
        false => Err(match schema["description"].as_str() {
            Some(about) => format!(
                "{at} does not match {pattern} ({})",
                about.trim_end_matches('.')
            ),
            None => format!("{at} does not match {pattern}"),
        }),
    }
}

fn list(schema: &Value, items: &[Value], at: &str) -> Result<(), String> {
    let count = |word: &str| schema[word].as_u64();
    let length = items.len() as u64;
    if let Some(least) = count("minItems").filter(|least| length < *least) {
        let least = counted(least, "entry", "entries");
        return Err(format!("{at} has fewer than {least}"));
    }
    if let Some(most) = count("maxItems").filter(|most| length > *most) {
        return Err(format!("{at} has more than {most} entries"));
    }
    for (number, item) in items.iter().enumerate() {
        fits(&schema["items"], item, &format!("{at}[{number}]"))?;
    }
    Ok(())
}

fn object(schema: &Value, fields: &Map<String, Value>, at: &str) -> Result<(), String> {
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            return Err(format!("{at} has no {name}"));
        }
    }
    for (name, value) in fields {
        let at = format!("{at}: {name}");
        match (
            schema["properties"].get(name),
            &schema["additionalProperties"],
        ) {
            (Some(schema), _) | (None, schema @ Value::Object(_)) => fits(schema, value, &at)?,
            (None, Value::Bool(false)) => return Err(format!("{at} is not known")),
            (None, _) => {}
        }
    }
    Ok(())
}

/// The same value with whole numbers as integers: `3.0` is one, as JSON Schema has it.
pub fn with_integers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            // Exact: a float is whole from 2^53 on, and what is beyond 2^64 is no integer of any shape.
            let is_whole = float.fract() == 0.0;
            if is_whole && (0.0..2_f64.powi(64)).contains(&float) {
                *number = (float as u64).into();
            } else if is_whole && (-2_f64.powi(63)..0.0).contains(&float) {
                *number = (float as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(with_integers),
        Value::Object(fields) => fields.values_mut().for_each(with_integers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::routes::{self, RouteContent};

    /// The words of a schema with their values, and those of the schemas in it.
    fn words<'a>(schema: &'a Value, found: &mut Vec<(&'a str, &'a Value)>) {
        for (word, value) in schema.as_object().into_iter().flatten() {
            found.push((word, value));
            match (word.as_str(), value) {
                ("properties", Value::Object(of)) => of.values().for_each(|one| words(one, found)),
                ("oneOf" | "anyOf", Value::Array(of)) => {
                    of.iter().for_each(|one| words(one, found))
                }
                ("items" | "additionalProperties", of) => words(of, found),
                _ => {}
            }
        }
    }

    #[test]
    fn every_word_of_the_shapes_that_are_taken_is_checked() {
        const CHECKED: [&str; 18] = [
            "$ref",
            "additionalProperties",
            "anyOf",
            "const",
            "default",
            "description",
            "enum",
            "format",
            "items",
            "maxItems",
            "maximum",
            "minItems",
            "minimum",
            "oneOf",
            "pattern",
            "properties",
            "required",
            "type",
        ];
        let mut left: Vec<&str> = routes::all()
            .filter_map(|route| match route.takes {
                RouteContent::Json(shape) => Some(shape),
                _ => None,
            })
            .collect();
        let mut seen = BTreeSet::new();
        while let Some(name) = left.pop() {
            if !seen.insert(name) {
                continue;
            }
            let mut found = Vec::new();
            words(&all()[name], &mut found);
            for (word, value) in found {
                assert!(CHECKED.contains(&word), "{name}: {word}");
                match word {
                    "pattern" => assert!(Regex::new(value.as_str().unwrap()).is_ok(), "{value}"),
                    "$ref" => left.extend(value.as_str().unwrap().strip_prefix(PLACE)),
                    _ => {}
                }
            }
        }
        assert!(seen.len() > 15, "{seen:?}");
    }

    #[test]
    fn what_types_take_beyond_their_shape_is_refused_with_its_place() {
        let load = json!({
            "url": "http://127.0.0.1:1/", "pace": { "kind": "rate", "per_s": 5 },
            "stop": { "kind": "count", "requests": 10.0 }, "kafka": { "acks": "all" },
        });
        assert_eq!(check("LoadRequest", &load), Ok(()));
        for (pointer, value, said) in [
            ("/url", json!("-x"), "the body: url does not match ^"),
            (
                "/url",
                json!("http://a/\u{7}"),
                "the body: url is empty or has control",
            ),
            (
                "/pace",
                json!(["maximum"]),
                "the body: pace has none of the forms",
            ),
            (
                "/pace/per_s",
                json!(-1),
                "the body: pace has none of the forms",
            ),
            (
                "/kafka",
                json!(["produce"]),
                "the body: kafka is not of the type",
            ),
            (
                "/kafka/acks",
                json!("2"),
                "the body: kafka: acks does not match",
            ),
        ] {
            let mut wrong = load.clone();
            *wrong.pointer_mut(pointer).unwrap() = value;
            let found = check("LoadRequest", &wrong).unwrap_err();
            assert!(found.starts_with(said), "{found}");
        }
        let refused = |shape, value| check(shape, &value).unwrap_err();
        assert_eq!(
            refused("ElectRequest", json!([])),
            "the body is not of the type \"object\""
        );
        assert_eq!(
            refused("GrowRequest", json!({})),
            "the body has no partitions"
        );
        let most = json!({ "partitions": 2_147_483_648_u64 });
        assert_eq!(
            refused("GrowRequest", most),
            "the body: partitions is greater than 2147483647"
        );
        let none = json!({ "name": "a", "cluster": { "bootstrap": [] } });
        assert_eq!(
            refused("ClusterRequest", none),
            "the body: cluster: bootstrap has fewer than 1 entry"
        );
        let other = json!({ "topics": { "a": [1, "x"] } });
        assert_eq!(
            refused("ElectRequest", other),
            "the body: topics: a[1] is not of the type \"integer\""
        );
    }

    #[test]
    fn whole_numbers_are_integers_however_they_are_written() {
        let mut value = json!([3.0, -2.0, 1e19, 1e30, 0.5, { "a": 7.0 }, "3.0"]);
        with_integers(&mut value);
        assert_eq!(
            value,
            json!([3, -2, 10_000_000_000_000_000_000_u64, 1e30, 0.5, { "a": 7 }, "3.0"])
        );
    }
}
