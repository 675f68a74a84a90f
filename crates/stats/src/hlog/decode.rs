//! Decodes one histogram; every length in it is checked before it is used.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

use super::read::HlogErrorKind;
use crate::latencies::COUNT_MAX;

/// Largest array of counts that a log can make the reader allocate: 16 MiB.
const COUNTS_MAX: u64 = 2 << 20;

/// Largest inflated histogram: nine bytes for each count, and the header.
const INFLATED_BYTES_MAX: usize = 9 * COUNTS_MAX as usize + HEADER_BYTES;

const COOKIE_COMPRESSED: u32 = 0x1c84_9314;
const COOKIE_PLAIN: u32 = 0x1c84_9313;
const HEADER_BYTES: usize = 40;

/// From base64 to histogram. The library trusts two lengths of the header with an allocation each, so both are checked first.
pub(super) fn histogram(text: &str) -> Result<Histogram<u64>, HlogErrorKind> {
    let bytes = STANDARD
        .decode(text.trim_end())
        .map_err(|error| HlogErrorKind::Histogram(error.to_string()))?;
    let plain = match u32_at(&bytes, 0) {
        Some(COOKIE_COMPRESSED) => inflate(&bytes[8.min(bytes.len())..])?,
        Some(COOKIE_PLAIN) => bytes,
        _ => return Err(invalid("it does not begin as a V2 histogram")),
    };
    check_header(&plain)?;
    let histogram: Histogram<u64> = Deserializer::new()
        .deserialize(&mut plain.as_slice())
        .map_err(|error| HlogErrorKind::Histogram(error.to_string()))?;
    // The counts are summed here, since the library's total saturates.
    let total = histogram
        .iter_recorded()
        .try_fold(0_u64, |sum, step| sum.checked_add(step.count_at_value()));
    match total {
        Some(total) if total <= COUNT_MAX && total == histogram.len() => Ok(histogram),
        _ => Err(invalid("it counts more than 2^53 observations")),
    }
}

fn inflate(bytes: &[u8]) -> Result<Vec<u8>, HlogErrorKind> {
    let mut plain = Vec::new();
    ZlibDecoder::new(bytes)
        .take(INFLATED_BYTES_MAX as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(|error| HlogErrorKind::Histogram(error.to_string()))?;
    if plain.len() > INFLATED_BYTES_MAX {
        return Err(invalid("it is larger than any histogram"));
    }
    Ok(plain)
}

/// V2 header: cookie, payload length, normalising offset, digits (4 bytes each), lowest, highest (8), ratio (8).
fn check_header(plain: &[u8]) -> Result<(), HlogErrorKind> {
    let (Some(COOKIE_PLAIN), Some(length), Some(digits)) =
        (u32_at(plain, 0), u32_at(plain, 4), u32_at(plain, 12))
    else {
        return Err(invalid("its header is cut off or not V2"));
    };
    let (Some(low), Some(high)) = (u64_at(plain, 16), u64_at(plain, 24)) else {
        return Err(invalid("its header is cut off"));
    };
    if plain.len() < HEADER_BYTES || length as usize > plain.len() - HEADER_BYTES {
        return Err(invalid("it is shorter than it says"));
    }
    if low == 0 || high / 2 < low || digits > 5 {
        return Err(invalid("its range or precision is impossible"));
    }
    let sub_buckets = (2 * 10_u64.pow(digits)).next_power_of_two();
    // Each doubling of the range above the first takes half of the sub-buckets more; one doubling in reserve.
    let doublings = 65 - u64::from((high / low / sub_buckets).leading_zeros());
    let counts = (doublings + 2) * (sub_buckets / 2);
    if counts > COUNTS_MAX {
        return Err(invalid("its range is too wide for its precision"));
    }
    // Nine bytes for each count at most: small lines must not inflate to large histograms.
    if plain.len() as u64 > HEADER_BYTES as u64 + 9 * counts {
        return Err(invalid("it is longer than its range needs"));
    }
    Ok(())
}

fn invalid(why: &str) -> HlogErrorKind {
    HlogErrorKind::Histogram(why.to_owned())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
