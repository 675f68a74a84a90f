//! Conversion of a 128-bit decimal to the nearest double.

/// IEEE 754-2008 decimal128 with a binary coefficient (BSON, little endian) to a double.
///
/// Decimals are stored and returned exactly; only comparisons use this, so two that differ after the 17th digit compare as
/// equal.
#[must_use]
pub fn decimal_to_f64(bytes: [u8; 16]) -> f64 {
    const EXPONENT_BIAS: i32 = 6176;
    const COEFFICIENT_MAX: u128 = 10_u128.pow(34) - 1;
    let bits = u128::from_le_bytes(bytes);
    let sign = if bits >> 127 == 1 { -1.0 } else { 1.0 };
    let combination = (bits >> 122) & 0x1f;
    if combination == 0x1f {
        return f64::NAN;
    }
    if combination == 0x1e {
        return sign * f64::INFINITY;
    }
    // The form with a large coefficient (combination 11xxx) only encodes values above the maximum, which count as 0.
    let (exponent, coefficient) = if combination >> 3 == 3 {
        ((bits >> 111) & 0x3fff, 0)
    } else {
        ((bits >> 113) & 0x3fff, bits & ((1 << 113) - 1))
    };
    if coefficient == 0 || coefficient > COEFFICIENT_MAX {
        return 0.0;
    }
    let exponent = i32::try_from(exponent).unwrap_or(0) - EXPONENT_BIAS;
    // The parser rounds once; arithmetic would round at every step.
    let text = format!("{coefficient}e{exponent}");
    sign * text.parse::<f64>().unwrap_or(0.0)
}
