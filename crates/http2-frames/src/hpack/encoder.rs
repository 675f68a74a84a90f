//! Encoder of header blocks that are built once and sent often: it never adds entries to the receiver's dynamic table.

use super::huffman;
use super::tables::STATIC;

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
