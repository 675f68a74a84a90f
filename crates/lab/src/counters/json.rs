//! A number in a JSON page, by its pointer.

use serde_json::Value;
use tare_schema::target::{JsonSource, Missing};

use super::CounterValue;

/// The number of a source; a value that is no number is an error, not a zero.
pub(super) fn find(text: &str, from: &JsonSource) -> Result<Vec<CounterValue>, String> {
    let page: Value =
        serde_json::from_str(text).map_err(|error| format!("{} is no JSON: {error}", from.url))?;
    let value = match page.pointer(&from.pointer) {
        Some(value) => Some(
            value
                .as_f64()
                .ok_or_else(|| format!("`{}` is no number", from.pointer))?,
        ),
        None if from.missing == Missing::Zero => Some(0.0),
        None => None,
    };
    let found = |value| CounterValue {
        value,
        ..CounterValue::default()
    };
    Ok(value.into_iter().map(found).collect())
}
