//! Header values that records must not hold.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

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
