//! Parses the head of a request: route, body framing, behaviour; and what is wrong with malformed requests.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Request, Status};
use thiserror::Error;

use crate::behaviour::{BehaviourError, BehaviourOverride, Unknown};
use crate::forwarded_identity::HEADER;
use crate::service::{Route, route, split_target};

const HEADERS_MAX: usize = 128;

/// How the end of a request's body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestFraming {
    Length(u64),
    Chunked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Http10,
    Http11,
}

/// Whether the client keeps the connection open, by its HTTP version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionPolicy {
    /// HTTP/1.1, persistent.
    KeepAlive11,
    /// HTTP/1.1 with `Connection: close`.
    Close11,
    /// HTTP/1.0 with `Connection: keep-alive`, which has to be confirmed.
    KeepAlive10,
    /// HTTP/1.0.
    Close10,
}

/// A malformed request: answered with [`Malformed::status`], then the connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Malformed {
    #[error("the head is not http/1.0 or http/1.1")]
    Head,
    #[error("the head is larger than the origin's limit")]
    HeadTooLarge,
    #[error("content-length is not one number of bytes")]
    ContentLength,
    #[error("both content-length and transfer-encoding are given")]
    LengthAndTransferEncoding,
    #[error("the transfer-encoding is not exactly chunked, or the version is http/1.0")]
    TransferCoding,
    #[error("the chunks of the body are malformed")]
    Chunk,
    #[error("the body is larger than the origin's limit")]
    BodyTooLarge,
    #[error("an http/1.1 request needs exactly one host header")]
    Host,
    /// Not the request's fault.
    #[error("the origin's buffers are full: send fewer or shorter bodies at a time")]
    Full,
}

impl Malformed {
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::HeadTooLarge => 431,
            Self::BodyTooLarge => 413,
            Self::TransferCoding => 501,
            Self::Full => 503,
            Self::Head
            | Self::ContentLength
            | Self::LengthAndTransferEncoding
            | Self::Chunk
            | Self::Host => 400,
        }
    }
}

/// One request's head.
#[derive(Debug)]
pub(crate) struct RequestHead<'b> {
    pub route: Route,
    pub is_head: bool,
    pub framing: RequestFraming,
    pub policy: ConnectionPolicy,
    /// The client waits for 100 before it sends the body.
    pub expects_continue: bool,
    pub requested: Result<BehaviourOverride, BehaviourError>,
    /// The caller's certificate as a proxy describes it.
    pub forwarded_certificate: Option<&'b [u8]>,
    pub head_bytes: usize,
}

/// Parses one head from its first byte; `None` while it is incomplete.
pub(crate) fn parse(bytes: &[u8], max_bytes: usize) -> Result<Option<RequestHead<'_>>, Malformed> {
    let window = &bytes[..bytes.len().min(max_bytes)];
    let mut storage = [const { MaybeUninit::<Header<'_>>::uninit() }; HEADERS_MAX];
    let mut request = Request::new(&mut []);
    let parsed = ParserConfig::default().parse_request_with_uninit_headers(
        &mut request,
        window,
        &mut storage,
    );
    let head_bytes = match parsed {
        Ok(Status::Complete(head_bytes)) => head_bytes,
        Ok(Status::Partial) if window.len() == max_bytes => return Err(Malformed::HeadTooLarge),
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::HeadTooLarge),
        Err(_) => return Err(Malformed::Head),
    };
    let (Some(target), Some(method)) = (request.path, request.method) else {
        return Err(Malformed::Head);
    };
    let mut headers = Headers::default();
    let (path, query) = split_target(target);
    let mut asked = headers.requested.read(query, Unknown::Ignore);
    for header in request.headers.iter() {
        if let Some(text) = headers.take(header)? {
            asked = asked.and_then(|()| headers.requested.read(text, Unknown::Refuse));
        }
    }
    let version = if request.version == Some(0) {
        Version::Http10
    } else {
        Version::Http11
    };
    if headers.hosts > 1 || (version == Version::Http11 && headers.hosts == 0) {
        return Err(Malformed::Host);
    }
    let requested = asked.map(|()| headers.requested);
    Ok(Some(RequestHead {
        route: route(method, path, query),
        is_head: method == "HEAD",
        framing: headers.framing(version)?,
        policy: headers.policy(version),
        expects_continue: version == Version::Http11 && headers.expects_continue,
        requested,
        forwarded_certificate: headers.forwarded_certificate,
        head_bytes,
    }))
}

/// The relevant headers so far.
#[derive(Default)]
struct Headers<'b> {
    requested: BehaviourOverride,
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
    hosts: usize,
    other_coding: bool,
    forwarded_certificate: Option<&'b [u8]>,
}

impl<'b> Headers<'b> {
    /// Takes a header; returns the value of `Tare-Behaviour`.
    fn take(&mut self, header: &Header<'b>) -> Result<Option<&'b str>, Malformed> {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        match header.name.len() {
            4 if is("host") => self.hosts += 1,
            6 if is("expect") && header.value.eq_ignore_ascii_case(b"100-continue") => {
                self.expects_continue = true;
            }
            10 if is("connection") => {
                for token in header
                    .value
                    .split(|&byte| byte == b',')
                    .map(<[u8]>::trim_ascii)
                {
                    self.close |= token.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if is("content-length") => {
                let length = content_length(header.value).ok_or(Malformed::ContentLength)?;
                if self.length.is_some_and(|earlier| earlier != length) {
                    return Err(Malformed::ContentLength);
                }
                self.length = Some(length);
            }
            14 if is("tare-behaviour") => {
                return Ok(Some(
                    std::str::from_utf8(header.value).map_err(|_| Malformed::Head)?,
                ));
            }
            17 if is("transfer-encoding") => {
                self.other_coding |= self.chunked || !header.value.eq_ignore_ascii_case(b"chunked");
                self.chunked = true;
            }
            23 if is(HEADER) => self.forwarded_certificate = Some(header.value),
            _ => {}
        }
        Ok(None)
    }

    fn framing(&self, version: Version) -> Result<RequestFraming, Malformed> {
        match (self.chunked, self.length) {
            (false, length) => Ok(RequestFraming::Length(length.unwrap_or(0))),
            (true, Some(_)) => Err(Malformed::LengthAndTransferEncoding),
            (true, None) if version == Version::Http10 || self.other_coding => {
                Err(Malformed::TransferCoding)
            }
            (true, None) => Ok(RequestFraming::Chunked),
        }
    }

    fn policy(&self, version: Version) -> ConnectionPolicy {
        match version {
            Version::Http11 if self.close => ConnectionPolicy::Close11,
            Version::Http11 => ConnectionPolicy::KeepAlive11,
            Version::Http10 if self.keep_alive && !self.close => ConnectionPolicy::KeepAlive10,
            Version::Http10 => ConnectionPolicy::Close10,
        }
    }
}

fn content_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}
