//! Frame parser of one HTTP/2 client connection, without I/O: bytes in, events out.
//!
//! It checks what does not need the state of streams: sizes, allowed frame types, header blocks, floods. Body slices are
//! borrowed from the input; a frame that arrives whole is read in place, and only one that arrives in pieces is buffered.
//! Apart from the boundaries of body slices, neither the events nor the error depend on how the bytes were split.

pub mod event;
#[cfg(test)]
mod fault_tests;
mod payload;
#[cfg(test)]
mod properties;
pub mod section;
#[cfg(test)]
pub(crate) mod tests;

pub use event::{Event, Limits, SettingsChange, StreamEnd};
pub use section::{ContentType, FieldSection, GrpcStatus};
pub use tare_http2_frames::frame;

use super::error::CodecError;
use frame::{ACK, END_STREAM, FRAME_HEADER_BYTES, FrameHeader, Kind, PADDED};
use section::FieldSectionDecoder;

/// Header table size that the server may use: the default.
const TABLE_BYTES: usize = 4096;

/// Buffer capacity kept when the connection is reset; more is freed.
const KEEP_BYTES: usize = 4096;

/// The parser of one connection. See the module for the rules.
#[derive(Debug)]
pub struct Codec {
    limits: Limits,
    state: State,
    /// A frame header or payload that arrives in pieces.
    partial: Vec<u8>,
    field_decoder: FieldSectionDecoder,
    /// A header block that spans several frames.
    block: Vec<u8>,
    partial_block: Option<PartialBlock>,
    has_settings: bool,
    /// Frames since the last progress, by [`UnproductiveFrame`].
    unproductive: [u32; 3],
}

#[derive(Debug, Clone, Copy)]
enum State {
    Head,
    Payload(FrameHeader),
    Data(Data),
    Skip { left: u32 },
    Failed(CodecError),
}

/// Position within a DATA frame.
#[derive(Debug, Clone, Copy)]
struct Data {
    stream: u32,
    end: StreamEnd,
    /// Window bytes not reported yet.
    window_bytes: u32,
    /// Bytes of body left; until the padding length is read, of everything after it.
    left: u32,
    padding: Padding,
}

#[derive(Debug, Clone, Copy)]
enum Padding {
    Unread,
    Left(u32),
}

/// A header block that is not complete.
#[derive(Debug, Clone, Copy)]
struct PartialBlock {
    stream: u32,
    end: StreamEnd,
    frames: u32,
}

/// Kinds of frames that make no progress; a server could send them without end.
#[derive(Debug, Clone, Copy)]
enum UnproductiveFrame {
    /// PING and SETTINGS: each needs a reply.
    NeedsReply,
    /// Others, which only need to be read.
    Ignored,
    /// WINDOW_UPDATE: many are normal while a large body is sent.
    Window,
}

impl Codec {
    /// A fresh connection.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: State::Head,
            partial: Vec::new(),
            field_decoder: FieldSectionDecoder::new(TABLE_BYTES, limits.list),
            block: Vec::new(),
            partial_block: None,
            has_settings: false,
            unproductive: [0; 3],
        }
    }

    /// Back to the state of a new connection, keeping buffers.
    pub fn reset(&mut self) {
        self.state = State::Head;
        self.partial.clear();
        self.partial.shrink_to(KEEP_BYTES);
        self.field_decoder.reset();
        self.block.clear();
        self.block.shrink_to(KEEP_BYTES);
        self.partial_block = None;
        self.has_settings = false;
        self.unproductive = [0; 3];
    }

    /// The `grpc-message` of the last header block, as sent.
    #[must_use]
    pub fn message(&self) -> &[u8] {
        self.field_decoder.message()
    }

    /// Where the first redirect led, as its `location` says.
    #[must_use]
    pub fn redirected_to(&self) -> Option<&[u8]> {
        self.field_decoder.redirected_to()
    }

    /// Resets the flood counters, because an exchange made progress.
    pub fn progressed(&mut self) {
        self.unproductive = [0; 3];
    }

    /// Reads the next event and removes its bytes from the input; `None` when more input is needed.
    ///
    /// # Errors
    /// When the connection must be closed. After that every call returns the same error.
    #[inline]
    pub fn next<'b>(&mut self, input: &mut &'b [u8]) -> Result<Option<Event<'b>>, CodecError> {
        let next = self.step(input);
        if let Err(error) = next {
            self.state = State::Failed(error);
        }
        next
    }

    #[inline]
    fn step<'b>(&mut self, input: &mut &'b [u8]) -> Result<Option<Event<'b>>, CodecError> {
        loop {
            let event = match self.state {
                State::Failed(error) => return Err(error),
                State::Head => {
                    let Some(head) = self.head(input)? else {
                        return Ok(None);
                    };
                    self.begin(head, input)?
                }
                State::Payload(head) => {
                    if !self.partial.is_empty() || input.len() < head.length as usize {
                        return self.gather(head, input);
                    }
                    let payload = take_front(input, head.length as usize);
                    self.state = State::Head;
                    self.payload(head, payload)?
                }
                State::Data(data) => match self.data(data, input)? {
                    None if input.is_empty() => return Ok(None),
                    event => event,
                },
                State::Skip { left } => {
                    let left =
                        left - take_front(input, input.len().min(left as usize)).len() as u32;
                    self.state = if left == 0 {
                        State::Head
                    } else {
                        State::Skip { left }
                    };
                    if left > 0 {
                        return Ok(None);
                    }
                    None
                }
            };
            if event.is_some() {
                return Ok(event);
            }
        }
    }

    #[inline]
    fn head(&mut self, input: &mut &[u8]) -> Result<Option<FrameHeader>, CodecError> {
        let bytes = match input.first_chunk::<FRAME_HEADER_BYTES>() {
            Some(&bytes) if self.partial.is_empty() => {
                *input = &input[FRAME_HEADER_BYTES..];
                bytes
            }
            _ => {
                let missing = FRAME_HEADER_BYTES - self.partial.len();
                self.partial
                    .extend_from_slice(take_front(input, missing.min(input.len())));
                let Some(&bytes) = self.partial.first_chunk::<FRAME_HEADER_BYTES>() else {
                    return Ok(None);
                };
                self.partial.clear();
                bytes
            }
        };
        if !self.has_settings {
            return self.check_first_frame(bytes).map(Some);
        }
        Ok(Some(FrameHeader::parse(bytes)))
    }

    /// The first frame must be SETTINGS (RFC 9113 §3.4).
    #[cold]
    fn check_first_frame(
        &mut self,
        bytes: [u8; FRAME_HEADER_BYTES],
    ) -> Result<FrameHeader, CodecError> {
        let head = FrameHeader::parse(bytes);
        if bytes.starts_with(b"HTTP/1") {
            return Err(CodecError::SpeaksHttp1);
        }
        if head.kind != Kind::Settings || head.has(ACK) {
            return Err(CodecError::NoSettingsFirst);
        }
        self.has_settings = true;
        Ok(head)
    }

    /// Checks a frame header and decides how to read the payload. A payload that has arrived whole, the common case, is read
    /// immediately.
    #[inline]
    fn begin<'b>(
        &mut self,
        head: FrameHeader,
        input: &mut &'b [u8],
    ) -> Result<Option<Event<'b>>, CodecError> {
        let max_bytes = self.limits.frame_bytes_max;
        if head.length > max_bytes {
            return Err(CodecError::FrameTooLarge {
                size_bytes: head.length,
                max_bytes,
            });
        }
        check_frame(&head)?;
        match (self.partial_block, head.kind) {
            (Some(block), Kind::Continuation) if block.stream == head.stream => {}
            (Some(_), kind) => return Err(CodecError::BrokenHeaderBlock { frame: kind.name() }),
            (None, Kind::Continuation) => return Err(CodecError::StrayContinuation),
            (None, _) => {}
        }
        let is_whole = input.len() >= head.length as usize;
        match head.kind {
            Kind::Data if is_whole && head.length > 0 && !head.has(PADDED) => {
                self.progressed();
                return Ok(Some(Event::Data {
                    stream: head.stream,
                    slice: take_front(input, head.length as usize),
                    window_bytes: head.length,
                    end: StreamEnd::of(&head),
                }));
            }
            Kind::Data => {
                self.state = State::Data(Data {
                    stream: head.stream,
                    end: StreamEnd::of(&head),
                    window_bytes: head.length,
                    left: head.length,
                    padding: if head.has(PADDED) {
                        Padding::Unread
                    } else {
                        Padding::Left(0)
                    },
                });
                if head.length > 0 || head.has(END_STREAM) {
                    self.progressed();
                } else {
                    self.count(UnproductiveFrame::Ignored, Kind::Data)?;
                }
                if head.length == 0 && head.has(PADDED) {
                    return Err(CodecError::PaddingTooLong {
                        frame: Kind::Data.name(),
                    });
                }
            }
            Kind::Priority | Kind::Unknown => {
                self.count(UnproductiveFrame::Ignored, head.kind)?;
                self.state = State::Skip { left: head.length };
                if head.kind == Kind::Priority && head.length != 5 {
                    let error = CodecError::PrioritySize {
                        size_bytes: head.length,
                    };
                    return Ok(Some(Event::StreamError {
                        stream: head.stream,
                        error,
                    }));
                }
            }
            _ if is_whole => return self.payload(head, take_front(input, head.length as usize)),
            _ => self.state = State::Payload(head),
        }
        Ok(None)
    }

    /// Buffers a payload that arrives in pieces.
    #[cold]
    fn gather<'b>(
        &mut self,
        head: FrameHeader,
        input: &mut &'b [u8],
    ) -> Result<Option<Event<'b>>, CodecError> {
        let missing = head.length as usize - self.partial.len();
        let piece = take_front(input, missing.min(input.len()));
        self.partial.extend_from_slice(piece);
        if piece.len() < missing {
            return Ok(None);
        }
        self.state = State::Head;
        let mut partial = std::mem::take(&mut self.partial);
        let event = self.payload(head, &partial);
        partial.clear();
        self.partial = partial;
        match event? {
            Some(event) => Ok(Some(event)),
            None => self.step(input),
        }
    }

    /// The next slice of a DATA frame; `None` when more input is needed or only padding was read.
    #[inline]
    fn data<'b>(
        &mut self,
        mut data: Data,
        input: &mut &'b [u8],
    ) -> Result<Option<Event<'b>>, CodecError> {
        let mut slice: &[u8] = &[];
        if let Padding::Unread = data.padding {
            let Some(&length) = take_front(input, input.len().min(1)).first() else {
                return Ok(None);
            };
            let length = u32::from(length);
            let Some(left) = (data.left - 1).checked_sub(length) else {
                return Err(CodecError::PaddingTooLong {
                    frame: Kind::Data.name(),
                });
            };
            data.padding = Padding::Left(length);
            data.left = left;
        }
        if data.left > 0 {
            slice = take_front(input, input.len().min(data.left as usize));
            data.left -= slice.len() as u32;
        }
        if let (0, Padding::Left(left)) = (data.left, &mut data.padding) {
            *left -= take_front(input, input.len().min(*left as usize)).len() as u32;
        }
        let is_over = data.left == 0 && matches!(data.padding, Padding::Left(0));
        let window_bytes = data.window_bytes;
        let Data { stream, end, .. } = data;
        if is_over {
            self.state = State::Head;
            return Ok(Some(Event::Data {
                stream,
                slice,
                window_bytes,
                end,
            }));
        }
        if slice.is_empty() {
            self.state = State::Data(data);
            return Ok(None);
        }
        data.window_bytes = 0;
        self.state = State::Data(data);
        Ok(Some(Event::Data {
            stream,
            slice,
            window_bytes,
            end: StreamEnd::Open,
        }))
    }

    #[inline]
    fn count(&mut self, unproductive: UnproductiveFrame, kind: Kind) -> Result<(), CodecError> {
        let max = match unproductive {
            UnproductiveFrame::NeedsReply => self.limits.reply_frames_max,
            UnproductiveFrame::Ignored => self.limits.unproductive_max,
            UnproductiveFrame::Window => self.limits.unproductive_max.saturating_mul(10),
        };
        let count = &mut self.unproductive[unproductive as usize];
        *count += 1;
        if *count > max {
            return Err(CodecError::Flood {
                frame: kind.name(),
                max,
            });
        }
        Ok(())
    }
}

/// Checks that the frame type allows the stream and the length (RFC 9113 §6).
///
/// # Errors
/// When it does not. The length of PRIORITY is not checked here: it is an error of its stream only.
fn check_frame(head: &FrameHeader) -> Result<(), CodecError> {
    let frame = head.kind.name();
    let size_bytes = head.length;
    let wrong_size = CodecError::FrameSize { frame, size_bytes };
    // Even stream ids belong to the server, which may open no stream.
    let on_stream = head.stream % 2 == 1;
    let (stream_fits, size_fits) = match head.kind {
        Kind::Data | Kind::Headers | Kind::Continuation => (on_stream, true),
        Kind::Priority => (head.stream != 0, true),
        Kind::RstStream => (on_stream, head.length == 4),
        Kind::Settings if head.has(ACK) => (head.stream == 0, head.length == 0),
        Kind::Settings => (head.stream == 0, head.length.is_multiple_of(6)),
        Kind::PushPromise => return Err(CodecError::Push),
        Kind::Ping => (head.stream == 0, head.length == 8),
        Kind::GoAway => (head.stream == 0, head.length >= 8),
        Kind::WindowUpdate => (head.stream == 0 || on_stream, head.length == 4),
        Kind::Unknown => (true, true),
    };
    match (stream_fits, size_fits) {
        (false, _) => Err(CodecError::FrameOnWrongStream {
            frame,
            stream: head.stream,
        }),
        (true, false) => Err(wrong_size),
        (true, true) => Ok(()),
    }
}

fn take_front<'b>(input: &mut &'b [u8], count: usize) -> &'b [u8] {
    let (front, rest) = input.split_at(count);
    *input = rest;
    front
}

/// Entry point of the fuzz target and of the property tests: feeds arbitrary bytes as a server's frames. The first byte chooses the split. Must return.
///
/// Returns the number of events, so that the work is not optimised away.
#[must_use]
pub fn fuzz_entry(data: &[u8]) -> usize {
    let (setup, stream) = data.split_at(data.len().min(1));
    let piece_bytes = usize::from(setup.first().copied().unwrap_or(0)).max(1);
    let mut codec = Codec::new(Limits::default());
    let mut events = 0;
    for piece in stream.chunks(piece_bytes) {
        let mut input = piece;
        while let Ok(Some(_)) = codec.next(&mut input) {
            events += 1;
        }
    }
    events
}
