//! Decoder of header blocks, with the dynamic table of one connection.

use super::tables::{Dynamic, ENTRY_OVERHEAD_BYTES, STATIC};
use super::{HpackError, huffman};

/// Limits on one decoded header block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderListLimits {
    /// Bytes of names and values together, plus 32 for each field (RFC 9113 §6.5.2): protects against decompression bombs.
    pub bytes_max: usize,
    pub fields_max: usize,
}

impl HeaderListLimits {
    /// For the head of a response: 256 KiB in 1000 fields.
    pub const OF_HEAD: HeaderListLimits = HeaderListLimits {
        bytes_max: 256 * 1024 + 1000 * ENTRY_OVERHEAD_BYTES,
        fields_max: 1000,
    };
}

/// One connection's decoder.
#[derive(Debug)]
pub struct Decoder {
    table: Dynamic,
    /// The table size that our SETTINGS allow.
    table_bytes_max: usize,
    limits: HeaderListLimits,
    name: Vec<u8>,
    value: Vec<u8>,
}

/// Whether a block changed the dynamic table: then an equal block may decode to other fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableChange {
    /// The table is unchanged.
    Unchanged,
    /// Entries were added or evicted, or the size was changed.
    Changed,
}

/// Where a name comes from.
#[derive(Debug, Clone, Copy)]
enum Name {
    Index(u32),
    Literal,
}

impl Decoder {
    /// The decoder of a new connection.
    #[must_use]
    pub fn new(table_bytes_max: usize, limits: HeaderListLimits) -> Self {
        Self {
            table: Dynamic::new(table_bytes_max),
            table_bytes_max,
            limits,
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Back to the state of a new connection, keeping buffers.
    pub fn reset(&mut self) {
        self.table.reset(self.table_bytes_max);
    }

    /// Decodes one complete block and calls `field` with each name and value in order.
    ///
    /// # Errors
    /// When the block is malformed or over a limit: the connection must be closed.
    pub fn decode(
        &mut self,
        block: &[u8],
        mut field: impl FnMut(&[u8], &[u8]),
    ) -> Result<TableChange, HpackError> {
        let mut input = block;
        let mut table_use = TableChange::Unchanged;
        let (mut bytes, mut fields) = (0, 0);
        while let Some(&first) = input.first() {
            let field_bytes = if first & 0x80 != 0 {
                let index = integer(&mut input, 7)?;
                let (name, value) = self.entry(index)?;
                field(name, value);
                name.len() + value.len()
            } else if first & 0x60 == 0x20 {
                if fields > 0 {
                    return Err(HpackError::LateSizeUpdate);
                }
                self.resize(integer(&mut input, 5)?)?;
                table_use = TableChange::Changed;
                continue;
            } else if first & 0x40 != 0 {
                table_use = TableChange::Changed;
                let name = self.literal(&mut input, 6)?;
                // The entry that provides the name may be evicted for the new one: the name is copied first.
                if let Name::Index(index) = name {
                    self.copy_name(index)?;
                }
                field(&self.name, &self.value);
                self.table.add(&self.name, &self.value);
                self.name.len() + self.value.len()
            } else {
                match self.literal(&mut input, 4)? {
                    Name::Literal => {
                        field(&self.name, &self.value);
                        self.name.len() + self.value.len()
                    }
                    Name::Index(index) => {
                        let (name, _) = self.entry(index)?;
                        field(name, &self.value);
                        name.len() + self.value.len()
                    }
                }
            };
            fields += 1;
            bytes += field_bytes + ENTRY_OVERHEAD_BYTES;
            if fields > self.limits.fields_max {
                return Err(HpackError::TooManyFields {
                    max: self.limits.fields_max,
                });
            }
            if bytes > self.limits.bytes_max {
                return Err(HpackError::ListTooLarge {
                    max_bytes: self.limits.bytes_max,
                });
            }
        }
        Ok(table_use)
    }

    /// Bytes in the dynamic table, overhead included.
    #[must_use]
    pub fn table_bytes(&self) -> usize {
        self.table.size_bytes()
    }

    fn entry(&self, index: u32) -> Result<(&[u8], &[u8]), HpackError> {
        let bad = HpackError::BadIndex { index };
        let at = (index as usize).checked_sub(1).ok_or(bad)?;
        match STATIC.get(at) {
            Some(&entry) => Ok(entry),
            None => self.table.get(at - STATIC.len()).ok_or(bad),
        }
    }

    fn copy_name(&mut self, index: u32) -> Result<(), HpackError> {
        let mut copy = std::mem::take(&mut self.name);
        copy.clear();
        let copied = self
            .entry(index)
            .map(|(name, _)| copy.extend_from_slice(name));
        self.name = copy;
        copied
    }

    fn resize(&mut self, size_bytes: u32) -> Result<(), HpackError> {
        let max_bytes = self.table_bytes_max;
        if size_bytes as usize > max_bytes {
            return Err(HpackError::TableTooLarge {
                size_bytes,
                max_bytes,
            });
        }
        self.table.resize(size_bytes as usize);
        Ok(())
    }

    /// Reads a literal field: value, and name unless indexed, go into the buffers.
    fn literal(&mut self, input: &mut &[u8], prefix_bits: u32) -> Result<Name, HpackError> {
        let max_bytes = self.limits.bytes_max;
        let index = integer(input, prefix_bits)?;
        let name = if index == 0 {
            string(input, &mut self.name, max_bytes)?;
            Name::Literal
        } else {
            Name::Index(index)
        };
        string(input, &mut self.value, max_bytes)?;
        Ok(name)
    }
}

/// Reads an integer with a prefix of `prefix_bits` (RFC 7541 §5.1), of at most 28 further bits.
fn integer(input: &mut &[u8], prefix_bits: u32) -> Result<u32, HpackError> {
    let mask = (1u32 << prefix_bits) - 1;
    let mut value = u32::from(byte(input)?) & mask;
    if value < mask {
        return Ok(value);
    }
    // Four bytes: a longer integer is either too large or padded with zeros.
    for shift in [0, 7, 14, 21] {
        let next = u32::from(byte(input)?);
        value += (next & 0x7f) << shift;
        if next & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(HpackError::IntegerOverflow)
}

fn byte(input: &mut &[u8]) -> Result<u8, HpackError> {
    let (&first, rest) = input.split_first().ok_or(HpackError::Truncated)?;
    *input = rest;
    Ok(first)
}

/// Reads a string literal (RFC 7541 §5.2) into a buffer.
fn string(input: &mut &[u8], out: &mut Vec<u8>, max_bytes: usize) -> Result<(), HpackError> {
    out.clear();
    let is_huffman = input.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer(input, 7)? as usize;
    if length > max_bytes {
        return Err(HpackError::ListTooLarge { max_bytes });
    }
    let (bytes, rest) = input
        .split_at_checked(length)
        .ok_or(HpackError::Truncated)?;
    *input = rest;
    if is_huffman {
        return huffman::decode(bytes, out);
    }
    out.extend_from_slice(bytes);
    Ok(())
}
