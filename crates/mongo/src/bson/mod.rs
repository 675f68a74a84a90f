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
    /// 64-bit binary floating point.
    pub const DOUBLE: u8 = 0x01;
    /// UTF-8 string.
    pub const STRING: u8 = 0x02;
    /// Embedded document.
    pub const DOCUMENT: u8 = 0x03;
    /// Array: a document with keys 0, 1, 2.
    pub const ARRAY: u8 = 0x04;
    /// Binary data.
    pub const BINARY: u8 = 0x05;
    /// Undefined (deprecated).
    pub const UNDEFINED: u8 = 0x06;
    /// 12 bytes.
    pub const OBJECT_ID: u8 = 0x07;
    /// One byte, 0 or 1.
    pub const BOOL: u8 = 0x08;
    /// Milliseconds since 1970.
    pub const DATE: u8 = 0x09;
    /// Null.
    pub const NULL: u8 = 0x0a;
    /// Pattern and options.
    pub const REGEX: u8 = 0x0b;
    /// DBPointer (deprecated).
    pub const DB_POINTER: u8 = 0x0c;
    /// JavaScript code.
    pub const CODE: u8 = 0x0d;
    /// Symbol (deprecated).
    pub const SYMBOL: u8 = 0x0e;
    /// JavaScript code with its scope (deprecated).
    pub const CODE_WITH_SCOPE: u8 = 0x0f;
    /// 32-bit integer.
    pub const INT32: u8 = 0x10;
    /// Replication timestamp.
    pub const TIMESTAMP: u8 = 0x11;
    /// 64-bit integer.
    pub const INT64: u8 = 0x12;
    /// 128-bit decimal floating point.
    pub const DECIMAL128: u8 = 0x13;
    /// Below everything.
    pub const MIN_KEY: u8 = 0xff;
    /// Above everything.
    pub const MAX_KEY: u8 = 0x7f;
}
