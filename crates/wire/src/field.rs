//! Header fields: what names and values may be made of, and numbers in them.

/// The first byte that a name cannot have, 0 for an empty one (RFC 9113 §8.2.1): no control character, blank, upper-case letter,
/// colon or byte beyond ASCII.
#[inline]
#[must_use]
pub fn bad_name_byte(name: &[u8]) -> Option<u8> {
    let bad = |byte: u8| byte <= 0x20 || byte >= 0x7f || byte.is_ascii_uppercase() || byte == b':';
    if name.is_empty() {
        return Some(0);
    }
    name.iter().copied().find(|&byte| bad(byte))
}

/// The first byte that a value cannot have where it stands (RFC 9113 §8.2.1): no zero byte or line break, no blank at either end.
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

/// A number written in decimal digits only.
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
