//! Streamed frames: handed on in pieces as they arrive, not assembled; for long responses that are read once.

use tare_kafka::frame::{self, ANSWER_MAX_BYTES, FrameError};

use super::{Frame, FrameReader, take};

/// Length and correlation id.
const PREFIX_BYTES: usize = 8;

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

impl FrameReader {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
