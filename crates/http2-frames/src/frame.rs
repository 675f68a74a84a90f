//! Frame headers, types and flags (RFC 9113 §4 and §6): stateless parsing, and writing.

use crate::ErrorCode;

pub const FRAME_HEADER_BYTES: usize = 9;

/// Default of SETTINGS_MAX_FRAME_SIZE.
pub const FRAME_BYTES_DEFAULT: u32 = 16_384;

/// Default of SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113 §6.9.2).
pub const WINDOW_BYTES_DEFAULT: u32 = 65_535;

/// Largest flow-control window (RFC 9113 §6.9.1).
pub const WINDOW_BYTES_MAX: u32 = 0x7fff_ffff;

pub const SETTINGS_HEADER_TABLE_SIZE: u16 = 0x1;
pub const SETTINGS_ENABLE_PUSH: u16 = 0x2;
pub const SETTINGS_MAX_CONCURRENT_STREAMS: u16 = 0x3;
pub const SETTINGS_INITIAL_WINDOW_SIZE: u16 = 0x4;
pub const SETTINGS_MAX_FRAME_SIZE: u16 = 0x5;
pub const SETTINGS_MAX_HEADER_LIST_SIZE: u16 = 0x6;

/// Connection preface of a client (RFC 9113 §3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The flag ACK of SETTINGS and PING.
pub const ACK: u8 = 0x1;
/// The flag END_STREAM of DATA and HEADERS.
pub const END_STREAM: u8 = 0x1;
/// The flag END_HEADERS of HEADERS and CONTINUATION.
pub const END_HEADERS: u8 = 0x4;
/// The flag PADDED of DATA and HEADERS.
pub const PADDED: u8 = 0x8;
/// The flag PRIORITY of HEADERS.
pub const PRIORITY: u8 = 0x20;

/// Frame type.
#[repr(u8)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Body bytes.
    Data = 0x0,
    /// The beginning of a header block.
    Headers = 0x1,
    /// Priority of a stream; ignored.
    Priority = 0x2,
    /// Ends a stream with an error code.
    RstStream = 0x3,
    /// Connection parameters.
    Settings = 0x4,
    /// A pushed request.
    PushPromise = 0x5,
    /// Liveness check.
    Ping = 0x6,
    /// Announces the end of the connection.
    GoAway = 0x7,
    /// Increases a flow-control window.
    WindowUpdate = 0x8,
    /// The continuation of a header block.
    Continuation = 0x9,
    /// Any other type: ignored.
    Unknown = 0xff,
}

impl Kind {
    /// Its name in the standard.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Data => "DATA",
            Kind::Headers => "HEADERS",
            Kind::Priority => "PRIORITY",
            Kind::RstStream => "RST_STREAM",
            Kind::Settings => "SETTINGS",
            Kind::PushPromise => "PUSH_PROMISE",
            Kind::Ping => "PING",
            Kind::GoAway => "GOAWAY",
            Kind::WindowUpdate => "WINDOW_UPDATE",
            Kind::Continuation => "CONTINUATION",
            Kind::Unknown => "unknown",
        }
    }

    #[inline]
    fn from_byte(byte: u8) -> Self {
        match byte {
            0x0 => Kind::Data,
            0x1 => Kind::Headers,
            0x2 => Kind::Priority,
            0x3 => Kind::RstStream,
            0x4 => Kind::Settings,
            0x5 => Kind::PushPromise,
            0x6 => Kind::Ping,
            0x7 => Kind::GoAway,
            0x8 => Kind::WindowUpdate,
            0x9 => Kind::Continuation,
            _ => Kind::Unknown,
        }
    }

    #[inline]
    fn byte(self) -> u8 {
        self as u8
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Bytes of the payload.
    pub length: u32,
    /// Type.
    pub kind: Kind,
    /// Flags; their meaning depends on the type.
    pub flags: u8,
    /// Stream, 0 for the connection.
    pub stream: u32,
}

impl FrameHeader {
    /// Parses the nine bytes.
    #[inline]
    #[must_use]
    pub fn parse(bytes: [u8; FRAME_HEADER_BYTES]) -> Self {
        let [a, b, c, kind, flags, w, x, y, z] = bytes;
        Self {
            length: u32::from_be_bytes([0, a, b, c]),
            kind: Kind::from_byte(kind),
            flags,
            stream: u32::from_be_bytes([w, x, y, z]) & 0x7fff_ffff,
        }
    }

    /// Whether a flag is set.
    #[inline]
    #[must_use]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The header block in the payload of a HEADERS frame, without padding and priority.
    ///
    /// # Errors
    /// When the padding or the priority does not fit in the payload.
    #[inline]
    pub fn block<'p>(&self, payload: &'p [u8]) -> Result<&'p [u8], PayloadTooShort> {
        let mut block = payload;
        if self.has(PADDED) {
            let (&padding, rest) = block.split_first().ok_or(PayloadTooShort::Padding)?;
            let end = rest.len().checked_sub(usize::from(padding));
            block = &rest[..end.ok_or(PayloadTooShort::Padding)?];
        }
        if self.has(PRIORITY) {
            block = block.get(5..).ok_or(PayloadTooShort::Priority)?;
        }
        Ok(block)
    }
}

/// What does not fit in the payload of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadTooShort {
    Padding,
    Priority,
}

/// The big-endian number in the first four bytes; 0 if there are fewer.
#[inline]
#[must_use]
pub fn number(bytes: &[u8]) -> u32 {
    bytes
        .first_chunk()
        .map_or(0, |&bytes| u32::from_be_bytes(bytes))
}

/// Identifier and value of each entry of a SETTINGS frame.
#[inline]
pub fn settings(payload: &[u8]) -> impl Iterator<Item = (u16, u32)> {
    payload.chunks_exact(6).map(|entry| {
        let setting = u16::from_be_bytes([entry[0], entry[1]]);
        (setting, number(&entry[2..]))
    })
}

/// Appends a frame header.
#[inline]
pub fn write_head(out: &mut Vec<u8>, length: usize, kind: Kind, flags: u8, stream: u32) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [w, x, y, z] = stream.to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind.byte(), flags, w, x, y, z]);
}

/// Appends a SETTINGS frame.
pub fn write_settings(out: &mut Vec<u8>, settings: &[(u16, u32)]) {
    write_head(out, settings.len() * 6, Kind::Settings, 0, 0);
    for &(setting, value) in settings {
        out.extend_from_slice(&setting.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends the acknowledgement of SETTINGS.
pub fn write_settings_ack(out: &mut Vec<u8>) {
    write_head(out, 0, Kind::Settings, ACK, 0);
}

/// Appends the acknowledgement of a PING.
pub fn write_ping_ack(out: &mut Vec<u8>, payload: [u8; 8]) {
    write_head(out, 8, Kind::Ping, ACK, 0);
    out.extend_from_slice(&payload);
}

/// Appends a WINDOW_UPDATE.
pub fn write_window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    write_head(out, 4, Kind::WindowUpdate, 0, stream);
    out.extend_from_slice(&increment.to_be_bytes());
}

/// Appends a RST_STREAM.
pub fn write_reset(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    write_head(out, 4, Kind::RstStream, 0, stream);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Appends a GOAWAY; `last_stream` is the peer's last stream that was or will be processed.
pub fn write_goaway(out: &mut Vec<u8>, last_stream: u32, code: ErrorCode) {
    write_head(out, 8, Kind::GoAway, 0, 0);
    out.extend_from_slice(&last_stream.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Appends a header block as HEADERS and, if it is larger than a frame, CONTINUATIONs. `prefix` comes before the block.
pub fn write_headers(
    out: &mut Vec<u8>,
    stream: u32,
    prefix: &[u8],
    block: &[u8],
    flags: u8,
    frame_bytes_max: usize,
) {
    let first = block.len().min(frame_bytes_max - prefix.len());
    let (mut piece, mut rest) = block.split_at(first);
    let end = |rest: &[u8]| if rest.is_empty() { END_HEADERS } else { 0 };
    write_head(
        out,
        prefix.len() + piece.len(),
        Kind::Headers,
        flags | end(rest),
        stream,
    );
    out.extend_from_slice(prefix);
    out.extend_from_slice(piece);
    while !rest.is_empty() {
        (piece, rest) = rest.split_at(rest.len().min(frame_bytes_max));
        write_head(out, piece.len(), Kind::Continuation, end(rest), stream);
        out.extend_from_slice(piece);
    }
}
