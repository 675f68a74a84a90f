//! Encodes a planned call as header block and length-prefixed messages, once, before the load starts.

use std::time::Duration;

use tare_record::load::{
    Body, CallKind, CallSpec, Deadline, ExpectStatus, MessagePace, RequestSpec,
};

use super::message::PREFIX_BYTES;
use crate::protocols::ConnectionSecurity;
use crate::protocols::http1::codec::{BodyCheck, RequestKind};
use crate::protocols::http1::request::{
    BODY_BYTES_MAX, Prepared as Http1Request, RequestError as Http1Error, body_bytes, decode_base64,
};
use crate::protocols::http2::hpack::Encoder;
use crate::protocols::http2::request::{RequestError, put_head};
use crate::protocols::http2::stream_protocol::Outgoing;

/// Header fields that gRPC sets.
const RESERVED_HEADERS: [&str; 4] = ["te", "content-type", "grpc-timeout", "grpc-encoding"];

/// An encoded call with the expected response.
#[derive(Debug, Clone)]
pub struct EncodedCall {
    block: Box<[u8]>,
    /// The messages with their prefixes.
    body: Box<[u8]>,
    /// End offset of each message in the body.
    ends: Box<[u32]>,
    /// Messages per call: those of the body, repeated from the first as often as needed.
    messages: u32,
    /// When they are sent.
    pub(super) pace: MessagePace,
    /// Accepted gRPC statuses.
    pub(super) status: ExpectStatus,
    /// Expected body of each response message.
    pub(super) answer: BodyCheck,
    /// Expected number of response messages, if known.
    pub(super) answers: Option<u32>,
}

impl EncodedCall {
    /// Prepares a call: the path is `/package.Service/Method`, the body the encoded messages, and the expected status the gRPC
    /// status, 0 for success. `timeout` is the exchange timeout; it is sent as `grpc-timeout` unless the plan says otherwise.
    ///
    /// # Errors
    /// When a part of it cannot be sent in HTTP/2, or the plan contradicts the kind of call.
    pub fn new(
        spec: &RequestSpec,
        calls: &CallSpec,
        host: &str,
        security: ConnectionSecurity,
        timeout: Duration,
    ) -> Result<Self, RequestError> {
        let messages = messages_of(&spec.body)?;
        check(spec, calls, messages.len())?;
        let mut spec = spec.clone();
        // Every call is a POST (the gRPC protocol over HTTP/2, "Requests").
        spec.method = "POST".into();
        spec.body = Body::None;
        let expected = Http1Request::new(&spec, host)?.expected;
        let mut encoder = Encoder::default();
        put_head(&mut encoder, &spec, host, security)?;
        encoder.field(b"te", b"trailers");
        encoder.field(b"content-type", b"application/grpc");
        let deadline = match calls.deadline {
            Deadline::Timeout => Some(timeout),
            Deadline::Unset => None,
            Deadline::After { limit_ns } => Some(Duration::from_nanos(limit_ns)),
        };
        if let Some(deadline) = deadline {
            encoder.field(b"grpc-timeout", timeout_value(deadline).as_bytes());
        }
        let FramedMessages { bytes, ends } = frame_messages(&messages)?;
        let messages = match calls.kind.client_streams() {
            true => calls.messages,
            false => 1,
        };
        let answers = match (calls.kind.server_streams(), calls.pace) {
            (false, _) => Some(1),
            (true, MessagePace::PingPong) => Some(messages),
            (true, _) => calls.answers,
        };
        Ok(Self {
            block: encoder.finish().into_boxed_slice(),
            body: bytes.into_boxed_slice(),
            ends: ends.into_boxed_slice(),
            messages,
            pace: calls.pace,
            status: expected.status,
            answer: expected.body,
            answers,
        })
    }

    #[inline]
    pub(super) fn outgoing(&self) -> Outgoing<'_> {
        Outgoing {
            block: &self.block,
            body: &self.body,
            body_bytes: self.message_end(self.messages),
            kind: RequestKind::Ordinary,
        }
    }

    /// End offset of a message in the body; messages count from 1.
    #[inline]
    pub(super) fn message_end(&self, message: u32) -> u64 {
        let message = message.min(self.messages);
        if message == 1 {
            return u64::from(self.ends[0]);
        }
        let (rounds, within) = (
            message as usize / self.ends.len(),
            message as usize % self.ends.len(),
        );
        let part = match within {
            0 => 0,
            within => u64::from(self.ends[within - 1]),
        };
        rounds as u64 * self.body.len() as u64 + part
    }

    /// Number of messages that end within a range of bytes of the body.
    #[inline]
    pub(super) fn messages_within(&self, from_byte: u64, to_byte: u64) -> u64 {
        if self.messages == 1 {
            let end = u64::from(self.ends[0]);
            return u64::from(from_byte < end && to_byte >= end);
        }
        self.messages_before(to_byte) - self.messages_before(from_byte)
    }

    /// Number of messages that end within the first `bytes` of the body.
    fn messages_before(&self, bytes: u64) -> u64 {
        let whole = self.body.len() as u64;
        let rest = (bytes % whole) as u32;
        let within = self.ends.partition_point(|&end| end <= rest);
        bytes / whole * self.ends.len() as u64 + within as u64
    }
}

/// Checks that the parts of a plan do not contradict each other.
fn check(spec: &RequestSpec, calls: &CallSpec, messages: usize) -> Result<(), RequestError> {
    for (name, value) in &spec.headers {
        if RESERVED_HEADERS
            .iter()
            .any(|ours| name.eq_ignore_ascii_case(ours))
        {
            return Err(RequestError::GrpcHeader(name.clone()));
        }
        if name.to_ascii_lowercase().ends_with("-bin") && !is_base64(value) {
            return Err(RequestError::BinaryMetadata(name.clone()));
        }
    }
    if spec.path.matches('/').count() != 2 || spec.path.ends_with('/') {
        return Err(RequestError::GrpcPath(spec.path.clone()));
    }
    let wrong = |what| Err(RequestError::CallKind(what));
    let client_streams = calls.kind.client_streams();
    match calls.pace {
        _ if calls.messages == 0 => {
            wrong("a call of no message has nothing to send: send at least 1")
        }
        _ if !client_streams && (calls.messages > 1 || messages > 1) => wrong(
            "several messages need a call whose client streams: say that it does, or send one",
        ),
        MessagePace::Every { .. } if !client_streams => {
            wrong("a message interval needs a call whose client streams")
        }
        MessagePace::Every { period_ns: 0 } => wrong("a message interval must be more than 0"),
        MessagePace::PingPong if calls.kind != CallKind::Bidirectional => {
            wrong("ping-pong needs a bidirectional call")
        }
        _ if calls.answers.is_some() && !calls.kind.server_streams() => {
            wrong("a number of answers needs a call whose server streams: any other has one")
        }
        _ => Ok(()),
    }
}

/// Whether a value of a `-bin` field is valid: base64 with or without padding, or a comma-separated list of such.
fn is_base64(value: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    value.split(',').all(|value| {
        let value = value.trim();
        let bare = value.trim_end_matches('=');
        value.len() - bare.len() <= 2 && bare.len() % 4 != 1 && bare.bytes().all(known)
    })
}

fn messages_of(body: &Body) -> Result<Vec<Vec<u8>>, RequestError> {
    match body {
        Body::Messages { base64 } if base64.is_empty() => Ok(vec![Vec::new()]),
        Body::Messages { base64 } => {
            let messages = base64.iter().map(|text| decode_base64(text));
            Ok(messages.collect::<Result<_, _>>()?)
        }
        one => Ok(vec![body_bytes(one)?]),
    }
}

/// Messages with their prefixes.
struct FramedMessages {
    bytes: Vec<u8>,
    /// End offset of each message.
    ends: Vec<u32>,
}

fn frame_messages(messages: &[Vec<u8>]) -> Result<FramedMessages, RequestError> {
    let size_bytes: u64 = messages.iter().map(|message| message.len() as u64).sum();
    if size_bytes > BODY_BYTES_MAX {
        return Err(Http1Error::BodySize { bytes: size_bytes }.into());
    }
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for message in messages {
        bytes.reserve(PREFIX_BYTES + message.len());
        bytes.push(0);
        bytes.extend_from_slice(&(message.len() as u32).to_be_bytes());
        bytes.extend_from_slice(message);
        ends.push(bytes.len() as u32);
    }
    Ok(FramedMessages { bytes, ends })
}

/// The value of `grpc-timeout`: at most eight digits and a unit, the finest that fits, rounded up.
#[must_use]
pub fn timeout_value(deadline: Duration) -> String {
    const DIGITS_MAX: u128 = 99_999_999;
    let units = [
        (1u128, 'n'),
        (1_000, 'u'),
        (1_000_000, 'm'),
        (1_000_000_000, 'S'),
        (60_000_000_000, 'M'),
    ];
    let fits = units
        .iter()
        .find(|(unit_ns, _)| deadline.as_nanos().div_ceil(*unit_ns) <= DIGITS_MAX);
    match fits {
        Some((unit_ns, unit)) => format!("{}{unit}", deadline.as_nanos().div_ceil(*unit_ns)),
        None => format!(
            "{}H",
            deadline
                .as_nanos()
                .div_ceil(3_600_000_000_000)
                .min(DIGITS_MAX)
        ),
    }
}
