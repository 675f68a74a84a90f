//! Check state of a response body, with the beginning that captures and patterns need.

use tare_http2_frames::gzip::{self, Decoded};

use super::codec::{BodyCheck, BodyMismatch, BodyProgress, ContentCoding};
use super::mismatch::{CodingError, ResponseMismatch};

/// Check state of a response body, with the prefix that captures and patterns need.
#[derive(Debug, Default)]
pub struct BodyScan {
    progress: BodyProgress,
    coding: ContentCoding,
    /// Bytes to keep of the body, as it is decoded.
    keep_bytes: usize,
    /// Prefix of the body.
    pub kept: Vec<u8>,
    decoded: Vec<u8>,
}

impl BodyScan {
    /// Of a body in a coding that was received whole: how its bytes compare as they were sent, and its beginning.
    #[must_use]
    pub fn received(
        progress: BodyProgress,
        coding: ContentCoding,
        keep_bytes: usize,
        kept: Vec<u8>,
    ) -> Self {
        Self {
            progress,
            coding,
            keep_bytes,
            kept,
            decoded: Vec::new(),
        }
    }

    /// Resets it for the next response.
    #[inline]
    pub fn restart(&mut self) {
        self.progress = BodyProgress::default();
        self.coding = ContentCoding::Identity;
        self.kept.clear();
    }

    /// The head of the response.
    #[inline]
    pub fn begin(&mut self, coding: ContentCoding) {
        self.coding = coding;
    }

    /// Coding of the body; none after [`BodyScan::decode`].
    #[must_use]
    pub fn coding(&self) -> ContentCoding {
        self.coding
    }

    /// Checks the next slice of the body; keeps the first `keep_bytes` of the body, or as many bytes as they have in gzip.
    #[inline]
    pub fn push(&mut self, check: &BodyCheck, keep_bytes: usize, slice: &[u8]) {
        self.progress.push(check, slice);
        self.keep_bytes = keep_bytes;
        let room = match self.coding {
            ContentCoding::Identity => keep_bytes,
            _ if keep_bytes == 0 => 0,
            _ => gzip_bytes_max(keep_bytes),
        };
        let room = room.saturating_sub(self.kept.len());
        if room > 0 {
            self.kept.extend_from_slice(&slice[..slice.len().min(room)]);
        }
    }

    /// Body bytes received; after [`BodyScan::decode`] those that came out, or one more than are kept.
    #[must_use]
    pub fn seen_bytes(&self) -> u64 {
        self.progress.seen_bytes()
    }

    /// Whether the body is as expected.
    ///
    /// # Errors
    /// The first difference.
    pub fn finish(&self, check: &BodyCheck) -> Result<(), BodyMismatch> {
        self.progress.finish(check)
    }

    /// Decodes what was kept, if the body is encoded.
    ///
    /// # Errors
    /// When it cannot be decoded.
    pub fn decode(&mut self, check: &BodyCheck) -> Result<(), ResponseMismatch> {
        let coding = std::mem::take(&mut self.coding);
        if coding == ContentCoding::Identity || self.kept.is_empty() {
            return Ok(());
        }
        if coding == ContentCoding::Other {
            return Err(ResponseMismatch::Coding(CodingError::Unknown));
        }
        self.decoded.clear();
        let is_whole = self.kept.len() as u64 == self.progress.seen_bytes();
        let decoded = gzip::decode(&self.kept, self.keep_bytes, &mut self.decoded)
            .map_err(|_| ResponseMismatch::Coding(CodingError::NotGzip))?;
        if decoded == Decoded::CutOff && is_whole {
            return Err(ResponseMismatch::Coding(CodingError::NotGzip));
        }
        std::mem::swap(&mut self.kept, &mut self.decoded);
        // A length is that of the body as it was sent.
        if !matches!(check, BodyCheck::Length(_)) {
            self.progress = BodyProgress::default();
            self.progress.push(check, &self.kept);
            if decoded != Decoded::Whole {
                self.progress.push(check, b"?");
            }
        }
        Ok(())
    }
}

/// Most bytes that a number of bytes have in gzip: deflate adds five bytes to each block that it cannot compress, the header has
/// a file name at most.
pub(crate) fn gzip_bytes_max(bytes: usize) -> usize {
    bytes + bytes / 256 + 1024
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::Arc;

    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// What is kept of a body in a coding, of which `keep_bytes` are wanted, and whether it is as expected.
    fn scan(
        coding: ContentCoding,
        body: &[u8],
        keep_bytes: usize,
        check: &BodyCheck,
    ) -> Result<Vec<u8>, ResponseMismatch> {
        let mut scan = BodyScan::default();
        scan.restart();
        scan.begin(coding);
        for slice in body.chunks(7) {
            scan.push(check, keep_bytes, slice);
        }
        scan.decode(check)?;
        scan.decode(check)?;
        scan.finish(check)?;
        Ok(scan.kept)
    }

    #[test]
    fn an_encoded_body_is_looked_into_decoded_up_to_the_limit() {
        let text = b"hello, ".repeat(100);
        let body = gzip(&text);
        let any = BodyCheck::Anything;
        assert_eq!(scan(ContentCoding::Gzip, &body, 700, &any).unwrap(), text);
        assert_eq!(
            scan(ContentCoding::Gzip, &body, 9, &any).unwrap(),
            b"hello, he"
        );
        assert_eq!(scan(ContentCoding::Gzip, b"", 9, &any).unwrap(), b"");
        assert_eq!(
            scan(ContentCoding::Identity, &text, 9, &any).unwrap(),
            b"hello, he"
        );
        let exact = BodyCheck::Exact(Arc::from(&text[..]));
        assert!(scan(ContentCoding::Gzip, &body, 700, &exact).is_ok());
        for longer in [&b"hello, "[..], b"x"] {
            let body = gzip(&[&text[..], longer].concat());
            assert!(scan(ContentCoding::Gzip, &body, 700, &exact).is_err());
        }
        let length = BodyCheck::Length(body.len() as u64);
        assert!(scan(ContentCoding::Gzip, &body, 700, &length).is_ok());
        let fault = |coding, body: &[u8]| scan(coding, body, 700, &any).unwrap_err();
        let not_gzip = ResponseMismatch::Coding(CodingError::NotGzip);
        assert_eq!(fault(ContentCoding::Gzip, &text), not_gzip);
        assert_eq!(fault(ContentCoding::Gzip, &body[..20]), not_gzip);
        let unknown = ResponseMismatch::Coding(CodingError::Unknown);
        assert_eq!(fault(ContentCoding::Other, &body), unknown);
    }

    #[test]
    fn bytes_that_gzip_cannot_shorten_are_kept_whole() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        })
        .take(100_000)
        .collect();
        let body = gzip(&noise);
        assert!(body.len() > noise.len());
        let any = BodyCheck::Anything;
        assert_eq!(
            scan(ContentCoding::Gzip, &body, 65_536, &any).unwrap(),
            noise[..65_536]
        );
    }
}
