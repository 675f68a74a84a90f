//! Numbers in a JSON page: one at a pointer, or one for each key of a map.

use regex::Regex;
use serde_json::Value;
use tare_schema::target::{JsonSource, Missing};

use super::Found;

/// The numbers that a source asks for.
pub(super) fn find(text: &str, from: &JsonSource) -> Result<Vec<Found>, String> {
    let page: Value =
        serde_json::from_str(text).map_err(|error| format!("{} is no JSON: {error}", from.url))?;
    let place = page.pointer(&from.pointer);
    let Some(keys) = &from.keys else {
        return Ok(number(place, from)?.into_iter().map(unlabelled).collect());
    };
    let regex = Regex::new(keys).map_err(|error| format!("`{keys}`: {error}"))?;
    let mut all = Vec::new();
    // A pattern that nothing matches yet leaves no map, or an empty one.
    for (key, place) in place.and_then(Value::as_object).into_iter().flatten() {
        let Some(captures) = regex.captures(key) else {
            continue;
        };
        if let Some(value) = number(Some(place), from)? {
            all.push(Found {
                label: captures
                    .name("label")
                    .map(|label| label.as_str().to_owned()),
                ..unlabelled(value)
            });
        }
    }
    Ok(all)
}

/// The number at a place, with its factor; what is there but is no number is an error, not a zero.
fn number(place: Option<&Value>, from: &JsonSource) -> Result<Option<f64>, String> {
    let at = |pointer: &str| -> Result<Option<f64>, String> {
        match place.and_then(|place| place.pointer(pointer)) {
            None => Ok(None),
            Some(value) => value
                .as_f64()
                .map(Some)
                .ok_or_else(|| format!("`{}{pointer}` is no number", from.pointer)),
        }
    };
    let value = at(from.then.as_deref().unwrap_or_default())?;
    let factor = match &from.times {
        None => Some(1.0),
        Some(pointer) => at(pointer)?,
    };
    match (value.zip(factor), from.missing) {
        (Some((value, factor)), _) => Ok(Some(value * factor)),
        (None, Missing::Zero) => Ok(Some(0.0)),
        (None, Missing::Unknown) => Ok(None),
    }
}

fn unlabelled(value: f64) -> Found {
    Found {
        value,
        ..Found::default()
    }
}
