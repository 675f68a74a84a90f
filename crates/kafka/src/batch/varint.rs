//! Numbers of variable length: zigzag, seven bits a byte, as records have them.

/// A small negative number becomes a small positive one.
#[inline]
#[must_use]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// And back.
#[inline]
#[must_use]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Bytes that a number takes.
#[inline]
#[must_use]
pub fn size(value: i64) -> usize {
    let bits = 64 - (zigzag(value) | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Writes a number to where there is room for it, and says how long it is.
///
/// # Panics
/// Without that room.
#[inline]
pub fn put(out: &mut [u8], value: i64) -> usize {
    let mut rest = zigzag(value);
    let mut at = 0;
    while rest >= 0x80 {
        out[at] = rest as u8 | 0x80;
        rest >>= 7;
        at += 1;
    }
    out[at] = rest as u8;
    at + 1
}

/// Appends a number.
pub fn append(out: &mut Vec<u8>, value: i64) {
    let mut bytes = [0; 10];
    let length = put(&mut bytes, value);
    out.extend_from_slice(&bytes[..length]);
}

/// Takes a number from the front; `None` if it is cut off or too long.
#[inline]
#[must_use]
pub fn take(input: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for (at, &byte) in input.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            *input = &input[at + 1..];
            return Some(unzigzag(value));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_comes_back_and_takes_what_was_said(value in any::<i64>(), shift in 0..63_u32) {
            for value in [value, value >> shift] {
                let mut bytes = Vec::new();
                append(&mut bytes, value);
                prop_assert_eq!(bytes.len(), size(value));
                let mut rest = &bytes[..];
                prop_assert_eq!(take(&mut rest), Some(value));
                prop_assert!(rest.is_empty());
                prop_assert_eq!(take(&mut &bytes[..bytes.len() - 1]), None);
            }
        }
    }

    #[test]
    fn numbers_are_those_of_protocol_buffers() {
        for (value, bytes) in [
            (0, &[0][..]),
            (-1, &[1]),
            (1, &[2]),
            (63, &[126]),
            (64, &[128, 1]),
            (-300, &[215, 4]),
        ] {
            let mut out = Vec::new();
            append(&mut out, value);
            assert_eq!(out, bytes, "{value}");
        }
        assert_eq!(take(&mut &[0x80; 11][..]), None);
    }
}
