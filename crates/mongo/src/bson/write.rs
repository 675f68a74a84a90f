//! Writes documents element by element into a buffer.

use super::{Doc, Value, kind};

/// Appends one document to the buffer; the closure writes its elements.
pub fn document(out: &mut Vec<u8>, write: impl FnOnce(&mut Writer<'_>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(&mut Writer { out });
    out.push(0);
    set_length(out, start);
}

/// Sets the length of the document that starts there. Lengths are 32 bits; callers keep documents within their limits.
fn set_length(out: &mut [u8], start: usize) {
    let length = i32::try_from(out.len() - start).unwrap_or(i32::MAX);
    if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_le_bytes());
    }
}

/// Writes the elements of one document.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    fn key(&mut self, kind: u8, key: &str) -> &mut Vec<u8> {
        self.out.push(kind);
        // Keys end at their first zero byte and cannot contain one.
        let name = key.as_bytes().split(|&byte| byte == 0).next();
        self.out.extend_from_slice(name.unwrap_or_default());
        self.out.push(0);
        self.out
    }

    /// Length of the buffer, including what was in it before.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        self.out.len()
    }

    /// Truncates the buffer to this length.
    pub(crate) fn rewind(&mut self, buffer_bytes: usize) {
        self.out.truncate(buffer_bytes);
    }

    /// A value of any type.
    pub fn value(&mut self, key: &str, value: Value<'_>) -> &mut Self {
        let out = self.key(value.kind(), key);
        match value {
            Value::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
            Value::String(text) => put_string(out, text),
            Value::Document(doc) | Value::Array(doc) => out.extend_from_slice(doc.bytes()),
            Value::Binary { subtype, bytes } => {
                put_length(out, bytes.len());
                out.push(subtype);
                out.extend_from_slice(bytes);
            }
            Value::ObjectId(id) => out.extend_from_slice(&id),
            Value::Bool(value) => out.push(u8::from(value)),
            Value::Date(value) | Value::Int64(value) => out.extend_from_slice(&value.to_le_bytes()),
            Value::Int32(value) => out.extend_from_slice(&value.to_le_bytes()),
            Value::Other { bytes, .. } => out.extend_from_slice(bytes),
            Value::Null => {}
        }
        self
    }

    pub fn str(&mut self, key: &str, text: &str) -> &mut Self {
        self.value(key, Value::String(text))
    }

    /// A 32-bit integer.
    pub fn i32(&mut self, key: &str, value: i32) -> &mut Self {
        self.value(key, Value::Int32(value))
    }

    /// A 64-bit integer.
    pub fn i64(&mut self, key: &str, value: i64) -> &mut Self {
        self.value(key, Value::Int64(value))
    }

    /// A count: 32 bits if it fits, as MongoDB writes it.
    pub fn count(&mut self, key: &str, value: usize) -> &mut Self {
        match i32::try_from(value) {
            Ok(value) => self.i32(key, value),
            Err(_) => self.i64(key, i64::try_from(value).unwrap_or(i64::MAX)),
        }
    }

    /// A double.
    pub fn f64(&mut self, key: &str, value: f64) -> &mut Self {
        self.value(key, Value::Double(value))
    }

    /// A boolean.
    pub fn bool(&mut self, key: &str, value: bool) -> &mut Self {
        self.value(key, Value::Bool(value))
    }

    /// An embedded document.
    pub fn doc(&mut self, key: &str, write: impl FnOnce(&mut Writer<'_>)) -> &mut Self {
        document(self.key(kind::DOCUMENT, key), write);
        self
    }

    pub fn array(&mut self, key: &str, write: impl FnOnce(&mut ArrayWriter<'_>)) -> &mut Self {
        document(self.key(kind::ARRAY, key), |writer| {
            write(&mut ArrayWriter {
                writer: Writer { out: writer.out },
                count: 0,
            });
        });
        self
    }

    /// Appends all elements of a document.
    pub fn append_all(&mut self, doc: Doc<'_>) -> &mut Self {
        let bytes = doc.bytes();
        let body = bytes.get(4..bytes.len().saturating_sub(1));
        self.out.extend_from_slice(body.unwrap_or_default());
        self
    }
}

/// Writes the items of an array.
#[derive(Debug)]
pub struct ArrayWriter<'a> {
    writer: Writer<'a>,
    count: u32,
}

impl ArrayWriter<'_> {
    fn with(&mut self, write: impl FnOnce(&mut Writer<'_>, &str)) -> &mut Self {
        let mut digits = [0; 10];
        write(&mut self.writer, decimal(self.count, &mut digits));
        self.count += 1;
        self
    }

    /// Items written so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// Length of the buffer, including what was in it before.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        self.writer.buffer_bytes()
    }

    /// A value of any type.
    pub fn value(&mut self, value: Value<'_>) -> &mut Self {
        self.with(|writer, key| {
            writer.value(key, value);
        })
    }

    /// A document.
    pub fn doc(&mut self, write: impl FnOnce(&mut Writer<'_>)) -> &mut Self {
        self.with(|writer, key| {
            writer.doc(key, write);
        })
    }
}

/// A number in decimal, without allocation.
fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &str {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    std::str::from_utf8(&digits[at..]).unwrap_or_default()
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    let length = i32::try_from(length).unwrap_or(i32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    put_length(out, text.len() + 1);
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}
