//! Header values that records must not hold.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::plan::Plan;

/// What stands in the place of such a value.
pub const REDACTED: &str = "[redacted]";

/// Whether a header of this name carries a credential.
#[must_use]
pub fn is_secret(header: &str) -> bool {
    let name = header.to_ascii_lowercase();
    let known = [
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
    ];
    let parts = [
        "secret",
        "password",
        "credential",
        "api-key",
        "apikey",
        "session-id",
    ];
    known.contains(&name.as_str())
        || parts.iter().any(|part| name.contains(part))
        || ["-key", "-token"].iter().any(|end| name.ends_with(end))
}

/// Replaces the values of such headers in every list `headers` of a JSON value.
pub fn redact(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_array_mut().filter(|_| name == "headers") {
                    Some(headers) => headers.iter_mut().for_each(redact_header),
                    None => redact(field),
                }
            }
        }
        _ => {}
    }
}

fn redact_header(header: &mut Value) {
    if let Some([name, value]) = header.as_array_mut().map(Vec::as_mut_slice)
        && name.as_str().is_some_and(is_secret)
    {
        *value = Value::from(REDACTED);
    }
}

/// Whether values were replaced in a JSON value.
#[must_use]
pub fn is_redacted(value: &Value) -> bool {
    match value {
        Value::Array(items) => match items.as_slice() {
            [Value::String(name), Value::String(value)] => is_secret(name) && value == REDACTED,
            _ => items.iter().any(is_redacted),
        },
        Value::Object(fields) => fields.values().any(is_redacted),
        _ => false,
    }
}

/// Puts replaced values back from a value in which they are at the same places.
fn put_back(kept: &mut Value, whole: &Value) {
    match (kept, whole) {
        (Value::Array(kept), Value::Array(whole)) => {
            match (kept.as_mut_slice(), whole.as_slice()) {
                (
                    [Value::String(name), Value::String(value)],
                    [Value::String(same), Value::String(was)],
                ) if value == REDACTED && name == same && is_secret(name) => {
                    value.clone_from(was);
                }
                (kept, whole) => {
                    let both = kept.iter_mut().zip(whole);
                    both.for_each(|(kept, whole)| put_back(kept, whole));
                }
            }
        }
        (Value::Object(kept), Value::Object(whole)) => {
            for (name, field) in kept {
                if let Some(was) = whole.get(name) {
                    put_back(field, was);
                }
            }
        }
        _ => {}
    }
}

/// The cells of a kept plan with the values that it lacks, from the cells of the same experiment resolved again; `None` where those
/// do not have all of them.
///
/// # Errors
/// When a plan is no JSON value of its type.
pub fn restored(kept: &Plan, again: &Plan) -> serde_json::Result<Option<Plan>> {
    let mut plan = kept.clone();
    for cell in &mut plan.cells {
        let mut of = again.cells.iter();
        let same = of.find(|other| (&other.arm, &other.level) == (&cell.arm, &cell.level));
        let mut value = serde_json::to_value(&*cell)?;
        if let Some(same) = same {
            put_back(&mut value, &serde_json::to_value(same)?);
        }
        if is_redacted(&value) {
            return Ok(None);
        }
        *cell = serde_json::from_value(value)?;
    }
    Ok(Some(plan))
}

/// A plan without these values.
///
/// # Errors
/// When it is no JSON value of its type.
pub fn redacted<T: Serialize + DeserializeOwned>(plan: &T) -> serde_json::Result<T> {
    let mut value = serde_json::to_value(plan)?;
    redact(&mut value);
    serde_json::from_value(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn credentials_are_known_by_the_names_of_their_headers() {
        for name in [
            "Authorization",
            "COOKIE",
            "X-Api-Key",
            "x-auth-token",
            "x-client-secret",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "accept",
            "content-type",
            "x-request-id",
            "keyboard",
            "token-count",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn values_are_put_back_where_the_same_header_is_at_the_same_place() {
        let whole = json!({"requests": [
            {"name": "one", "headers": [["authorization", "Bearer planted"], ["accept", "a"]]},
            {"name": "two", "headers": [["cookie", "planted"]]},
        ]});
        let mut kept = whole.clone();
        redact(&mut kept);
        assert!(is_redacted(&kept) && !is_redacted(&whole));
        put_back(&mut kept, &whole);
        assert_eq!(kept, whole);
        let mut other = json!({"requests": [{"headers": [["x-api-key", REDACTED]]}]});
        put_back(&mut other, &whole);
        assert!(is_redacted(&other), "{other}");
    }

    #[test]
    fn headers_are_redacted_wherever_they_are() {
        let mut plan = json!({
            "headers": [["authorization", "Bearer planted"], ["accept", "text/html"]],
            "session": {"steps": [{"request": {"headers": [["Cookie", "planted"]]}}]},
            "headers-of-others": ["authorization", "kept"],
        });
        redact(&mut plan);
        let text = plan.to_string();
        assert!(!text.contains("planted"), "{text}");
        assert!(
            text.contains("text/html") && text.contains("kept"),
            "{text}"
        );
    }
}
