//! A session's variable: nothing, a text, or a list of texts, in buffers that are used again.

/// A variable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Value {
    kind: Kind,
    bytes: Vec<u8>,
    /// Where each item of a list ends.
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
    /// Takes its value away.
    pub fn clear(&mut self) {
        self.kind = Kind::Unset;
        self.bytes.clear();
        self.ends.clear();
    }

    /// Gives it a text: the buffer to write it to.
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
    /// What `write` fails with.
    pub fn item<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        write(&mut self.bytes)?;
        self.ends.push(self.bytes.len() as u32);
        Ok(())
    }

    /// The text; `None` if it has no value or is a list.
    #[must_use]
    pub fn text(&self) -> Option<&[u8]> {
        (self.kind == Kind::Text).then_some(&self.bytes[..])
    }

    /// The item of a list; of a text, the text is the only item.
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

    /// Whether there is anything in it.
    #[must_use]
    pub fn has_any(&self) -> bool {
        match self.kind {
            Kind::Unset => false,
            Kind::Text => true,
            Kind::List => !self.ends.is_empty(),
        }
    }
}
