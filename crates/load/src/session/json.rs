//! Finds values in a JSON text by pointer, without building a tree.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON pointer (RFC 6901) in which `*` stands for every item of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    /// As a key of an object.
    key: String,
    /// As a position in an array.
    index: Option<usize>,
    every: bool,
}

impl Pointer {
    /// Parses a pointer; the leading slash may be omitted.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let inner = text.strip_prefix('/').unwrap_or(text);
        if text.is_empty() {
            return Self { tokens: Vec::new() };
        }
        let token = |part: &str| Token {
            key: part.replace("~1", "/").replace("~0", "~"),
            index: part.parse().ok(),
            every: part == "*",
        };
        Self {
            tokens: inner.split('/').map(token).collect(),
        }
    }

    /// Reads a whole JSON text and calls `found` with the text of every value at the pointer, in order.
    ///
    /// # Errors
    /// When it is not valid JSON; values before the error have been reported.
    pub fn find<'b>(
        &self,
        body: &'b [u8],
        found: &mut dyn FnMut(&'b str),
    ) -> Result<(), serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_slice(body);
        let seek = Seek {
            tokens: &self.tokens,
            found,
        };
        seek.deserialize(&mut reader)?;
        reader.end()
    }
}

/// Appends the text of a JSON value: strings without quotes and escapes, everything else unchanged.
///
/// # Errors
/// Never for a value from [`Pointer::find`].
pub fn write_value(raw: &str, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    if raw.starts_with('"') {
        serde_json::Deserializer::from_str(raw).deserialize_str(Write(out))
    } else {
        out.extend_from_slice(raw.as_bytes());
        Ok(())
    }
}

struct Write<'o>(&'o mut Vec<u8>);

impl Visitor<'_> for Write<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

struct Seek<'t, 'f, 'b> {
    tokens: &'t [Token],
    found: &'f mut dyn FnMut(&'b str),
}

impl<'b> DeserializeSeed<'b> for Seek<'_, '_, 'b> {
    type Value = ();

    fn deserialize<D: Deserializer<'b>>(self, reader: D) -> Result<(), D::Error> {
        if self.tokens.is_empty() {
            let raw: &'b RawValue = serde::Deserialize::deserialize(reader)?;
            (self.found)(raw.get());
            return Ok(());
        }
        reader.deserialize_any(self)
    }
}

impl<'b> Visitor<'b> for Seek<'_, '_, 'b> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((token, rest)) = self.tokens.split_first() else {
            return Ok(());
        };
        while let Some(is_it) = map.next_key_seed(IsKey(&token.key))? {
            if is_it {
                map.next_value_seed(Seek {
                    tokens: rest,
                    found: &mut *self.found,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'b>>(self, mut list: A) -> Result<(), A::Error> {
        let Some((token, rest)) = self.tokens.split_first() else {
            return Ok(());
        };
        for at in 0.. {
            let more = if token.every || token.index == Some(at) {
                let seek = Seek {
                    tokens: rest,
                    found: &mut *self.found,
                };
                list.next_element_seed(seek)?.is_some()
            } else {
                list.next_element::<IgnoredAny>()?.is_some()
            };
            if !more {
                break;
            }
        }
        Ok(())
    }

    // A scalar has no members: nothing is at the pointer.
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

struct IsKey<'t>(&'t str);

impl<'b> DeserializeSeed<'b> for IsKey<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'b>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for IsKey<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pointer: &str, body: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut take = |raw: &str| {
            let mut out = Vec::new();
            write_value(raw, &mut out).unwrap();
            found.push(String::from_utf8(out).unwrap());
        };
        Pointer::new(pointer)
            .find(body.as_bytes(), &mut take)
            .unwrap();
        found
    }

    #[test]
    fn a_pointer_finds_what_rfc_6901_says() {
        let body = r#"{"foo":["bar","baz"],"":0,"a/b":1,"m~n":8,"s":"A\"\n","o":{"x": [1, 2]}}"#;
        assert_eq!(all("/foo/1", body), ["baz"]);
        assert_eq!(all("/", body), ["0"]);
        assert_eq!(all("/a~1b", body), ["1"]);
        assert_eq!(all("/m~0n", body), ["8"]);
        assert_eq!(all("/s", body), ["A\"\n"]);
        assert_eq!(all("/o", body), [r#"{"x": [1, 2]}"#]);
        assert_eq!(all("/o/x/*", body), ["1", "2"]);
        assert_eq!(all("", "[1]"), ["[1]"]);
        assert!(all("/foo/2", body).is_empty() && all("/foo/1/0", body).is_empty());
        assert_eq!(all("/*/id", r#"[{"id":"a"},{},{"id":7}]"#), ["a", "7"]);
    }

    #[test]
    fn what_is_no_json_to_its_last_byte_is_refused() {
        let read = |body: &[u8]| Pointer::new("/a").find(body, &mut |_| {});
        assert!(read(b"{\"a\":1").is_err());
        assert!(read(b"{\"a\":1} x").is_err());
        assert!(read(b"{\"a\":\xff}").is_err());
        assert!(
            read("[".repeat(100_000).as_bytes()).is_err(),
            "depth has a limit"
        );
    }
}
