//! Splits received bytes into response frames: in place if a frame is complete, assembled if it arrives in parts. Long
//! responses that are read once are streamed: handed on in pieces as they arrive.

use std::ops::Deref;

use tare_kafka::frame::{self, ANSWER_MAX_BYTES, FrameError};

/// Bytes reserved at first for a frame in parts: a length alone does not justify more.
const RESERVED_MAX_BYTES: usize = 1 << 20;

/// The longest response that is assembled: metadata of the largest topic takes five million bytes. Fetch responses may be
/// longer, and are streamed.
const WHOLE_MAX_BYTES: usize = 8 << 20;

/// Capacity of a frame's buffer that is kept for the next one.
const KEEP_BYTES: usize = 64 * 1024;

/// Length and correlation id.
const PREFIX_BYTES: usize = 8;

/// A response without its length prefix: correlation id, header, body.
#[derive(Debug)]
pub enum Frame<'a> {
    /// Within the received bytes.
    InPlace(&'a [u8]),
    /// Assembled from parts.
    Whole(Vec<u8>),
}

impl Deref for Frame<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Frame::InPlace(bytes) => bytes,
            Frame::Whole(bytes) => bytes,
        }
    }
}

/// A frame, or a piece of one that is streamed.
#[derive(Debug)]
pub enum FramePart<'a> {
    /// A complete frame.
    Frame(Frame<'a>),
    /// A piece of a streamed frame.
    Piece {
        /// The frame's correlation id.
        correlation: i32,
        /// With its first piece: the bytes of the whole frame after the correlation id.
        total_bytes: Option<usize>,
        /// The bytes received.
        bytes: &'a [u8],
        /// Bytes still to come.
        left: usize,
    },
}

/// The incomplete frame of one connection.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    /// The length prefix, as far as received.
    head: Vec<u8>,
    /// The bytes after it.
    body: Vec<u8>,
    spare: Vec<u8>,
    /// Length and correlation id, until it is known whether the frame is streamed.
    prefix: Vec<u8>,
    /// The correlation id of the streamed frame, and its remaining bytes.
    stream: Option<(i32, usize)>,
}

impl FrameReader {
    /// Takes the next frame from the input, or all of the input as part of one.
    ///
    /// # Errors
    /// When the length is impossible for a response.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Frame<'a>>, FrameError> {
        if self.head.is_empty() {
            match frame::length(input, WHOLE_MAX_BYTES)? {
                Some(length) if input.len() >= 4 + length => {
                    let (whole, rest) = input.split_at(4 + length);
                    *input = rest;
                    return Ok(Some(Frame::InPlace(&whole[4..])));
                }
                _ if input.is_empty() => return Ok(None),
                _ => self.body = std::mem::take(&mut self.spare),
            }
        }
        take(&mut self.head, 4, input);
        let Some(length) = frame::length(&self.head, WHOLE_MAX_BYTES)? else {
            return Ok(None);
        };
        if self.body.is_empty() {
            self.body.reserve(length.min(RESERVED_MAX_BYTES));
        }
        take(&mut self.body, length, input);
        if self.body.len() < length {
            return Ok(None);
        }
        self.head.clear();
        Ok(Some(Frame::Whole(std::mem::take(&mut self.body))))
    }

    /// Keeps the buffer of a frame that has been read.
    pub fn recycle(&mut self, frame: Frame<'_>) {
        if let Frame::Whole(mut bytes) = frame {
            bytes.clear();
            bytes.shrink_to(KEEP_BYTES);
            self.spare = bytes;
        }
    }

    /// Drops an incomplete frame: the connection is closed.
    pub fn reset(&mut self) {
        self.head.clear();
        self.body.clear();
        self.body.shrink_to(KEEP_BYTES);
        self.prefix.clear();
        self.stream = None;
    }

    /// Bytes held of an incomplete frame.
    pub fn buffered_bytes(&self) -> usize {
        self.body.len()
    }

    /// The next frame, or a piece of one that `is_streamed` selects by its correlation id.
    ///
    /// # Errors
    /// When the length is impossible for a response.
    pub fn next_part<'a>(
        &mut self,
        input: &mut &'a [u8],
        is_streamed: impl FnOnce(i32) -> bool,
    ) -> Result<Option<FramePart<'a>>, FrameError> {
        if let Some((correlation, left)) = self.stream {
            let is_empty = input.is_empty();
            return Ok((!is_empty).then(|| self.piece(correlation, None, left, input)));
        }
        if !self.head.is_empty() {
            return Ok(self.next(input)?.map(FramePart::Frame));
        }
        let (length, correlation, prefix) = match input.first_chunk::<PREFIX_BYTES>() {
            Some(prefix) if self.prefix.is_empty() => {
                let length = frame::length(prefix, ANSWER_MAX_BYTES)?;
                (length, frame::correlation(&prefix[4..]), PREFIX_BYTES)
            }
            _ if input.is_empty() => return Ok(None),
            _ => {
                take(&mut self.prefix, PREFIX_BYTES, input);
                if self.prefix.len() < PREFIX_BYTES {
                    return Ok(None);
                }
                let length = frame::length(&self.prefix, ANSWER_MAX_BYTES)?;
                (length, frame::correlation(&self.prefix[4..]), 0)
            }
        };
        let (Some(length), Some(correlation)) = (length, correlation) else {
            return Ok(None);
        };
        if is_streamed(correlation) {
            *input = &input[prefix..];
            self.prefix.clear();
            let behind = length - 4;
            return Ok(Some(self.piece(correlation, Some(behind), behind, input)));
        }
        if prefix == 0 {
            // As if it had been assembled from the start.
            self.head.extend_from_slice(&self.prefix[..4]);
            self.body = std::mem::take(&mut self.spare);
            self.body.extend_from_slice(&self.prefix[4..]);
            self.prefix.clear();
        }
        Ok(self.next(input)?.map(FramePart::Frame))
    }

    fn piece<'a>(
        &mut self,
        correlation: i32,
        total_bytes: Option<usize>,
        left: usize,
        input: &mut &'a [u8],
    ) -> FramePart<'a> {
        let (bytes, rest) = input.split_at(left.min(input.len()));
        *input = rest;
        let left = left - bytes.len();
        self.stream = (left > 0).then_some((correlation, left));
        FramePart::Piece {
            correlation,
            total_bytes,
            bytes,
            left,
        }
    }
}

/// Moves bytes from the input to `part` until it is `wanted` bytes long.
fn take(part: &mut Vec<u8>, wanted: usize, input: &mut &[u8]) {
    let (taken, rest) = input.split_at(input.len().min(wanted - part.len()));
    part.extend_from_slice(taken);
    *input = rest;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn frames_come_out_however_they_are_cut(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 4..60), 1..8),
            cuts in prop::collection::vec(1..40_usize, 1..80),
        ) {
            let mut wire = Vec::new();
            for body in &bodies {
                wire.extend_from_slice(&(body.len() as u32).to_be_bytes());
                wire.extend_from_slice(body);
            }
            let mut frame_reader = FrameReader::default();
            let mut found = Vec::new();
            let mut rest = &wire[..];
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (mut piece, behind) = rest.split_at(cut.min(rest.len()));
                rest = behind;
                while let Some(frame) = frame_reader.next(&mut piece).unwrap() {
                    found.push(frame.to_vec());
                    frame_reader.recycle(frame);
                }
                prop_assert!(piece.is_empty());
            }
            prop_assert_eq!(found, bodies);
        }
    }

    #[test]
    fn an_answer_longer_than_a_cluster_has_to_tell_is_not_put_together() {
        let length = |bytes: usize| (bytes as u32).to_be_bytes();
        let next = |bytes: usize| FrameReader::default().next(&mut &length(bytes)[..]).is_ok();
        assert!(next(WHOLE_MAX_BYTES) && !next(WHOLE_MAX_BYTES + 1));
    }

    #[test]
    fn an_impossible_length_is_an_error_in_one_piece_and_in_several() {
        assert!(
            FrameReader::default()
                .next(&mut &b"HTTP/1.1 400 Bad Request"[..])
                .is_err()
        );
        let mut frame_reader = FrameReader::default();
        assert!(frame_reader.next(&mut &b"\x15\x03"[..]).unwrap().is_none());
        assert!(frame_reader.next(&mut &b"\x03\x00\x02"[..]).is_err());
    }

    proptest! {
        #[test]
        fn frames_and_streams_come_out_however_they_are_cut(
            bodies in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..60)), 1..8),
            cuts in prop::collection::vec(1..40_usize, 1..80),
        ) {
            let mut wire = Vec::new();
            for (number, (streamed, body)) in bodies.iter().enumerate() {
                wire.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
                let correlation = number as i32 * 2 + i32::from(*streamed);
                wire.extend_from_slice(&correlation.to_be_bytes());
                wire.extend_from_slice(body);
            }
            let mut frame_reader = FrameReader::default();
            let mut found: Vec<(bool, Vec<u8>)> = Vec::new();
            let mut rest = &wire[..];
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (mut piece, behind) = rest.split_at(cut.min(rest.len()));
                rest = behind;
                while let Some(part) = frame_reader.next_part(&mut piece, |number| number & 1 == 1).unwrap() {
                    match part {
                        FramePart::Frame(frame) => {
                            found.push((false, frame[4..].to_vec()));
                            frame_reader.recycle(frame);
                        }
                        FramePart::Piece { total_bytes, bytes, left, .. } => {
                            if let Some(all) = total_bytes {
                                prop_assert_eq!(all, bytes.len() + left);
                                found.push((true, Vec::new()));
                            }
                            found.last_mut().unwrap().1.extend_from_slice(bytes);
                        }
                    }
                }
                prop_assert!(piece.is_empty());
            }
            prop_assert_eq!(found, bodies);
        }
    }

    #[test]
    fn an_impossible_length_is_an_error_also_here() {
        let mut frame_reader = FrameReader::default();
        assert!(
            frame_reader
                .next_part(&mut &b"HTTP/1.1 400"[..], |_| true)
                .is_err()
        );
        frame_reader.reset();
        assert!(
            frame_reader
                .next_part(&mut &b"HTTP"[..], |_| true)
                .unwrap()
                .is_none()
        );
        assert!(
            frame_reader
                .next_part(&mut &b"/1.1 400"[..], |_| true)
                .is_err()
        );
    }
}
