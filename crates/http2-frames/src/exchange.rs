//! One request and its response on a connection of their own, over a blocking stream: for probes and calls before a load.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use crate::ErrorCode;
use crate::frame::{
    self, ACK, END_HEADERS, END_STREAM, FRAME_BYTES_DEFAULT, FRAME_HEADER_BYTES, FrameHeader, Kind,
    PADDED, PREFACE, SETTINGS_ENABLE_PUSH, SETTINGS_HEADER_TABLE_SIZE,
    SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES_DEFAULT, WINDOW_BYTES_MAX,
};
use crate::hpack::{Decoder, HeaderListLimits};

/// Stream of the request.
const STREAM: u32 = 1;

/// Bytes of one read.
const BUFFER_BYTES: usize = 16 * 1024;

const MISFIT: &str = "the padding does not fit";

const LIST_LIMITS: HeaderListLimits = HeaderListLimits::OF_HEAD;

#[derive(Debug, Clone, Copy)]
pub struct ExchangeLimits {
    /// Timeout of the whole exchange; the reads and writes of the stream must have timeouts of their own.
    pub within: Duration,
    /// Largest response, with its frame headers.
    pub bytes_max: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// Names and values of head and trailers, in the order of their arrival.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl Response {
    /// The last value of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        let mut fields = self.fields.iter().rev();
        let found = fields.find(|(known, _)| known == name.as_bytes());
        found.map(|(_, value)| value.as_slice())
    }
}

/// Sends a request, its header block encoded, and waits for the whole response.
///
/// # Errors
/// Why there is none.
pub fn exchange(
    mut stream: impl Read + Write,
    block: &[u8],
    body: &[u8],
    limits: ExchangeLimits,
) -> Result<Response, String> {
    let until = Instant::now() + limits.within;
    let mut exchange = Exchange::new(block, body, limits.bytes_max)?;
    let mut buffer = [0; BUFFER_BYTES];
    while !exchange.is_complete {
        let output = std::mem::take(&mut exchange.output);
        if !output.is_empty() {
            let sent = stream.write_all(&output).and_then(|()| stream.flush());
            sent.map_err(|error| format!("cannot ask: {error}"))?;
        }
        if Instant::now() >= until {
            let within_ms = limits.within.as_millis();
            return Err(format!("no complete response within {within_ms} ms"));
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Err("it closed the connection".to_owned()),
            Ok(count) => exchange.on_bytes(&buffer[..count])?,
            Err(error) => match error.kind() {
                ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut => {}
                _ => return Err(format!("no answer: {error}")),
            },
        }
    }
    Ok(exchange.response)
}

/// State of an exchange.
struct Exchange {
    /// To be sent.
    output: Vec<u8>,
    /// Received bytes of an incomplete frame.
    received: Vec<u8>,
    received_bytes: usize,
    bytes_max: usize,
    decoder: Decoder,
    /// A header block that continues in the next frame, and whether it ends the stream.
    block: Option<(Vec<u8>, bool)>,
    response: Response,
    is_complete: bool,
}

impl Exchange {
    /// Everything is sent at once: preface, settings, windows for the whole response, and the request.
    fn new(block: &[u8], body: &[u8], bytes_max: usize) -> Result<Exchange, String> {
        if body.len() > WINDOW_BYTES_DEFAULT as usize {
            return Err(format!(
                "a request of more than {WINDOW_BYTES_DEFAULT} bytes is not sent"
            ));
        }
        let mut output = PREFACE.to_vec();
        let settings = [
            (SETTINGS_HEADER_TABLE_SIZE, 0),
            (SETTINGS_ENABLE_PUSH, 0),
            (SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES_MAX),
        ];
        frame::write_settings(&mut output, &settings);
        frame::write_window_update(&mut output, 0, WINDOW_BYTES_MAX - WINDOW_BYTES_DEFAULT);
        let frame_bytes = FRAME_BYTES_DEFAULT as usize;
        let flags = if body.is_empty() { END_STREAM } else { 0 };
        frame::write_headers(&mut output, STREAM, &[], block, flags, frame_bytes);
        let mut pieces = body.chunks(frame_bytes).peekable();
        while let Some(piece) = pieces.next() {
            let flags = if pieces.peek().is_none() {
                END_STREAM
            } else {
                0
            };
            frame::write_head(&mut output, piece.len(), Kind::Data, flags, STREAM);
            output.extend_from_slice(piece);
        }
        Ok(Exchange {
            output,
            received: Vec::new(),
            received_bytes: 0,
            bytes_max,
            decoder: Decoder::new(0, LIST_LIMITS),
            block: None,
            response: Response::default(),
            is_complete: false,
        })
    }

    fn on_bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.received_bytes += bytes.len();
        if self.received_bytes > self.bytes_max {
            let bytes_max = self.bytes_max;
            return Err(format!("the answer is longer than {bytes_max} bytes"));
        }
        self.received.extend_from_slice(bytes);
        let received = std::mem::take(&mut self.received);
        let mut rest = received.as_slice();
        while !self.is_complete
            && let Some((&head, behind)) = rest.split_first_chunk::<FRAME_HEADER_BYTES>()
        {
            let head = FrameHeader::parse(head);
            if head.length > FRAME_BYTES_DEFAULT {
                return Err("it does not speak HTTP/2".to_owned());
            }
            let Some((payload, behind)) = behind.split_at_checked(head.length as usize) else {
                break;
            };
            self.on_frame(head, payload)?;
            rest = behind;
        }
        self.received = rest.to_vec();
        Ok(())
    }

    fn on_frame(&mut self, head: FrameHeader, payload: &[u8]) -> Result<(), String> {
        if let Some((mut block, ends)) = self.block.take() {
            if head.kind != Kind::Continuation || head.stream != STREAM {
                return Err("its header block is cut off".to_owned());
            }
            block.extend_from_slice(payload);
            return self.on_block(block, head.has(END_HEADERS), ends);
        }
        match head.kind {
            Kind::Settings if !head.has(ACK) => frame::write_settings_ack(&mut self.output),
            Kind::Ping if !head.has(ACK) => {
                let Some(&payload) = payload.first_chunk() else {
                    return Err("its PING is too short".to_owned());
                };
                frame::write_ping_ack(&mut self.output, payload);
            }
            Kind::GoAway => {
                let code = ErrorCode(frame::number(payload.get(4..).unwrap_or_default()));
                return Err(format!("it ended the connection: {code}"));
            }
            Kind::RstStream if head.stream == STREAM => {
                let code = ErrorCode(frame::number(payload));
                return Err(format!("it reset the call: {code}"));
            }
            Kind::Data if head.stream == STREAM => {
                // Padded like a HEADERS frame, but never with a priority.
                let flags = head.flags & PADDED;
                let data = FrameHeader { flags, ..head }.block(payload);
                let data = data.map_err(|_| MISFIT)?;
                self.response.body.extend_from_slice(data);
                self.is_complete = head.has(END_STREAM);
            }
            Kind::Headers if head.stream == STREAM => {
                let block = head.block(payload);
                let block = block.map_err(|_| MISFIT)?;
                self.on_block(block.to_vec(), head.has(END_HEADERS), head.has(END_STREAM))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn on_block(&mut self, block: Vec<u8>, is_whole: bool, ends: bool) -> Result<(), String> {
        if !is_whole {
            self.block = Some((block, ends));
            return Ok(());
        }
        let fields = &mut self.response.fields;
        self.decoder
            .decode(&block, |name, value| {
                fields.push((name.to_vec(), value.to_vec()));
            })
            .map_err(|error| format!("its header block: {error}"))?;
        self.is_complete = ends;
        Ok(())
    }
}
