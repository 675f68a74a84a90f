//! Bodies and numbers of answers.

use crate::timers;

/// Most body bytes per write.
pub(crate) const PIECE_BYTES: usize = 32 * 1024;

/// The bytes of a body that is not an echo: byte `i` is the letter `a` plus `i` modulo 26.
const fn body_pattern() -> [u8; PIECE_BYTES + 26] {
    let mut bytes = [0; PIECE_BYTES + 26];
    let mut index = 0;
    while index < bytes.len() {
        bytes[index] = b'a' + (index % 26) as u8;
        index += 1;
    }
    bytes
}

/// Each slice of up to [`PIECE_BYTES`] that starts within the first 26 bytes is a piece of such a body.
pub(crate) static BODY_PATTERN: [u8; PIECE_BYTES + 26] = body_pattern();

/// The body that `size=` gives, for checks: byte `i` is the letter `a` plus `i` modulo 26.
#[must_use]
pub fn expected_body(size_bytes: usize) -> Vec<u8> {
    (0..size_bytes)
        .map(|index| BODY_PATTERN[index % 26])
        .collect()
}

/// Appends a number in decimal digits.
pub(crate) fn push_number(out: &mut Vec<u8>, number: u64) {
    push_digits(out, number, 10);
}

/// Appends when a request arrived ("-" if unknown) and the time now, the value of `Tare-Timestamps`.
pub(crate) fn push_timestamps(out: &mut Vec<u8>, arrived_ns: Option<u64>) {
    match arrived_ns {
        Some(arrived_ns) => push_number(out, arrived_ns),
        None => out.push(b'-'),
    }
    out.push(b' ');
    push_number(out, timers::realtime_ns());
}

/// Appends a number in hexadecimal digits.
pub(crate) fn push_hex(out: &mut Vec<u8>, number: u64) {
    push_digits(out, number, 16);
}

/// Without `core::fmt`, which costs more than the rest of a head.
fn push_digits(out: &mut Vec<u8>, mut number: u64, base: u64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b"0123456789abcdef"[usize::try_from(number % base).unwrap_or(0)];
        number /= base;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
