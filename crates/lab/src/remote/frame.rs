//! Frames of a connection: kind, number, payload.

/// Largest message: a file of a test bed.
pub(crate) const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Kind, number, length.
pub(super) const HEAD_BYTES: usize = 13;

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// A message of the session.
    Data = 0,
    /// All messages up to this number have arrived.
    Acknowledgement = 1,
    /// To be answered at once.
    Ping = 2,
    /// With the time of the answer.
    Pong = 3,
    /// The session is over; with the reason.
    End = 4,
    Hello = 5,
    Welcome = 6,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        let all = [
            Kind::Data,
            Kind::Acknowledgement,
            Kind::Ping,
            Kind::Pong,
            Kind::End,
            Kind::Hello,
            Kind::Welcome,
        ];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

pub(super) struct Frame {
    pub kind: Kind,
    pub number: u64,
    pub payload: Vec<u8>,
}

pub(super) fn encoded(kind: Kind, number: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES + payload.len());
    bytes.push(kind as u8);
    bytes.extend(number.to_be_bytes());
    // No payload is larger than a message.
    bytes.extend((payload.len() as u32).to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Kind, number and length of a frame.
pub(super) fn head(
    bytes: &[u8; HEAD_BYTES],
    bytes_max: usize,
) -> Result<(Kind, u64, usize), String> {
    let [kind, rest @ ..] = bytes;
    let kind = Kind::of(*kind).ok_or_else(|| format!("a frame of the unknown kind {kind}"))?;
    let (number, length) = rest.split_at(8);
    let number = number
        .iter()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let length = length
        .iter()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    match length <= bytes_max {
        true => Ok((kind, number, length)),
        false => Err(format!("a frame of {length} bytes")),
    }
}

/// Frames from bytes, however they arrive.
#[derive(Default)]
pub(super) struct Frames(pub Vec<u8>);

impl Frames {
    pub(super) fn next(&mut self) -> Result<Option<Frame>, String> {
        let Some(first) = self.0.first_chunk() else {
            return Ok(None);
        };
        let (kind, number, length) = head(first, MESSAGE_BYTES_MAX)?;
        if self.0.len() < HEAD_BYTES + length {
            return Ok(None);
        }
        let rest = self.0.split_off(HEAD_BYTES + length);
        let mut payload = std::mem::replace(&mut self.0, rest);
        payload.drain(..HEAD_BYTES);
        Ok(Some(Frame {
            kind,
            number,
            payload,
        }))
    }
}
