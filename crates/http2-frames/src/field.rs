//! Validation of header field names and values, and numbers in values.

/// The first invalid byte of a name, 0 for an empty name (RFC 9113 §8.2.1): control character, space, upper-case letter, colon
/// or non-ASCII byte.
#[inline]
#[must_use]
pub fn bad_name_byte(name: &[u8]) -> Option<u8> {
    let bad = |byte: u8| byte <= 0x20 || byte >= 0x7f || byte.is_ascii_uppercase() || byte == b':';
    if name.is_empty() {
        return Some(0);
    }
    name.iter().copied().find(|&byte| bad(byte))
}

/// The first invalid byte of a value (RFC 9113 §8.2.1): zero byte or line break, or a space or tab at either end.
#[inline]
#[must_use]
pub fn bad_value_byte(value: &[u8]) -> Option<u8> {
    let blank = |byte: Option<&u8>| byte.copied().filter(|byte| matches!(byte, b' ' | b'\t'));
    let bad = value
        .iter()
        .copied()
        .find(|byte| matches!(byte, 0 | b'\r' | b'\n'));
    bad.or(blank(value.first())).or(blank(value.last()))
}

/// Parses a number that consists of decimal digits only.
#[inline]
#[must_use]
pub fn decimal(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0u64, |sum, &byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_made_of_what_the_standard_allows() {
        for (name, bad) in [
            (&b"x-y"[..], None),
            (b"", Some(0)),
            (b"X", Some(b'X')),
            (b"a:b", Some(b':')),
            (b"a\x7f", Some(0x7f)),
        ] {
            assert_eq!(bad_name_byte(name), bad, "{name:?}");
        }
        for (value, bad) in [
            (&b"a b"[..], None),
            (b"", None),
            (b" a", Some(b' ')),
            (b"a\t", Some(b'\t')),
            (b"a\nb", Some(b'\n')),
        ] {
            assert_eq!(bad_value_byte(value), bad, "{value:?}");
        }
    }

    #[test]
    fn a_number_is_digits_that_fit() {
        assert_eq!(decimal(b"0042"), Some(42));
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for wrong in [&b""[..], b"+1", b"1x", b"18446744073709551616"] {
            assert_eq!(decimal(wrong), None, "{wrong:?}");
        }
    }
}
