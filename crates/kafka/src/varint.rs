//! Varints of records: zigzag, seven bits per byte, lowest first.

/// Zigzag encoding: small negative numbers become small positive ones.
#[inline]
#[must_use]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Encoded length of a number.
#[inline]
#[must_use]
pub fn size(value: i64) -> usize {
    let bits = 64 - (zigzag(value) | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Writes a number into a slice and returns its length.
///
/// # Panics
/// If the slice is too short.
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

/// Takes an unsigned varint from the front; `None` if the bytes end or it is longer than 64 bits.
#[inline]
pub fn take_unsigned(rest: &mut &[u8]) -> Option<u64> {
    let bytes = *rest;
    // Fast path: lengths and deltas below 64 are one byte.
    let first = *bytes.first()?;
    if first < 0x80 {
        *rest = &bytes[1..];
        return Some(u64::from(first));
    }
    let mut value = u64::from(first & 0x7f);
    for (at, &byte) in bytes.iter().enumerate().take(10).skip(1) {
        if at == 9 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            *rest = &bytes[at + 1..];
            return Some(value);
        }
    }
    None
}

/// Takes a signed 64-bit varint from the front.
#[inline]
pub fn take_long(rest: &mut &[u8]) -> Option<i64> {
    let raw = take_unsigned(rest)?;
    Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
}

/// Takes a signed 32-bit varint from the front; `None` also if it has more bits.
#[inline]
pub fn take_int(rest: &mut &[u8]) -> Option<i32> {
    i32::try_from(take_long(rest)?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(value: i64) -> Vec<u8> {
        let mut out = Vec::new();
        append(&mut out, value);
        out
    }

    proptest! {
        #[test]
        fn a_number_comes_back_and_takes_what_was_said(value in any::<i64>(), shift in 0..63_u32, tail: u8) {
            for value in [value, value >> shift] {
                let mut bytes = written(value);
                prop_assert_eq!(bytes.len(), size(value));
                bytes.push(tail);
                let mut rest = &bytes[..];
                prop_assert_eq!(take_long(&mut rest), Some(value));
                prop_assert_eq!(rest, [tail]);
                for end in 0..bytes.len() - 1 {
                    prop_assert_eq!(take_long(&mut &bytes[..end]), None);
                }
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
            assert_eq!(written(value), bytes, "{value}");
        }
    }

    #[test]
    fn the_ends_of_the_range_are_read_and_nothing_beyond() {
        for value in [0, -1, 63, -64, 64, i64::MAX, i64::MIN] {
            assert_eq!(take_long(&mut &written(value)[..]), Some(value));
        }
        assert_eq!(take_int(&mut &written(1 << 31)[..]), None);
        assert_eq!(take_int(&mut &written(-(1 << 31))[..]), Some(i32::MIN));
        assert_eq!(take_unsigned(&mut &[0xff; 11][..]), None);
        let mut too_long = [0x80; 10];
        too_long[9] = 2;
        assert_eq!(take_unsigned(&mut &too_long[..]), None);
    }
}
