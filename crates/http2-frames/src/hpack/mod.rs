//! HPACK, the header compression of HTTP/2 (RFC 7541): a complete decoder, and an encoder for blocks that are built once.

mod decoder;
mod encoder;
pub mod huffman;
mod tables;
#[cfg(test)]
mod tests;

pub use decoder::{Decoder, ListLimits, TableUse};
pub use encoder::Encoder;

use thiserror::Error;

/// An invalid header block. After any of these the dynamic tables of the two sides may differ: the connection must be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HpackError {
    /// The block ends within an integer or a string.
    #[error("a header block ends within a field")]
    Truncated,
    /// An integer larger than any length or index.
    #[error("an integer in a header block is too large")]
    IntegerOverflow,
    /// An index that is in neither table.
    #[error("a header block refers to table entry {index}, which does not exist")]
    BadIndex {
        /// As sent.
        index: u32,
    },
    /// The padding of a Huffman string is too long or not all ones.
    #[error("a huffman-coded string has wrong padding")]
    BadPadding,
    /// A Huffman string contains the end-of-string symbol.
    #[error("a huffman-coded string contains the end-of-string symbol")]
    EosInString,
    /// A table size update beyond the limit.
    #[error("the peer set its header table to {size_bytes} bytes, at most {max_bytes} are allowed")]
    TableTooLarge {
        /// As sent.
        size_bytes: u32,
        /// The limit.
        max_bytes: usize,
    },
    /// A table size update after a field.
    #[error("a header table size update stands behind a field")]
    LateSizeUpdate,
    /// The decoded fields of one block are over the limit.
    #[error("the header fields of one block are larger than {max_bytes} bytes")]
    ListTooLarge {
        /// The limit.
        max_bytes: usize,
    },
    /// One block has more fields than the limit.
    #[error("one header block has more than {max} fields")]
    TooManyFields {
        /// The limit.
        max: usize,
    },
}
