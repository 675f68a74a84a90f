//! Turns a planned call into a header block and a framed message, once, before the load starts.

use std::time::Duration;

use tare_schema::load::{Body, ExpectStatus, RequestSpec};

use super::message::PREFIX_BYTES;
use crate::http1::codec::{BodyCheck, RequestKind};
use crate::http1::request::Prepared as Http1Request;
use crate::http2::dialect::Outgoing;
use crate::http2::hpack::Encoder;
use crate::http2::request::{RequestError, Scheme, body_of, put_head};

/// A call ready to send, and what a right answer to it is.
#[derive(Debug, Clone)]
pub struct Call {
    block: Box<[u8]>,
    /// The message behind its prefix.
    body: Box<[u8]>,
    /// Accepted status of the call.
    pub(super) status: ExpectStatus,
    /// Accepted message.
    pub(super) answer: BodyCheck,
}

impl Call {
    /// Prepares a call: the path is `/package.Service/Method`, the body the message as it is encoded, and the expected
    /// status that of the call, 0 for success. With a deadline the server is told how long we wait.
    ///
    /// # Errors
    /// When a part of it cannot be sent in HTTP/2.
    pub fn new(
        spec: &RequestSpec,
        host: &str,
        scheme: Scheme,
        deadline: Option<Duration>,
    ) -> Result<Self, RequestError> {
        let mut spec = spec.clone();
        // Every call is a POST (the gRPC protocol over HTTP/2, "Requests").
        spec.method = "POST".into();
        for name in spec.headers.iter().map(|(name, _)| name) {
            if ["te", "content-type", "grpc-timeout", "grpc-encoding"]
                .iter()
                .any(|ours| name.eq_ignore_ascii_case(ours))
            {
                return Err(RequestError::GrpcHeader(name.clone()));
            }
        }
        if spec.path.matches('/').count() != 2 || spec.path.ends_with('/') {
            return Err(RequestError::GrpcPath(spec.path));
        }
        let checked = Http1Request::new(&spec, host)?;
        let message = if spec.body == Body::None {
            &[]
        } else {
            body_of(&checked.bytes)
        };
        let mut encoder = Encoder::default();
        put_head(&mut encoder, &spec, host, scheme)?;
        encoder.field(b"te", b"trailers");
        encoder.field(b"content-type", b"application/grpc");
        if let Some(deadline) = deadline {
            encoder.field(b"grpc-timeout", timeout_value(deadline).as_bytes());
        }
        let mut body = Vec::with_capacity(PREFIX_BYTES + message.len());
        body.push(0);
        body.extend_from_slice(&(message.len() as u32).to_be_bytes());
        body.extend_from_slice(message);
        Ok(Self {
            block: encoder.finish().into_boxed_slice(),
            body: body.into_boxed_slice(),
            status: spec.expect.status,
            answer: checked.body,
        })
    }

    pub(super) fn outgoing(&self) -> Outgoing<'_> {
        Outgoing {
            block: &self.block,
            body: &self.body,
            kind: RequestKind::Ordinary,
        }
    }
}

/// A deadline as `grpc-timeout` says it: at most eight digits and a unit, the finest that carries it, rounded up.
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
