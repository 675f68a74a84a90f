//! BSON (bsonspec.org, version 1.1), read in place and written directly into a buffer.
//!
//! A document is a slice of its encoded bytes: elements are iterated without allocation. Input is validated once, as a whole,
//! by [`Doc::check`]; later reads cannot fail.

mod read;
mod value;
mod write;

#[cfg(test)]
mod tests;

pub use read::{BsonError, Doc, Elements, OwnedDoc};
pub use value::{Value, append_key};
pub use write::{ArrayWriter, Writer, document};

/// Nesting depth of documents and arrays; MongoDB's limit for stored documents.
pub const DEPTH_MAX: usize = 100;

/// Size of a stored document; MongoDB's `maxBsonObjectSize`.
pub const DOCUMENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Type bytes (bsonspec.org).
pub mod kind {
    pub const DOUBLE: u8 = 0x01;
    pub const STRING: u8 = 0x02;
    pub const DOCUMENT: u8 = 0x03;
    /// A document with keys 0, 1, 2.
    pub const ARRAY: u8 = 0x04;
    pub const BINARY: u8 = 0x05;
    pub const UNDEFINED: u8 = 0x06;
    pub const OBJECT_ID: u8 = 0x07;
    pub const BOOL: u8 = 0x08;
    /// Milliseconds since 1970.
    pub const DATE: u8 = 0x09;
    pub const NULL: u8 = 0x0a;
    /// Pattern and options.
    pub const REGEX: u8 = 0x0b;
    pub const DB_POINTER: u8 = 0x0c;
    pub const CODE: u8 = 0x0d;
    pub const SYMBOL: u8 = 0x0e;
    pub const CODE_WITH_SCOPE: u8 = 0x0f;
    pub const INT32: u8 = 0x10;
    pub const TIMESTAMP: u8 = 0x11;
    pub const INT64: u8 = 0x12;
    pub const DECIMAL128: u8 = 0x13;
    pub const MIN_KEY: u8 = 0xff;
    pub const MAX_KEY: u8 = 0x7f;
}
