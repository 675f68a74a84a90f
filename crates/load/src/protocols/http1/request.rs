//! Encodes a planned request, once, before the load starts.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tare_record::load::template::{Delimiter, TemplatePiece, parse};
use tare_record::load::{Body, Expect, ExpectBody, ExpectStatus, RequestSpec, TemplateMode};
use thiserror::Error;

use super::codec::{BodyCheck, BodyProgress, RequestKind};
use super::mismatch::ResponseMismatch;
use crate::template::{CompileError, Escaping};

/// Largest request body: it is in memory once in the plan, and once per worker for sending.
pub const BODY_BYTES_MAX: u64 = 64 << 20;

/// An encoded request with the expected response.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The whole request.
    pub bytes: Box<[u8]>,
    /// Determines the framing of the response.
    pub kind: RequestKind,
    /// The expected response.
    pub expected: Expected,
}

/// The expected response.
#[derive(Debug, Clone)]
pub struct Expected {
    /// Accepted statuses.
    pub status: ExpectStatus,
    /// Expected body.
    pub body: BodyCheck,
}

impl Expected {
    /// Checks a complete response.
    ///
    /// # Errors
    /// The first difference from what is expected.
    #[inline]
    pub fn judge(&self, progress: &BodyProgress, status: u16) -> Result<(), ResponseMismatch> {
        if !self.status.accepts(status) {
            return Err(ResponseMismatch::Status(status));
        }
        Ok(progress.finish(&self.body)?)
    }
}

/// Why a request cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    #[error("{0:?} is not an http method: use letters only, such as GET")]
    Method(String),
    /// CONNECT: it opens a tunnel, which is not an exchange.
    #[error(
        "CONNECT opens a tunnel and has no answer to measure: use GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS"
    )]
    Connect,
    #[error(
        "{0:?} is not a path: start it with / and percent-encode spaces, control characters and letters beyond ASCII (ü is %C3%BC)"
    )]
    Path(String),
    #[error("{0:?} is not a header name")]
    HeaderName(String),
    #[error("the value of header {0:?} has a line break or control character in it")]
    HeaderValue(String),
    #[error("header {0:?} follows from the body and cannot be set: leave it out")]
    Framing(String),
    #[error("{0:?} is not valid in a host header")]
    Host(String),
    #[error("the body has {bytes} bytes, at most {BODY_BYTES_MAX} are possible")]
    BodySize { bytes: u64 },
    #[error("{what} is not base64 (standard alphabet, with padding): {why}")]
    Base64 {
        what: &'static str,
        why: base64::DecodeError,
    },
    #[error("messages are what a gRPC call sends: use protocol grpc, or one body")]
    Messages,
    /// A template that does not compile.
    #[error(transparent)]
    Template(#[from] CompileError),
    #[error("{pattern:?} is not a valid regular expression: {why}")]
    Pattern { pattern: String, why: String },
    #[error("{0} is possible over http/1.1 only in this version")]
    Http1Only(&'static str),
}

impl Prepared {
    /// Prepares a request to a host.
    ///
    /// # Errors
    /// When a part contains characters that it cannot have on the wire.
    pub fn new(spec: &RequestSpec, host: &str) -> Result<Self, RequestError> {
        check(spec, host)?;
        if spec.template != TemplateMode::None {
            return Err(RequestError::Http1Only("a random part"));
        }
        let body = body_bytes(&spec.body)?;
        let mut head = format!("{} {} HTTP/1.1\r\n", spec.method, spec.path);
        default_headers(spec, host, &mut head);
        for (name, value) in &spec.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if method_expects_body(spec) || !body.is_empty() {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&body);
        Ok(Self {
            bytes: bytes.into_boxed_slice(),
            kind: kind(spec),
            expected: Expected {
                status: spec.expect.status.clone(),
                body: body_check(&spec.expect)?,
            },
        })
    }
}

/// Appends the headers that every request has unless the user sets them: `Host`, `User-Agent`, `Content-Type`.
pub(super) fn default_headers(spec: &RequestSpec, host: &str, head: &mut String) {
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

/// Whether the method anticipates content: then `Content-Length` is sent even for an empty body (RFC 9110 §8.6).
pub(crate) fn method_expects_body(spec: &RequestSpec) -> bool {
    matches!(spec.method.as_str(), "POST" | "PUT" | "PATCH")
}

/// Determines the framing of the response.
pub(super) fn kind(spec: &RequestSpec) -> RequestKind {
    match spec.method.as_str() {
        "HEAD" => RequestKind::Head,
        _ => RequestKind::Ordinary,
    }
}

/// Checks that no part contains characters that it cannot have on the wire, such as a line break in a header value.
/// Placeholders of templates are checked when they are compiled.
///
/// # Errors
/// The first invalid part.
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
        || (spec.template == TemplateMode::Session && spec.path.starts_with("{{"));
    let path = literal_text(&spec.path, spec.template);
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
        if !Escaping::Header.takes(literal_text(value, spec.template).as_bytes()) {
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

/// The literal text of a template. Values of placeholders are checked when they are rendered.
fn literal_text(text: &str, mode: TemplateMode) -> String {
    let braces = match mode {
        TemplateMode::None => return text.to_owned(),
        TemplateMode::Random => Delimiter::Single,
        TemplateMode::Session => Delimiter::Double,
    };
    let pieces = parse(text, braces).unwrap_or_default();
    let text = |piece| match piece {
        TemplatePiece::Text(text) => Some(text),
        TemplatePiece::Placeholder(_) => None,
    };
    pieces.into_iter().filter_map(text).collect()
}

/// A character of a token (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

pub(crate) fn has_header(spec: &RequestSpec, name: &str) -> bool {
    spec.headers
        .iter()
        .any(|(n, _)| n.eq_ignore_ascii_case(name))
}

/// The bytes of a body.
///
/// # Errors
/// When there are too many, when they are not valid base64, or when they are gRPC messages.
pub fn body_bytes(body: &Body) -> Result<Vec<u8>, RequestError> {
    let too_large = |bytes| Err(RequestError::BodySize { bytes });
    match body {
        Body::None => Ok(Vec::new()),
        Body::Text { text } | Body::Json { text } if text.len() as u64 > BODY_BYTES_MAX => {
            too_large(text.len() as u64)
        }
        Body::Text { text } | Body::Json { text } => Ok(text.clone().into_bytes()),
        Body::Form { fields } => {
            let mut out = Vec::new();
            for (name, value) in fields {
                if !out.is_empty() {
                    out.push(b'&');
                }
                out.extend_from_slice(&Escaping::Form.own_text(name));
                out.push(b'=');
                out.extend_from_slice(&Escaping::Form.own_text(value));
            }
            Ok(out)
        }
        Body::Filler { bytes } if *bytes > BODY_BYTES_MAX => too_large(*bytes),
        Body::Filler { bytes } => Ok((b'a'..=b'z')
            .cycle()
            .take(usize::try_from(*bytes).unwrap_or(0))
            .collect()),
        Body::Base64 { base64 } => match decode_base64(base64)? {
            body if body.len() as u64 > BODY_BYTES_MAX => too_large(body.len() as u64),
            body => Ok(body),
        },
        Body::Messages { .. } => Err(RequestError::Messages),
    }
}

/// Bytes from base64.
///
/// # Errors
/// When it is not valid base64.
pub fn decode_base64(text: &str) -> Result<Vec<u8>, RequestError> {
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
