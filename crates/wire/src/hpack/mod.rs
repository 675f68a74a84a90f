//! Header compression of HTTP/2 (RFC 7541): a whole decoder, and an encoder for blocks that are built once.

mod decoder;
mod encoder;
pub mod huffman;
mod tables;
#[cfg(test)]
mod tests;

pub use decoder::{Decoder, ListLimits, TableUse};
pub use encoder::Encoder;

use thiserror::Error;

/// What a peer can get wrong in a header block. Any of these leaves the two sides with different tables: the
/// connection cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HpackError {
    /// The block ends within an integer or a string.
    #[error("a header block ends within a field")]
    Truncated,
    /// An integer beyond what any length or index can be.
    #[error("an integer in a header block is too large")]
    IntegerOverflow,
    /// An index that neither table has.
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
    /// A table size update beyond what was allowed.
    #[error("the peer set its header table to {size_bytes} bytes, at most {max_bytes} are allowed")]
    TableTooLarge {
        /// As sent.
        size_bytes: u32,
        /// The limit.
        max_bytes: usize,
    },
    /// A table size update behind a field.
    #[error("a header table size update stands behind a field")]
    LateSizeUpdate,
    /// The decoded fields of one block are over the limit.
    #[error("the header fields of one block are larger than {max_bytes} bytes")]
    ListTooLarge {
        /// The limit.
        max_bytes: usize,
    },
    /// One block has more fields than are read.
    #[error("one header block has more than {max} fields")]
    TooManyFields {
        /// The limit.
        max: usize,
    },
}
