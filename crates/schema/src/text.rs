//! Texts that experiments and workloads give and that end up in configurations, commands and messages.

use crate::shown::is_obeyed;

/// Longest text that is put into a configuration.
pub const CHARS_MAX: usize = 1024;
/// So much of a refused text is shown.
const SHOWN_MAX: usize = 60;

/// Whether a character could begin a line, end a text or hide what stands there: controls, separators of lines, and marks that
/// turn the direction of text.
#[must_use]
pub fn is_control(c: char) -> bool {
    is_obeyed(c)
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{200b}'..='\u{200d}' | '\u{feff}'
        )
}

/// Why a text from an experiment cannot be put into a configuration, whatever that is; `None`: it can.
#[must_use]
pub fn unfit(text: &str) -> Option<String> {
    if let Some(control) = text.chars().find(|c| is_control(*c)) {
        let code = u32::from(control);
        return Some(format!(
            "a text without control characters (U+{code:04X} is in it)"
        ));
    }
    (text.chars().count() > CHARS_MAX).then(|| format!("a text of at most {CHARS_MAX} characters"))
}

/// The same of all texts in a value, keys among them.
#[must_use]
pub fn unfit_in(value: &serde_json::Value) -> Option<String> {
    every(value, &mut |text| unfit(text))
}

/// What is first found in one of the texts in a value, keys among them.
pub fn every(
    value: &serde_json::Value,
    find: &mut dyn FnMut(&str) -> Option<String>,
) -> Option<String> {
    match value {
        serde_json::Value::String(text) => find(text),
        serde_json::Value::Array(items) => items.iter().find_map(|item| every(item, find)),
        serde_json::Value::Object(entries) => entries
            .iter()
            .find_map(|(key, value)| find(key).or_else(|| every(value, find))),
        _ => None,
    }
}

/// A text as it can be shown: cut, with its control characters written out.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(SHOWN_MAX) {
        match is_control(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    if text.chars().nth(SHOWN_MAX).is_some() {
        shown.push('…');
    }
    shown
}
