//! Compares a body, slice by slice as it arrives, with the expected one.

use std::sync::Arc;

use thiserror::Error;

/// The expected body. Cheap to clone: one per request of the plan, shared by all exchanges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum BodyCheck {
    /// Any body.
    #[default]
    Anything,
    /// Any content of exactly this many bytes.
    Length(u64),
    /// Exactly these bytes.
    Exact(Arc<[u8]>),
}

/// State of the comparison of one body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BodyProgress {
    seen_bytes: u64,
    differs_at: Option<u64>,
}

/// Why a body is not the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BodyMismatch {
    #[error("the body has {got_bytes} bytes instead of {expected_bytes}")]
    Length { expected_bytes: u64, got_bytes: u64 },
    /// The content differs; the length may or may not.
    #[error("the body differs from the expected one at byte {offset_bytes}")]
    Content { offset_bytes: u64 },
}

impl BodyProgress {
    /// Compares the next slice of the body.
    pub fn push(&mut self, check: &BodyCheck, slice: &[u8]) {
        if let (BodyCheck::Exact(expected), None) = (check, self.differs_at) {
            self.compare(expected, slice);
        }
        self.seen_bytes = self.seen_bytes.saturating_add(slice.len() as u64);
    }

    /// The result, at the end of the body.
    ///
    /// # Errors
    /// The first difference: content before length.
    pub fn finish(&self, check: &BodyCheck) -> Result<(), BodyMismatch> {
        if let Some(offset_bytes) = self.differs_at {
            return Err(BodyMismatch::Content { offset_bytes });
        }
        let expected_bytes = match check {
            BodyCheck::Anything => return Ok(()),
            BodyCheck::Length(length) => *length,
            BodyCheck::Exact(expected) => expected.len() as u64,
        };
        if self.seen_bytes == expected_bytes {
            return Ok(());
        }
        Err(BodyMismatch::Length {
            expected_bytes,
            got_bytes: self.seen_bytes,
        })
    }

    /// Body bytes received so far.
    #[must_use]
    pub fn seen_bytes(&self) -> u64 {
        self.seen_bytes
    }

    fn compare(&mut self, expected: &[u8], slice: &[u8]) {
        let start = usize::try_from(self.seen_bytes)
            .unwrap_or(usize::MAX)
            .min(expected.len());
        let rest = &expected[start..];
        // Bytes beyond the expected end are a wrong length, which `finish` reports.
        let common = slice.len().min(rest.len());
        if slice[..common] == rest[..common] {
            return;
        }
        let within = slice.iter().zip(rest).take_while(|(a, b)| a == b).count();
        self.differs_at = Some(self.seen_bytes + within as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(check: &BodyCheck, slices: &[&[u8]]) -> Result<(), BodyMismatch> {
        let mut progress = BodyProgress::default();
        for slice in slices {
            progress.push(check, slice);
        }
        progress.finish(check)
    }

    #[test]
    fn an_exact_check_finds_the_first_wrong_byte_across_slices() {
        let check = BodyCheck::Exact(Arc::from(&b"hello world"[..]));
        assert_eq!(judge(&check, &[b"hello", b" ", b"world"]), Ok(()));
        assert_eq!(
            judge(&check, &[b"hello", b" wOrLd"]),
            Err(BodyMismatch::Content { offset_bytes: 7 })
        );
        let short = BodyMismatch::Length {
            expected_bytes: 11,
            got_bytes: 5,
        };
        assert_eq!(judge(&check, &[b"hello"]), Err(short));
        let long = BodyMismatch::Length {
            expected_bytes: 11,
            got_bytes: 12,
        };
        assert_eq!(judge(&check, &[b"hello world", b"!"]), Err(long));
    }

    #[test]
    fn a_length_check_looks_at_nothing_but_the_length() {
        let check = BodyCheck::Length(4);
        assert_eq!(judge(&check, &[b"ab", b"cd"]), Ok(()));
        let wrong = BodyMismatch::Length {
            expected_bytes: 4,
            got_bytes: 3,
        };
        assert_eq!(judge(&check, &[b"abc"]), Err(wrong));
        assert_eq!(judge(&BodyCheck::Anything, &[b"whatever"]), Ok(()));
    }
}
