//! Escapes values for the place in a request where they stand.

/// Escaping of a value in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escaping {
    /// In a path or query: percent-encoded.
    Path,
    /// A path without encoding.
    PathRaw,
    /// Value of a header.
    Header,
    /// Form field: percent-encoded, spaces as `+`.
    Form,
    /// In a string of a JSON text: escaped.
    Json,
    /// Without encoding.
    Text,
}

impl Escaping {
    /// The same for a value marked `raw`.
    #[must_use]
    pub fn raw(self) -> Escaping {
        match self {
            Escaping::Path | Escaping::PathRaw => Escaping::PathRaw,
            Escaping::Header => Escaping::Header,
            Escaping::Form | Escaping::Json | Escaping::Text => Escaping::Text,
        }
    }

    /// Encodes the text around the values: in a form it is percent-encoded, elsewhere it stays as written.
    #[must_use]
    pub fn own_text(self, text: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        match self {
            Escaping::Form => percent(text.as_bytes(), Blank::Plus, &mut out),
            _ => out.extend_from_slice(text.as_bytes()),
        }
        out
    }

    /// Whether a value is valid in this place.
    #[must_use]
    pub fn takes(self, value: &[u8]) -> bool {
        match self {
            Escaping::PathRaw => value.iter().all(u8::is_ascii_graphic),
            Escaping::Header => value.iter().all(|&byte| in_header(byte)),
            Escaping::Path | Escaping::Form | Escaping::Json | Escaping::Text => true,
        }
    }
}

/// RFC 9110 §5.5, without line breaks of any kind.
fn in_header(byte: u8) -> bool {
    byte == b'\t' || byte == b' ' || byte.is_ascii_graphic() || byte >= 0x80
}

/// Writes a value; `false` if it is not valid in this place.
pub fn put(value: &[u8], escaping: Escaping, out: &mut Vec<u8>) -> bool {
    match escaping {
        Escaping::Path => percent(value, Blank::Percent, out),
        Escaping::Form => percent(value, Blank::Plus, out),
        Escaping::Json => escape(value, out),
        Escaping::PathRaw | Escaping::Header | Escaping::Text => {
            if !escaping.takes(value) {
                return false;
            }
            out.extend_from_slice(value);
        }
    }
    true
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blank {
    Percent,
    Plus,
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// RFC 3986 §2.1; unreserved characters stay.
fn percent(value: &[u8], blank: Blank, out: &mut Vec<u8>) {
    for &byte in value {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte),
            b' ' if blank == Blank::Plus => out.push(b'+'),
            _ => out.extend_from_slice(&[
                b'%',
                HEX[usize::from(byte >> 4)],
                HEX[usize::from(byte & 15)],
            ]),
        }
    }
}

/// RFC 8259 §7.
fn escape(value: &[u8], out: &mut Vec<u8>) {
    for &byte in value {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => out.extend_from_slice(&[
                b'\\',
                b'u',
                b'0',
                b'0',
                HEX[usize::from(byte >> 4)],
                HEX[usize::from(byte & 15)],
            ]),
            _ => out.push(byte),
        }
    }
}

/// Writes a number with at least `digits` digits.
pub fn put_unsigned(mut number: u64, digits: u8, out: &mut Vec<u8>) {
    let mut text = [b'0'; 20];
    let mut at = text.len();
    while number > 0 || at == text.len() {
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    let from = at.min(text.len() - usize::from(digits).min(text.len()));
    out.extend_from_slice(&text[from..]);
}
