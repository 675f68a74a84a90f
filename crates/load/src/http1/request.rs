//! Turns a planned request into the bytes that are sent, once, before the load starts.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tare_schema::load::{Body, Expect, ExpectBody, ExpectStatus, RequestSpec};
use thiserror::Error;

use super::codec::{BodyCheck, RequestKind};

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
}

impl Prepared {
    /// Prepares a request to a host.
    ///
    /// # Errors
    /// When a part of it could not be told from another on the wire.
    pub fn new(spec: &RequestSpec, host: &str) -> Result<Self, RequestError> {
        check(spec, host)?;
        let body = body_bytes(&spec.body)?;
        let mut head = format!("{} {} HTTP/1.1\r\n", spec.method, spec.path);
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
        for (name, value) in &spec.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        // RFC 9110 §8.6: a method that usually has a body says so even when it is empty.
        let usual = matches!(spec.method.as_str(), "POST" | "PUT" | "PATCH");
        if usual || !body.is_empty() {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&body);
        Ok(Self {
            bytes: bytes.into_boxed_slice(),
            kind: match spec.method.as_str() {
                "HEAD" => RequestKind::Head,
                _ => RequestKind::Ordinary,
            },
            status: spec.expect.status,
            body: body_check(&spec.expect)?,
        })
    }

    /// Whether a status is right.
    #[inline]
    #[must_use]
    pub fn accepts(&self, status: u16) -> bool {
        match self.status {
            ExpectStatus::Success => (200..400).contains(&status),
            ExpectStatus::Exactly(exactly) => status == exactly,
            ExpectStatus::Any => true,
        }
    }
}

fn check(spec: &RequestSpec, host: &str) -> Result<(), RequestError> {
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
    let starts = spec.path.starts_with('/') || (spec.path == "*" && spec.method == "OPTIONS");
    if !starts || !spec.path.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(RequestError::Path(spec.path.clone()));
    }
    if host.is_empty() || !host.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(RequestError::Host(host.to_owned()));
    }
    for (name, value) in &spec.headers {
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(RequestError::HeaderName(name.clone()));
        }
        if !value
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

fn body_check(expect: &Expect) -> Result<BodyCheck, RequestError> {
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(method: &str, path: &str) -> RequestSpec {
        RequestSpec {
            name: "r".into(),
            weight: 1.0,
            method: method.into(),
            path: path.into(),
            headers: Vec::new(),
            body: Body::None,
            expect: Expect {
                status: ExpectStatus::Success,
                body: ExpectBody::Any,
            },
        }
    }

    fn text(spec: &RequestSpec) -> String {
        String::from_utf8(Prepared::new(spec, "here:80").unwrap().bytes.into_vec()).unwrap()
    }

    #[test]
    fn a_request_has_host_headers_and_the_length_of_its_body() {
        let mut post = spec("POST", "/a?b=c");
        post.headers.push(("X-One".into(), "1".into()));
        post.body = Body::Filler { bytes: 28 };
        let sent = text(&post);
        assert!(
            sent.starts_with("POST /a?b=c HTTP/1.1\r\nHost: here:80\r\n"),
            "{sent}"
        );
        assert!(sent.contains("\r\nX-One: 1\r\n"));
        assert!(sent.ends_with("Content-Length: 28\r\n\r\nabcdefghijklmnopqrstuvwxyzab"));
        assert!(!text(&spec("GET", "/")).contains("Content-Length"));
    }

    #[test]
    fn a_host_header_of_the_user_replaces_ours() {
        let mut get = spec("GET", "/");
        get.headers.push(("host".into(), "there".into()));
        assert_eq!(text(&get).matches("ost: ").count(), 1);
    }

    #[test]
    fn nothing_in_a_plan_can_smuggle_a_second_request() {
        let bad = |spec: &RequestSpec| Prepared::new(spec, "h").unwrap_err();
        assert!(matches!(bad(&spec("GET /", "/")), RequestError::Method(_)));
        assert!(matches!(
            bad(&spec("GET", "/ HTTP/1.1\r\nX: y")),
            RequestError::Path(_)
        ));
        assert!(matches!(bad(&spec("GET", "a")), RequestError::Path(_)));
        assert!(matches!(bad(&spec("CONNECT", "/")), RequestError::Connect));
        let with = |name: &str, value: &str| {
            let mut spec = spec("GET", "/");
            spec.headers.push((name.into(), value.into()));
            spec
        };
        assert!(matches!(
            bad(&with("a b", "c")),
            RequestError::HeaderName(_)
        ));
        assert!(matches!(
            bad(&with("a", "b\r\nc: d")),
            RequestError::HeaderValue(_)
        ));
        assert!(matches!(
            bad(&with("Content-Length", "5")),
            RequestError::Framing(_)
        ));
    }
}
