//! Probe of the gRPC health service (`grpc.health.v1`), over plaintext HTTP/2.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tare_http2_frames::ErrorCode;
use tare_http2_frames::field::decimal;
use tare_http2_frames::frame::{
    self, ACK, END_HEADERS, END_STREAM, FRAME_BYTES_DEFAULT, FrameHead, HEAD_BYTES, Kind, PADDED,
    PREFACE, SET_PUSH, SET_TABLE_BYTES,
};
use tare_http2_frames::hpack::{Decoder, Encoder, ListLimits};

use super::open;
use crate::connector::Connector;

const METHOD: &[u8] = b"/grpc.health.v1.Health/Check";

/// Stream of the call.
const STREAM: u32 = 1;

/// Maximum size of a response; real ones have some hundred bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

const LIST_LIMITS: ListLimits = ListLimits {
    bytes_max: 16 * 1024,
    fields_max: 128,
};

/// The values of `HealthCheckResponse.ServingStatus`.
const STATUSES: [&str; 4] = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];
const SERVING: u64 = 1;

/// Calls `Check` for a service; for the whole server with an empty name.
///
/// # Errors
/// Why there is no response, or its status if that is not SERVING.
pub(super) fn ask(
    connector: &Connector,
    at: &str,
    service: &str,
    limit: Duration,
) -> Result<(), String> {
    let until = Instant::now() + limit;
    let stream = open(connector, at, limit)?;
    let failed = |error: String| format!("the health of {at}: {error}");
    let mut line = Line {
        stream,
        until,
        read_bytes: 0,
    };
    line.send(&question(at, service)).map_err(failed)?;
    let answer = line.answer().map_err(failed)?;
    answer.judge(service).map_err(failed)
}

/// Everything that is sent at once: preface, settings and the call.
fn question(authority: &str, service: &str) -> Vec<u8> {
    let mut block = Encoder::default();
    for (name, value) in [
        (&b":method"[..], &b"POST"[..]),
        (b":scheme", b"http"),
        (b":path", METHOD),
        (b":authority", authority.as_bytes()),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
    ] {
        block.field(name, value);
    }
    let mut out = PREFACE.to_vec();
    frame::write_settings(&mut out, &[(SET_TABLE_BYTES, 0), (SET_PUSH, 0)]);
    let block = block.finish();
    frame::write_block(
        &mut out,
        STREAM,
        &[],
        &block,
        0,
        FRAME_BYTES_DEFAULT as usize,
    );
    // HealthCheckRequest { string service = 1; }, uncompressed.
    let mut message = Vec::new();
    if !service.is_empty() {
        message.push(0x0a);
        let mut rest = service.len();
        while rest >= 0x80 {
            message.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        message.push(rest as u8);
        message.extend_from_slice(service.as_bytes());
    }
    frame::write_head(&mut out, message.len() + 5, Kind::Data, END_STREAM, STREAM);
    out.push(0);
    out.extend_from_slice(&(message.len() as u32).to_be_bytes());
    out.extend_from_slice(&message);
    out
}

/// A connection with a deadline.
struct Line {
    stream: TcpStream,
    until: Instant,
    read_bytes: usize,
}

/// Response to the call.
#[derive(Default)]
struct Answer {
    http_status: Option<u64>,
    grpc_status: Option<u64>,
    message: String,
    body: Vec<u8>,
}

impl Line {
    fn left(&self) -> Result<Duration, String> {
        let left = self.until.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err("no whole answer in time".to_owned()),
            false => Ok(left),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        let left = self.left()?;
        let sent = self.stream.set_write_timeout(Some(left));
        sent.and_then(|()| self.stream.write_all(bytes))
            .map_err(|error| format!("cannot ask: {error}"))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        let mut at = 0;
        while at < buffer.len() {
            let left = self.left()?;
            let read = self.stream.set_read_timeout(Some(left));
            match read.and_then(|()| self.stream.read(&mut buffer[at..])) {
                Ok(0) => return Err("it closed the connection".to_owned()),
                Ok(count) => at += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("no answer: {error}")),
            }
        }
        Ok(())
    }

    fn frame(&mut self) -> Result<(FrameHead, Vec<u8>), String> {
        let mut head = [0; HEAD_BYTES];
        self.fill(&mut head)?;
        let head = FrameHead::parse(head);
        if head.length > FRAME_BYTES_DEFAULT {
            return Err("it does not speak HTTP/2".to_owned());
        }
        self.read_bytes += HEAD_BYTES + head.length as usize;
        if self.read_bytes > ANSWER_BYTES_MAX {
            return Err(format!(
                "the answer is longer than {ANSWER_BYTES_MAX} bytes"
            ));
        }
        let mut payload = vec![0; head.length as usize];
        self.fill(&mut payload)?;
        Ok((head, payload))
    }

    /// Reads until the end of the call.
    fn answer(&mut self) -> Result<Answer, String> {
        let mut answer = Answer::default();
        let mut decoder = Decoder::new(0, LIST_LIMITS);
        loop {
            let (head, payload) = self.frame()?;
            match head.kind {
                Kind::Settings if !head.has(ACK) => {
                    let mut ack = Vec::new();
                    frame::write_settings_ack(&mut ack);
                    self.send(&ack)?;
                }
                Kind::Ping if !head.has(ACK) => {
                    let Some(&payload) = payload.first_chunk() else {
                        return Err("its PING is too short".to_owned());
                    };
                    let mut ack = Vec::new();
                    frame::write_ping_ack(&mut ack, payload);
                    self.send(&ack)?;
                }
                Kind::GoAway => {
                    let code = ErrorCode(frame::number(payload.get(4..).unwrap_or_default()));
                    return Err(format!("it ended the connection: {code}"));
                }
                Kind::RstStream if head.stream == STREAM => {
                    let code = ErrorCode(frame::number(&payload));
                    return Err(format!("it reset the call: {code}"));
                }
                Kind::Data if head.stream == STREAM => {
                    // Padded like a HEADERS frame, but never with a priority.
                    let padded = FrameHead {
                        flags: head.flags & PADDED,
                        ..head
                    };
                    let data = padded.block(&payload);
                    let data = data.map_err(|_| "the padding does not fit".to_owned())?;
                    answer.body.extend_from_slice(data);
                }
                Kind::Headers if head.stream == STREAM => {
                    let block = self.whole_block(&head, &payload)?;
                    decoder
                        .decode(&block, |name, value| answer.field(name, value))
                        .map_err(|error| format!("its header block: {error}"))?;
                }
                _ => {}
            }
            let ends = matches!(head.kind, Kind::Data | Kind::Headers) && head.stream == STREAM;
            if ends && head.has(END_STREAM) {
                return Ok(answer);
            }
        }
    }

    /// A header block with its CONTINUATION frames.
    fn whole_block(&mut self, head: &FrameHead, payload: &[u8]) -> Result<Vec<u8>, String> {
        let first = head.block(payload);
        let mut block = first
            .map_err(|_| "the padding does not fit".to_owned())?
            .to_vec();
        let mut is_whole = head.has(END_HEADERS);
        while !is_whole {
            let (next, more) = self.frame()?;
            if next.kind != Kind::Continuation || next.stream != STREAM {
                return Err("its header block is cut off".to_owned());
            }
            block.extend_from_slice(&more);
            is_whole = next.has(END_HEADERS);
        }
        Ok(block)
    }
}

impl Answer {
    fn field(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b":status" => self.http_status = decimal(value),
            b"grpc-status" => self.grpc_status = decimal(value),
            b"grpc-message" => self.message = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
    }

    fn judge(&self, service: &str) -> Result<(), String> {
        if self.http_status != Some(200) {
            let status = self
                .http_status
                .map_or("none".to_owned(), |s| s.to_string());
            return Err(format!("HTTP status {status}, not 200"));
        }
        match self.grpc_status {
            Some(0) => {}
            Some(5) => return Err(format!("it does not know the service \"{service}\"")),
            Some(12) => return Err("it has no health service (grpc.health.v1)".to_owned()),
            Some(code) => return Err(format!("grpc-status {code}: {}", self.message)),
            None => return Err("the answer has no grpc-status".to_owned()),
        }
        let serving = self.serving();
        if serving == Some(SERVING) {
            return Ok(());
        }
        let status = serving.and_then(|status| STATUSES.get(usize::try_from(status).ok()?));
        Err(format!("it is {}", status.unwrap_or(&"no known status")))
    }

    /// `HealthCheckResponse { ServingStatus status = 1; }`; an enum's first value is not written.
    fn serving(&self) -> Option<u64> {
        let (&[compressed, a, b, c, d], message) = self.body.split_first_chunk()?;
        let is_whole = u32::from_be_bytes([a, b, c, d]) as usize == message.len();
        match message {
            _ if compressed != 0 || !is_whole => None,
            [] => Some(0),
            &[0x08, status] if status < 0x80 => Some(u64::from(status)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
