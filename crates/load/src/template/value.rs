//! Variable of a session: unset, a text, or a list of texts, in reused buffers.

/// A variable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Value {
    kind: Kind,
    bytes: Vec<u8>,
    /// End of each item of a list.
    ends: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Unset,
    Text,
    List,
}

impl Value {
    /// Makes it unset.
    pub fn clear(&mut self) {
        self.kind = Kind::Unset;
        self.bytes.clear();
        self.ends.clear();
    }

    /// Makes it a text; returns the buffer to write to.
    pub fn begin_text(&mut self) -> &mut Vec<u8> {
        self.clear();
        self.kind = Kind::Text;
        &mut self.bytes
    }

    /// Makes it an empty list.
    pub fn begin_list(&mut self) {
        self.clear();
        self.kind = Kind::List;
    }

    /// Adds an item to a list: `write` appends it to the buffer.
    ///
    /// # Errors
    /// The error of `write`.
    pub fn item<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        write(&mut self.bytes)?;
        self.ends.push(self.bytes.len() as u32);
        Ok(())
    }

    /// The text; `None` if it is unset or a list.
    #[must_use]
    pub fn text(&self) -> Option<&[u8]> {
        (self.kind == Kind::Text).then_some(&self.bytes[..])
    }

    /// An item of a list; a text is its only item.
    #[must_use]
    pub fn at(&self, item: u32) -> Option<&[u8]> {
        match self.kind {
            Kind::Unset => None,
            Kind::Text => (item == 0).then_some(&self.bytes[..]),
            Kind::List => {
                let end = *self.ends.get(item as usize)? as usize;
                let start = match item {
                    0 => 0,
                    _ => self.ends[item as usize - 1] as usize,
                };
                Some(&self.bytes[start..end])
            }
        }
    }

    /// Whether it has a text or an item.
    #[must_use]
    pub fn has_any(&self) -> bool {
        match self.kind {
            Kind::Unset => false,
            Kind::Text => true,
            Kind::List => !self.ends.is_empty(),
        }
    }
}
