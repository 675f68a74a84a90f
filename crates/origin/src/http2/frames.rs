//! Splits a client's bytes into frames: the preface, frame headers, payloads in place or assembled.

use tare_http2_frames::frame::{
    ACK, FRAME_BYTES_DEFAULT, FRAME_HEADER_BYTES, FrameHeader, Kind, PREFACE,
};

use super::protocol_error::ProtocolError;

/// Capacity kept between frames.
const KEEP_BYTES: usize = 4096;

/// The incomplete frame.
#[derive(Debug, Default)]
pub(super) struct Frames {
    preface_bytes: usize,
    carry: Vec<u8>,
    settings_seen: bool,
}

impl Frames {
    /// Passes each complete frame to `take`, in order; the rest is kept for the next input.
    pub(super) fn read(
        &mut self,
        input: &[u8],
        mut take: impl FnMut(FrameHeader, &[u8]) -> Result<(), ProtocolError>,
    ) -> Result<(), ProtocolError> {
        let mut rest = self.preface(input)?;
        if !self.carry.is_empty() {
            let Some((head, carried)) = self.gather(&mut rest)? else {
                return Ok(());
            };
            let done = take(head, &carried[FRAME_HEADER_BYTES..]);
            self.carry = carried;
            self.carry.clear();
            self.carry.shrink_to(KEEP_BYTES);
            done?;
        }
        while let Some((bytes, behind)) = rest.split_first_chunk::<FRAME_HEADER_BYTES>() {
            let head = self.head(*bytes)?;
            let Some((payload, next)) = behind.split_at_checked(head.length as usize) else {
                break;
            };
            take(head, payload)?;
            rest = next;
        }
        self.carry.extend_from_slice(rest);
        Ok(())
    }

    /// Whether there is no incomplete frame.
    pub(super) fn is_between(&self) -> bool {
        self.carry.is_empty()
    }

    fn preface<'i>(&mut self, input: &'i [u8]) -> Result<&'i [u8], ProtocolError> {
        let expected = &PREFACE[self.preface_bytes..];
        let compared = expected.len().min(input.len());
        if input[..compared] != expected[..compared] {
            return Err(ProtocolError::PROTOCOL);
        }
        self.preface_bytes += compared;
        Ok(&input[compared..])
    }

    /// Completes the frame that arrives in pieces.
    fn gather(
        &mut self,
        rest: &mut &[u8],
    ) -> Result<Option<(FrameHeader, Vec<u8>)>, ProtocolError> {
        self.fill(FRAME_HEADER_BYTES, rest);
        let Some(&bytes) = self.carry.first_chunk::<FRAME_HEADER_BYTES>() else {
            return Ok(None);
        };
        let head = self.head(bytes)?;
        let whole = FRAME_HEADER_BYTES + head.length as usize;
        self.fill(whole, rest);
        Ok((self.carry.len() == whole).then(|| (head, std::mem::take(&mut self.carry))))
    }

    fn fill(&mut self, target: usize, rest: &mut &[u8]) {
        let missing = target.saturating_sub(self.carry.len()).min(rest.len());
        let (front, back) = rest.split_at(missing);
        self.carry.extend_from_slice(front);
        *rest = back;
    }

    /// Checks the frame header (RFC 9113 §6).
    #[inline]
    fn head(&mut self, bytes: [u8; FRAME_HEADER_BYTES]) -> Result<FrameHeader, ProtocolError> {
        let head = FrameHeader::parse(bytes);
        // RFC 9113 §3.4: the first frame is SETTINGS.
        if !self.settings_seen && (head.kind != Kind::Settings || head.has(ACK)) {
            return Err(ProtocolError::PROTOCOL);
        }
        self.settings_seen = true;
        if head.length > FRAME_BYTES_DEFAULT {
            return Err(ProtocolError::SIZE);
        }
        let on_stream = head.stream % 2 == 1;
        let (stream_fits, size_fits) = match head.kind {
            Kind::Data | Kind::Headers | Kind::Continuation => (on_stream, true),
            Kind::Priority => (head.stream != 0, head.length == 5),
            Kind::RstStream => (on_stream, head.length == 4),
            Kind::Settings if head.has(ACK) => (head.stream == 0, head.length == 0),
            Kind::Settings => (head.stream == 0, head.length.is_multiple_of(6)),
            Kind::PushPromise => (false, true),
            Kind::Ping => (head.stream == 0, head.length == 8),
            Kind::GoAway => (head.stream == 0, head.length >= 8),
            Kind::WindowUpdate => (head.stream == 0 || on_stream, head.length == 4),
            Kind::Unknown => (true, true),
        };
        match (stream_fits, size_fits) {
            (false, _) => Err(ProtocolError::PROTOCOL),
            (true, false) => Err(ProtocolError::SIZE),
            (true, true) => Ok(head),
        }
    }
}
