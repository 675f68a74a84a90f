//! Numbers of variable length as records have them: zigzag, seven bits a byte, the lowest first.

/// Takes an unsigned one from the front; `None` when the bytes end or it is longer than 64 bits.
#[inline]
pub fn take_unsigned(rest: &mut &[u8]) -> Option<u64> {
    let bytes = *rest;
    // Lengths and deltas below 64 are one byte: nearly all there are.
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

/// Takes a signed one of 64 bits from the front.
#[inline]
pub fn take_long(rest: &mut &[u8]) -> Option<i64> {
    let raw = take_unsigned(rest)?;
    Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
}

/// Takes a signed one of 32 bits from the front; `None` also when it has more.
#[inline]
pub fn take_int(rest: &mut &[u8]) -> Option<i32> {
    i32::try_from(take_long(rest)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(value: i64) -> Vec<u8> {
        let mut raw = ((value << 1) ^ (value >> 63)) as u64;
        let mut out = Vec::new();
        while raw >= 0x80 {
            out.push((raw as u8) | 0x80);
            raw >>= 7;
        }
        out.push(raw as u8);
        out
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(value: i64, tail: u8) {
            let mut bytes = written(value);
            bytes.push(tail);
            let mut rest = &bytes[..];
            prop_assert_eq!(take_long(&mut rest), Some(value));
            prop_assert_eq!(rest, [tail]);
            for end in 0..bytes.len() - 1 {
                prop_assert_eq!(take_long(&mut &bytes[..end]), None);
            }
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
