//! HPACK, the header compression of HTTP/2 (RFC 7541): a complete decoder, and an encoder for blocks that are built once.

mod decoder;
pub mod huffman;
mod tables;
#[cfg(test)]
mod tests;

pub use decoder::{Decoder, HeaderListLimits, TableChange};

use tables::STATIC;
use thiserror::Error;

/// An invalid header block. After any of these the dynamic tables of the two sides may differ: the connection must be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HpackError {
    #[error("a header block ends within a field")]
    Truncated,
    #[error("an integer in a header block is too large")]
    IntegerOverflow,
    #[error("a header block refers to table entry {index}, which does not exist")]
    BadIndex { index: u32 },
    #[error("a huffman-coded string has wrong padding")]
    BadPadding,
    #[error("a huffman-coded string contains the end-of-string symbol")]
    EosInString,
    #[error("the peer set its header table to {size_bytes} bytes, at most {max_bytes} are allowed")]
    TableTooLarge { size_bytes: u32, max_bytes: usize },
    #[error("a header table size update stands behind a field")]
    LateSizeUpdate,
    #[error("the header fields of one block are larger than {max_bytes} bytes")]
    ListTooLarge { max_bytes: usize },
    #[error("one header block has more than {max} fields")]
    TooManyFields { max: usize },
}

/// Builds one block. Fields that are in the static table are indexed, all others are literals without indexing, so that the
/// block does not depend on the state of a connection.
#[derive(Debug, Default)]
pub struct Encoder {
    block: Vec<u8>,
}

impl Encoder {
    /// Adds a field; its name in lower case.
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        let whole = STATIC.iter().position(|&entry| entry == (name, value));
        if let Some(at) = whole {
            self.integer(0x80, 7, at + 1);
            return;
        }
        match STATIC.iter().position(|&(known, _)| known == name) {
            Some(at) => self.integer(0, 4, at + 1),
            None => {
                self.block.push(0);
                self.string(name);
            }
        }
        self.string(value);
    }

    /// The block.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.block
    }

    fn string(&mut self, text: &[u8]) {
        let coded_bytes = huffman::encoded_bytes(text);
        if coded_bytes < text.len() {
            self.integer(0x80, 7, coded_bytes);
            huffman::encode(text, &mut self.block);
        } else {
            self.integer(0, 7, text.len());
            self.block.extend_from_slice(text);
        }
    }

    fn integer(&mut self, pattern: u8, prefix_bits: u32, value: usize) {
        let mask = (1usize << prefix_bits) - 1;
        if value < mask {
            self.block.push(pattern | value as u8);
            return;
        }
        self.block.push(pattern | mask as u8);
        let mut rest = value - mask;
        while rest >= 0x80 {
            self.block.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.block.push(rest as u8);
    }
}
