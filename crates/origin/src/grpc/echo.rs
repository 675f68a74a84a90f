//! The calls of `tare.origin.Echo` (proto/origin.proto).

use std::time::Duration;

use super::protobuf::{Fields, Malformed, Value, write_bytes, write_length, write_number};
use super::{Call, CallState, Code, MESSAGE_BYTES_MAX, Step, framed};
use crate::body::{BODY_PATTERN, PIECE_BYTES};

/// A request of `Echo`, `Collect` or `Converse`.
#[derive(Debug, Default)]
struct EchoRequest<'m> {
    payload: &'m [u8],
    delay_ms: u64,
    size: u64,
    status: u64,
}

impl<'m> EchoRequest<'m> {
    fn read(message: &'m [u8]) -> Result<Self, Malformed> {
        let mut request = Self::default();
        for field in Fields(message) {
            match field? {
                (1, Value::Bytes(payload)) => request.payload = payload,
                (2, Value::Number(delay_ms)) => request.delay_ms = delay_ms,
                (3, Value::Number(size)) => request.size = size,
                (4, Value::Number(status)) => request.status = status,
                _ => {}
            }
        }
        Ok(request)
    }
}

impl CallState {
    /// Answers one message of `Echo` or `Converse`.
    pub(super) fn echo(
        &mut self,
        call: Call,
        message: &[u8],
        pattern_bytes: u64,
        outbox: &mut Vec<u8>,
    ) -> Step {
        let Ok(request) = EchoRequest::read(message) else {
            return Step::End(Code::MALFORMED);
        };
        if request.delay_ms > 0 && !self.waited {
            self.waited = true;
            return Step::Delay(Duration::from_millis(request.delay_ms));
        }
        if request.status > 0 {
            return Step::End(Code::asked(request.status));
        }
        let size = if request.size > 0 {
            request.size
        } else {
            pattern_bytes
        };
        if size > MESSAGE_BYTES_MAX as u64 {
            return Step::End(Code::TOO_LARGE);
        }
        if size > 0 {
            write_payload(outbox, size);
        } else {
            framed(outbox, |out| {
                if !request.payload.is_empty() {
                    write_bytes(out, 1, request.payload);
                }
            });
        }
        match call {
            Call::Converse => Step::Next,
            _ => Step::End(Code::OK),
        }
    }

    /// Counts one message of `Collect`.
    pub(super) fn collect(&mut self, message: &[u8]) -> Step {
        let Ok(request) = EchoRequest::read(message) else {
            return Step::End(Code::MALFORMED);
        };
        if request.delay_ms > 0 && !self.waited {
            self.waited = true;
            return Step::Delay(Duration::from_millis(request.delay_ms));
        }
        self.bytes += request.payload.len() as u64;
        if request.status > 0 {
            return Step::End(Code::asked(request.status));
        }
        Step::Next
    }

    pub(super) fn write_collected(&self, outbox: &mut Vec<u8>) {
        framed(outbox, |out| {
            write_number(out, 1, self.messages);
            write_number(out, 2, self.bytes);
        });
    }

    /// Reads the request of `Produce`.
    pub(super) fn plan(&mut self, message: &[u8]) -> Step {
        let mut status = 0;
        for field in Fields(message) {
            match field {
                Ok((1, Value::Number(count))) => self.left = count,
                Ok((2, Value::Number(size))) => self.size_bytes = size,
                Ok((3, Value::Number(delay_ms))) => {
                    self.interval = Duration::from_millis(delay_ms);
                }
                Ok((4, Value::Number(asked))) => status = asked,
                Ok(_) => {}
                Err(Malformed) => return Step::End(Code::MALFORMED),
            }
        }
        if self.size_bytes > MESSAGE_BYTES_MAX as u64 {
            return Step::End(Code::TOO_LARGE);
        }
        self.ends_with = Some(Code::asked(status));
        Step::Next
    }
}

/// Appends a message with a payload of the body pattern, at most [`MESSAGE_BYTES_MAX`].
pub(super) fn write_payload(outbox: &mut Vec<u8>, size: u64) {
    let size = usize::try_from(size).unwrap_or(0).min(MESSAGE_BYTES_MAX);
    framed(outbox, |out| {
        if size > 0 {
            write_length(out, 1, size);
        }
        let mut written = 0;
        while written < size {
            let piece = (size - written).min(PIECE_BYTES);
            out.extend_from_slice(&BODY_PATTERN[written % 26..][..piece]);
            written += piece;
        }
    });
}
