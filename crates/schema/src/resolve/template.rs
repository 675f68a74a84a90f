//! Settings in texts of requests: `/?size={{ payload }}`.

use serde_json::Value;

use crate::problem::hint;
use crate::topology::Settings;

/// Inserts settings into a text.
///
/// # Errors
/// Unclosed braces, and unknown settings.
pub(super) fn fill(text: &str, settings: &Settings) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        filled.push_str(&rest[..open]);
        let inside = &rest[open + 2..];
        let Some(close) = inside.find("}}") else {
            return Err(format!(
                "\"{text}\": the braces are not closed: write {{{{ name }}}}"
            ));
        };
        let key = inside[..close].trim();
        match settings.get(key) {
            Some(Value::String(text)) => filled.push_str(text),
            Some(other) => filled.push_str(&other.to_string()),
            None => {
                let known = settings.keys().map(String::as_str);
                return Err(format!("unknown setting \"{key}\"{}", hint(key, known)));
            }
        }
        rest = &inside[close + 2..];
    }
    filled.push_str(rest);
    Ok(filled)
}
