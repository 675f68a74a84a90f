//! Protocol buffers, as far as the origin's messages need them.

/// A field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'m> {
    Number(u64),
    Bytes(&'m [u8]),
    /// A fixed-width value, which the origin's messages do not have.
    Other,
}

/// A message that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// The fields of a message, in order.
pub(super) struct Fields<'m>(pub &'m [u8]);

impl<'m> Fields<'m> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, bytes: u64) -> Option<&'m [u8]> {
        let (front, rest) = self.0.split_at_checked(usize::try_from(bytes).ok()?)?;
        self.0 = rest;
        Some(front)
    }

    fn field(&mut self) -> Option<(u64, Value<'m>)> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => self.take(8).map(|_| Value::Other)?,
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Other)?,
            _ => return None,
        };
        (key >> 3 > 0).then_some((key >> 3, value))
    }
}

impl<'m> Iterator for Fields<'m> {
    type Item = Result<(u64, Value<'m>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field().ok_or(Malformed);
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

pub(super) fn write_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a number, unless it is 0, the default value.
pub(super) fn write_number(out: &mut Vec<u8>, field: u64, number: u64) {
    if number > 0 {
        write_varint(out, field << 3);
        write_varint(out, number);
    }
}

/// Appends the tag and length of a bytes field; the bytes have to follow.
pub(super) fn write_length(out: &mut Vec<u8>, field: u64, bytes: usize) {
    write_varint(out, field << 3 | 2);
    write_varint(out, bytes as u64);
}

pub(super) fn write_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    write_length(out, field, bytes.len());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_cut_is_not() {
        let mut message = Vec::new();
        write_number(&mut message, 1, 300);
        write_number(&mut message, 2, 0);
        write_bytes(&mut message, 20, b"abc");
        write_number(&mut message, 3, u64::MAX);
        let read: Vec<_> = Fields(&message).map(Result::unwrap).collect();
        let expected = [
            (1, Value::Number(300)),
            (20, Value::Bytes(b"abc")),
            (3, Value::Number(u64::MAX)),
        ];
        assert_eq!(read, expected);
        for cut in [1, 2, 4, 6, 8, message.len() - 1] {
            assert!(Fields(&message[..cut]).any(|field| field.is_err()), "{cut}");
        }
        assert!(Fields(&[0xff; 11]).any(|field| field.is_err()));
    }
}
