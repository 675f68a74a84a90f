//! Frames that are handed on as they arrive, in pieces, without being put together: long answers that are read once.

use tare_kafka::frame::{self, ANSWER_MAX_BYTES, FrameError};

use super::{Frame, Inbox, take};

/// Length and number.
const EARLY_BYTES: usize = 8;

/// A frame, or a piece of one that is streamed.
#[derive(Debug)]
pub enum Part<'a> {
    /// A whole one.
    Frame(Frame<'a>),
    /// A piece.
    Piece {
        /// The number of the frame.
        correlation: i32,
        /// Of its first piece: all of its bytes behind the number.
        begins: Option<usize>,
        /// What arrived.
        bytes: &'a [u8],
        /// What is still to come of it.
        left: usize,
    },
}

impl Inbox {
    /// The next frame, or piece of one whose number is to be streamed.
    ///
    /// # Errors
    /// When the length cannot be that of an answer.
    pub fn next_part<'a>(
        &mut self,
        input: &mut &'a [u8],
        is_streamed: impl FnOnce(i32) -> bool,
    ) -> Result<Option<Part<'a>>, FrameError> {
        if let Some((correlation, left)) = self.stream {
            let is_empty = input.is_empty();
            return Ok((!is_empty).then(|| self.piece(correlation, None, left, input)));
        }
        if !self.head.is_empty() {
            return Ok(self.next(input)?.map(Part::Frame));
        }
        let (length, correlation, early) = match input.first_chunk::<EARLY_BYTES>() {
            Some(early) if self.early.is_empty() => {
                let length = frame::length(early, ANSWER_MAX_BYTES)?;
                (length, frame::correlation(&early[4..]), EARLY_BYTES)
            }
            _ if input.is_empty() => return Ok(None),
            _ => {
                take(&mut self.early, EARLY_BYTES, input);
                if self.early.len() < EARLY_BYTES {
                    return Ok(None);
                }
                let length = frame::length(&self.early, ANSWER_MAX_BYTES)?;
                (length, frame::correlation(&self.early[4..]), 0)
            }
        };
        let (Some(length), Some(correlation)) = (length, correlation) else {
            return Ok(None);
        };
        if is_streamed(correlation) {
            *input = &input[early..];
            self.early.clear();
            let behind = length - 4;
            return Ok(Some(self.piece(correlation, Some(behind), behind, input)));
        }
        if early == 0 {
            // As if it had been gathered from the start.
            self.head.extend_from_slice(&self.early[..4]);
            self.body = std::mem::take(&mut self.spare);
            self.body.extend_from_slice(&self.early[4..]);
            self.early.clear();
        }
        Ok(self.next(input)?.map(Part::Frame))
    }

    fn piece<'a>(
        &mut self,
        correlation: i32,
        begins: Option<usize>,
        left: usize,
        input: &mut &'a [u8],
    ) -> Part<'a> {
        let (bytes, rest) = input.split_at(left.min(input.len()));
        *input = rest;
        let left = left - bytes.len();
        self.stream = (left > 0).then_some((correlation, left));
        Part::Piece {
            correlation,
            begins,
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
            let mut inbox = Inbox::default();
            let mut found: Vec<(bool, Vec<u8>)> = Vec::new();
            let mut rest = &wire[..];
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (mut piece, behind) = rest.split_at(cut.min(rest.len()));
                rest = behind;
                while let Some(part) = inbox.next_part(&mut piece, |number| number & 1 == 1).unwrap() {
                    match part {
                        Part::Frame(frame) => {
                            found.push((false, frame[4..].to_vec()));
                            inbox.give_back(frame);
                        }
                        Part::Piece { begins, bytes, left, .. } => {
                            if let Some(all) = begins {
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
        let mut inbox = Inbox::default();
        assert!(
            inbox
                .next_part(&mut &b"HTTP/1.1 400"[..], |_| true)
                .is_err()
        );
        inbox.reset();
        assert!(
            inbox
                .next_part(&mut &b"HTTP"[..], |_| true)
                .unwrap()
                .is_none()
        );
        assert!(inbox.next_part(&mut &b"/1.1 400"[..], |_| true).is_err());
    }
}
