//! Time limits as text: `500ms`, `5s` or `2m`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Serializes a limit in the largest unit that is exact.
pub(super) fn serialize<S: Serializer>(limit: &Duration, to: S) -> Result<S::Ok, S::Error> {
    let ms = limit.as_millis();
    let text = match ms {
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms.is_multiple_of(1000) => format!("{}s", ms / 1000),
        _ => format!("{ms}ms"),
    };
    to.serialize_str(&text)
}

/// Deserializes a limit. Zero is refused.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    parse(&text).ok_or_else(|| {
        D::Error::custom(format!(
            "`{text}` is no time limit; write a number above 0 with ms, s or m, such as 5s"
        ))
    })
}

fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_ms = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        _ => return None,
    };
    let number: u64 = digits.parse().ok()?;
    let ms = number.checked_mul(unit_ms)?;
    (ms > 0).then(|| Duration::from_millis(ms))
}
