//! Escapes untrusted text for terminals, so that control characters have no effect.

use std::borrow::Cow;

/// Escapes a text for one line: C0 and C1 control characters, DEL and bidirectional controls become `\n` or `\u{1b}`.
#[must_use]
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escaped(text, |c| {
        is_terminal_control(c).then(|| c.escape_default().collect())
    })
}

/// Escapes a text of several lines: like [`escape_line`], but line feeds and tabs stay.
#[must_use]
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    let is_harmless = |c| c == '\n' || c == '\t';
    escaped(text, |c| {
        (is_terminal_control(c) && !is_harmless(c)).then(|| c.escape_default().collect())
    })
}

/// Escapes pretty-printed JSON. JSON allows DEL, C1 and bidirectional controls in strings, where an escape is equivalent.
#[must_use]
pub fn escape_json(json: &str) -> Cow<'_, str> {
    escaped(json, |c| {
        (is_terminal_control(c) && c != '\n').then(|| format!("\\u{:04x}", u32::from(c)))
    })
}

/// Escapes a text for XML and HTML, in elements and in attributes: markup, and what [`escape_lines`] escapes.
#[must_use]
pub fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in escape_lines(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // An attribute would have a blank instead.
            '\n' => escaped.push_str("&#10;"),
            // No characters of XML 1.0.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Whether a character may control a terminal instead of being shown.
#[must_use]
pub fn is_terminal_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, escape: impl Fn(char) -> Option<String>) -> Cow<'_, str> {
    if !text.contains(is_terminal_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match escape(c) {
            Some(words) => out.push_str(&words),
            None => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_has_no_markup_of_the_text_and_no_control_characters() {
        assert_eq!(
            escape_xml("a<b> & \"c\"\nd\u{1b}\u{ffff}"),
            "a&lt;b&gt; &amp; &quot;c&quot;&#10;d\\u{1b}\u{fffd}"
        );
    }

    #[test]
    fn no_character_that_a_terminal_obeys_is_left_and_every_other_stays() {
        let all: String = (0..0x3000).filter_map(char::from_u32).collect();
        assert!(!escape_line(&all).contains(is_terminal_control));
        assert!(!escape_lines(&all).contains(|c| is_terminal_control(c) && c != '\n' && c != '\t'));
        for c in [
            '\0', '\u{7}', '\u{1b}', '\u{7f}', '\u{80}', '\u{9b}', '\u{9f}', '\u{202e}', '\u{2066}',
        ] {
            assert!(is_terminal_control(c), "{c:?}");
        }
        let plain = "p99 – 3 µs, 東京, עברית, \u{1f600}";
        assert_eq!(escape_line(plain), plain);
        assert_eq!(
            escape_line("a\u{1b}[2J\r\nb\u{9b}1m\u{202e}"),
            "a\\u{1b}[2J\\r\\nb\\u{9b}1m\\u{202e}"
        );
        assert_eq!(
            escape_lines("a\tb\n\u{1b}]0;x\u{7}"),
            "a\tb\n\\u{1b}]0;x\\u{7}"
        );
    }

    #[test]
    fn json_says_the_same_without_a_character_that_a_terminal_obeys() {
        let value = serde_json::json!({"a": "\u{1b}[1m \u{9b}2J \u{7f} \u{202e} \n\t ü"});
        let text = serde_json::to_string_pretty(&value).unwrap();
        assert!(text.contains('\u{9b}'), "JSON itself lets it through");
        let harmless = escape_json(&text);
        assert!(!harmless.contains(|c| is_terminal_control(c) && c != '\n'));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&harmless).unwrap(),
            value
        );
    }
}
