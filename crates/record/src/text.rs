//! Texts: checks of those from experiments and workloads that are inserted into configurations, commands and messages; lists.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::escape::is_terminal_control;

/// Longest text that may be inserted into a configuration.
pub const CHARS_MAX: usize = 1024;
/// Greatest number of characters of a refused text that a message shows.
const SHOWN_MAX: usize = 60;

/// Whether a character could start a line, end a text or hide other text: control characters, line and paragraph separators,
/// bidirectional and zero-width characters.
#[must_use]
pub fn is_control(c: char) -> bool {
    is_terminal_control(c)
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{200b}'..='\u{200d}' | '\u{feff}'
        )
}

/// What a text must be to be inserted into any configuration; `None`: it is that.
#[must_use]
pub fn rejection(text: &str) -> Option<String> {
    if let Some(control) = text.chars().find(|c| is_control(*c)) {
        let code = u32::from(control);
        return Some(format!(
            "a text without control characters (U+{code:04X} is in it)"
        ));
    }
    (text.chars().count() > CHARS_MAX).then(|| format!("a text of at most {CHARS_MAX} characters"))
}

/// The same for all texts in a value, keys included.
#[must_use]
pub fn rejection_in(value: &serde_json::Value) -> Option<String> {
    find_in_strings(value, &mut |text| rejection(text))
}

/// First result for any text in a value, keys included.
pub fn find_in_strings(
    value: &serde_json::Value,
    find: &mut dyn FnMut(&str) -> Option<String>,
) -> Option<String> {
    match value {
        serde_json::Value::String(text) => find(text),
        serde_json::Value::Array(items) => {
            items.iter().find_map(|item| find_in_strings(item, find))
        }
        serde_json::Value::Object(entries) => entries
            .iter()
            .find_map(|(key, value)| find(key).or_else(|| find_in_strings(value, find))),
        _ => None,
    }
}

/// Shortens a text for messages and escapes its control characters.
#[must_use]
pub fn preview(text: &str) -> String {
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

/// `a, b and c`.
#[must_use]
pub fn list<T: AsRef<str>>(words: &[T]) -> String {
    match words {
        [] => String::from("none"),
        [only] => only.as_ref().to_owned(),
        [most @ .., last] => {
            let most: Vec<&str> = most.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", most.join(", "), last.as_ref())
        }
    }
}

/// The word by which files name a value: that of a variant without fields.
#[must_use]
pub fn word_of<T: Serialize>(value: &T) -> String {
    let written = serde_json::to_value(value).unwrap_or_default();
    written.as_str().unwrap_or_default().to_owned()
}

/// The value that a word of files names.
#[must_use]
pub fn value_of<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(word.into()).ok()
}
