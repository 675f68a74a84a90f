//! The Huffman code of RFC 7541 appendix B, both ways.

use super::HpackError;

/// Code lengths of the 256 bytes and of the end-of-string symbol, in bits (RFC 7541 appendix B). The code is canonical:
/// codes of one length ascend with their symbols, so that the lengths determine it.
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

/// The end-of-string symbol: its bits are padding; it is not allowed in a string.
const EOS: u16 = 256;
const LONGEST: usize = 30;

/// What all codes of one length have in common.
#[derive(Clone, Copy)]
struct Length {
    first_code: u32,
    count: u32,
    /// Where its symbols begin in [`Tables::ordered`].
    offset: u32,
}

struct Tables {
    codes: [u32; 257],
    lengths: [Length; LONGEST + 1],
    ordered: [u16; 257],
    /// Symbol and length of the code that the first eight bits begin with; length 0: a longer code.
    short: [(u8, u8); 256],
}

static TABLES: Tables = build();

const fn build() -> Tables {
    let mut tables = Tables {
        codes: [0; 257],
        lengths: [Length {
            first_code: 0,
            count: 0,
            offset: 0,
        }; LONGEST + 1],
        ordered: [0; 257],
        short: [(0, 0); 256],
    };
    let (mut code, mut placed, mut length) = (0u32, 0u32, 1);
    while length <= LONGEST {
        code <<= 1;
        tables.lengths[length].first_code = code;
        tables.lengths[length].offset = placed;
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                tables.codes[symbol] = code;
                tables.ordered[placed as usize] = symbol as u16;
                if length <= 8 {
                    let spare = 8 - length;
                    let mut fill = 0;
                    while fill < (1 << spare) {
                        let at = ((code as usize) << spare) + fill;
                        tables.short[at] = (symbol as u8, length as u8);
                        fill += 1;
                    }
                }
                code += 1;
                placed += 1;
            }
            symbol += 1;
        }
        tables.lengths[length].count = placed - tables.lengths[length].offset;
        length += 1;
    }
    tables
}

/// Appends the decoded string to `out`.
///
/// # Errors
/// On padding longer than seven bits or other than ones, and on the end-of-string symbol (RFC 7541 §5.2).
pub fn decode(source: &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    // The bits not yet read, from the top.
    let (mut bits, mut count) = (0u64, 0u32);
    let mut rest = source.iter();
    loop {
        while count <= 56 {
            let Some(&byte) = rest.next() else { break };
            bits |= u64::from(byte) << (56 - count);
            count += 8;
        }
        let (symbol, length) = match TABLES.short[(bits >> 56) as usize] {
            (_, 0) => long(bits),
            (symbol, length) => (u16::from(symbol), u32::from(length)),
        };
        if length > count {
            break;
        }
        if symbol == EOS {
            return Err(HpackError::EosInString);
        }
        out.push(symbol as u8);
        bits <<= length;
        count -= length;
    }
    if count > 7 || bits.leading_ones() < count {
        return Err(HpackError::BadPadding);
    }
    Ok(())
}

/// Symbol and length of a code of more than eight bits. The code is complete: every sequence of 30 bits begins with one.
fn long(bits: u64) -> (u16, u32) {
    for length in 9..=LONGEST {
        let of = &TABLES.lengths[length];
        let within = ((bits >> (64 - length)) as u32).wrapping_sub(of.first_code);
        if within < of.count {
            return (TABLES.ordered[(of.offset + within) as usize], length as u32);
        }
    }
    (EOS, LONGEST as u32)
}

/// Length of the encoded string in bytes.
#[must_use]
pub fn encoded_bytes(source: &[u8]) -> usize {
    let bits: usize = source
        .iter()
        .map(|&byte| usize::from(LENGTHS[usize::from(byte)]))
        .sum();
    bits.div_ceil(8)
}

/// Appends the encoded string to `out`.
pub fn encode(source: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0u64, 0u32);
    for &byte in source {
        let symbol = usize::from(byte);
        let length = u32::from(LENGTHS[symbol]);
        bits = bits << length | u64::from(TABLES.codes[symbol]);
        count += length;
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        let padding = 8 - count;
        out.push((bits << padding) as u8 | ((1u16 << padding) - 1) as u8);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(source: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut out = Vec::new();
        decode(source, &mut out).map(|()| out)
    }

    #[test]
    fn the_code_is_that_of_the_standard() {
        // Spot checks across lengths, from RFC 7541 appendix B.
        for (symbol, code, length) in [
            (b'0', 0x0, 5),
            (b'a', 0x3, 5),
            (b'?', 0x3fc, 10),
            (b'\\', 0x7fff0, 19),
            (0, 0x1ff8, 13),
            (1, 0x7fffd8, 23),
            (10, 0x3ffffffc, 30),
            (249, 0xffffffe, 28),
        ] {
            assert_eq!(TABLES.codes[usize::from(symbol)], code, "symbol {symbol}");
            assert_eq!(LENGTHS[usize::from(symbol)], length, "symbol {symbol}");
        }
        assert_eq!(TABLES.codes[256], 0x3fffffff);
        let kraft: u64 = LENGTHS.iter().map(|&length| 1u64 << (30 - length)).sum();
        assert_eq!(kraft, 1 << 30, "a complete code");
    }

    #[test]
    fn padding_is_at_most_seven_ones() {
        assert_eq!(decoded(&[0b0001_1111]), Ok(b"a".to_vec()));
        assert_eq!(decoded(&[0b0001_1110]), Err(HpackError::BadPadding));
        assert_eq!(decoded(&[0b0001_1111, 0xff]), Err(HpackError::BadPadding));
        assert_eq!(decoded(&[0xff]), Err(HpackError::BadPadding));
        assert_eq!(
            decoded(&[0xff, 0xff, 0xff, 0xff]),
            Err(HpackError::EosInString)
        );
        assert_eq!(decoded(&[]), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes_to_itself(source in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut encoded = Vec::new();
            encode(&source, &mut encoded);
            prop_assert_eq!(encoded.len(), encoded_bytes(&source));
            prop_assert_eq!(decoded(&encoded), Ok(source));
        }

        #[test]
        fn what_decodes_is_the_only_code_of_its_string(source in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(text) = decoded(&source) {
                let mut again = Vec::new();
                encode(&text, &mut again);
                prop_assert_eq!(again, source);
            }
        }
    }
}
