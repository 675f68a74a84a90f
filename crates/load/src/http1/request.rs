//! Turns a planned request into the bytes that are sent, once, before the load starts.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tare_schema::load::template::{Braces, Piece, parse};
use tare_schema::load::{Body, Expect, ExpectBody, ExpectStatus, Parts, RequestSpec};
use thiserror::Error;

use super::codec::{BodyCheck, RequestKind};
use crate::template::{CompileError, Place};

/// Largest body: it is held in memory once per worker's send and once in the plan.
pub const BODY_BYTES_MAX: u64 = 64 << 20;

/// A request ready to send, and what a right answer to it is.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Everything that goes on the wire.
    pub bytes: Box<[u8]>,
    /// What the framing of its answer depends on.
    pub kind: RequestKind,
    /// Accepted status.
    pub status: ExpectStatus,
    /// Accepted body.
    pub body: BodyCheck,
}

/// Why a request cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// Not a method.
    #[error("{0:?} is not an http method: use letters only, such as GET")]
    Method(String),
    /// CONNECT makes a tunnel, which is no exchange.
    #[error(
        "CONNECT opens a tunnel and has no answer to measure: use GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS"
    )]
    Connect,
    /// Not a path.
    #[error(
        "{0:?} is not a path: start it with / and percent-encode blanks and control characters"
    )]
    Path(String),
    /// Not a header name.
    #[error("{0:?} is not a header name")]
    HeaderName(String),
    /// Not a header value.
    #[error("the value of header {0:?} has a line break or control character in it")]
    HeaderValue(String),
    /// A header that Tare sets from the body.
    #[error("header {0:?} follows from the body and cannot be set: leave it out")]
    Framing(String),
    /// Not a host name.
    #[error("{0:?} cannot stand in a host header")]
    Host(String),
    /// Too large a body.
    #[error("the body has {bytes} bytes, at most {BODY_BYTES_MAX} are possible")]
    BodySize {
        /// As planned.
        bytes: u64,
    },
    /// Bytes that are not written as base64.
    #[error("{what} is not base64 (standard alphabet, with padding): {why}")]
    Base64 {
        /// What should be.
        what: &'static str,
        /// What is wrong with it.
        why: base64::DecodeError,
    },
    /// The messages of a call.
    #[error("messages are what a gRPC call sends: use protocol grpc, or one body")]
    Messages,
    /// A template that cannot be filled.
    #[error(transparent)]
    Template(#[from] CompileError),
    /// Not a regular expression.
    #[error("{pattern:?} is no regular expression: {why}")]
    Pattern {
        /// As planned.
        pattern: String,
        /// Why not.
        why: String,
    },
    /// What only requests of HTTP/1.1 can have.
    #[error("{0} is possible over http/1.1 only in this version")]
    Http1Only(&'static str),
}

impl Prepared {
    /// Prepares a request to a host.
    ///
    /// # Errors
    /// When a part of it could not be told from another on the wire.
    pub fn new(spec: &RequestSpec, host: &str) -> Result<Self, RequestError> {
        check(spec, host)?;
        if spec.parts != Parts::Literal {
            return Err(RequestError::Http1Only("a random part"));
        }
        let body = body_bytes(&spec.body)?;
        let mut head = format!("{} {} HTTP/1.1\r\n", spec.method, spec.path);
        own_fields(spec, host, &mut head);
        for (name, value) in &spec.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if states_length(spec) || !body.is_empty() {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&body);
        Ok(Self {
            bytes: bytes.into_boxed_slice(),
            kind: kind(spec),
            status: spec.expect.status.clone(),
            body: body_check(&spec.expect)?,
        })
    }

    /// Whether a status is right.
    #[inline]
    #[must_use]
    pub fn accepts(&self, status: u16) -> bool {
        self.status.accepts(status)
    }
}

/// The fields that every request has, unless the user says otherwise.
pub(super) fn own_fields(spec: &RequestSpec, host: &str, head: &mut String) {
    if !has_header(spec, "host") {
        let _ = write!(head, "Host: {host}\r\n");
    }
    if !has_header(spec, "user-agent") {
        head.push_str(concat!(
            "User-Agent: tare/",
            env!("CARGO_PKG_VERSION"),
            "\r\n"
        ));
    }
    let usual = match spec.body {
        Body::Form { .. } => "application/x-www-form-urlencoded",
        Body::Json { .. } => "application/json",
        Body::None
        | Body::Text { .. }
        | Body::Base64 { .. }
        | Body::Messages { .. }
        | Body::Filler { .. } => return,
    };
    if !has_header(spec, "content-type") {
        let _ = write!(head, "Content-Type: {usual}\r\n");
    }
}

/// RFC 9110 §8.6: a method that usually has a body says so even when it is empty.
pub(super) fn states_length(spec: &RequestSpec) -> bool {
    matches!(spec.method.as_str(), "POST" | "PUT" | "PATCH")
}

/// What the framing of its answer depends on.
pub(super) fn kind(spec: &RequestSpec) -> RequestKind {
    match spec.method.as_str() {
        "HEAD" => RequestKind::Head,
        _ => RequestKind::Ordinary,
    }
}

/// Whether every part could not be taken for another on the wire. Places of templates are looked at when they are compiled.
///
/// # Errors
/// The first part that could.
pub(super) fn check(spec: &RequestSpec, host: &str) -> Result<(), RequestError> {
    if spec.method.is_empty()
        || !spec
            .method
            .bytes()
            .all(|b| b.is_ascii_alphabetic() || b == b'-')
    {
        return Err(RequestError::Method(spec.method.clone()));
    }
    if spec.method == "CONNECT" {
        return Err(RequestError::Connect);
    }
    let starts = spec.path.starts_with('/')
        || (spec.path == "*" && spec.method == "OPTIONS")
        || (spec.parts == Parts::Session && spec.path.starts_with("{{"));
    let path = outside_places(&spec.path, spec.parts);
    if !starts || !path.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(RequestError::Path(spec.path.clone()));
    }
    if host.is_empty() || !host.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(RequestError::Host(host.to_owned()));
    }
    for (name, value) in &spec.headers {
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(RequestError::HeaderName(name.clone()));
        }
        if !outside_places(value, spec.parts)
            .bytes()
            .all(|b| b == b'\t' || b == b' ' || b.is_ascii_graphic() || b >= 0x80)
        {
            return Err(RequestError::HeaderValue(name.clone()));
        }
        if ["content-length", "transfer-encoding", "expect", "upgrade"]
            .iter()
            .any(|ours| name.eq_ignore_ascii_case(ours))
        {
            return Err(RequestError::Framing(name.clone()));
        }
    }
    Ok(())
}

/// A text without its places: what stands there is checked as it is filled in.
fn outside_places(text: &str, parts: Parts) -> String {
    let braces = match parts {
        Parts::Literal => return text.to_owned(),
        Parts::Random => Braces::Single,
        Parts::Session => Braces::Double,
    };
    let pieces = parse(text, braces).unwrap_or_default();
    let text = |piece| match piece {
        Piece::Text(text) => Some(text),
        Piece::Fill(_) => None,
    };
    pieces.into_iter().filter_map(text).collect()
}

/// RFC 9110 §5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn has_header(spec: &RequestSpec, name: &str) -> bool {
    spec.headers
        .iter()
        .any(|(n, _)| n.eq_ignore_ascii_case(name))
}

/// The bytes of a body.
///
/// # Errors
/// When there are too many, when they cannot be read, or when they are messages.
pub fn body_bytes(body: &Body) -> Result<Vec<u8>, RequestError> {
    let too_large = |bytes| Err(RequestError::BodySize { bytes });
    match body {
        Body::None => Ok(Vec::new()),
        Body::Text { text } if text.len() as u64 > BODY_BYTES_MAX => too_large(text.len() as u64),
        Body::Text { text } => Ok(text.clone().into_bytes()),
        Body::Json { text } if text.len() as u64 > BODY_BYTES_MAX => too_large(text.len() as u64),
        Body::Json { text } => Ok(text.clone().into_bytes()),
        Body::Form { fields } => {
            let mut out = Vec::new();
            for (name, value) in fields {
                if !out.is_empty() {
                    out.push(b'&');
                }
                out.extend_from_slice(&Place::Form.own_text(name));
                out.push(b'=');
                out.extend_from_slice(&Place::Form.own_text(value));
            }
            Ok(out)
        }
        Body::Filler { bytes } if *bytes > BODY_BYTES_MAX => too_large(*bytes),
        Body::Filler { bytes } => Ok((b'a'..=b'z')
            .cycle()
            .take(usize::try_from(*bytes).unwrap_or(0))
            .collect()),
        Body::Base64 { base64 } => match decoded(base64)? {
            body if body.len() as u64 > BODY_BYTES_MAX => too_large(body.len() as u64),
            body => Ok(body),
        },
        Body::Messages { .. } => Err(RequestError::Messages),
    }
}

/// Bytes from base64.
///
/// # Errors
/// When it is none.
pub fn decoded(text: &str) -> Result<Vec<u8>, RequestError> {
    STANDARD.decode(text).map_err(|why| RequestError::Base64 {
        what: "the body",
        why,
    })
}

pub(super) fn body_check(expect: &Expect) -> Result<BodyCheck, RequestError> {
    Ok(match &expect.body {
        ExpectBody::Any => BodyCheck::Anything,
        ExpectBody::Length(bytes) => BodyCheck::Length(*bytes),
        ExpectBody::Text(text) => BodyCheck::Exact(Arc::from(text.as_bytes())),
        ExpectBody::Base64(text) => {
            let bytes = STANDARD.decode(text).map_err(|why| RequestError::Base64 {
                what: "the expected body",
                why,
            })?;
            BodyCheck::Exact(bytes.into())
        }
        ExpectBody::Matches { .. } => {
            return Err(RequestError::Http1Only(
                "a regular expression over the answer's body",
            ));
        }
    })
}

#[cfg(test)]
mod tests;
