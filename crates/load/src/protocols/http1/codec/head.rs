//! Parses the head of a response: status line, the headers that decide framing, and what is malformed.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};
use tare_http2_frames::field::decimal;
use tare_record::agent::Redirects;

use super::error::CodecError;

/// Headers per response at most; nginx and Envoy send fewer than 30, gateways that trace may send hundreds.
pub(super) const HEADERS_MAX: usize = 1000;

/// Headers that most responses stay below: room for them alone is cheap. A head with more is parsed once again.
const HEADERS_USUAL: usize = 64;

/// The version in a status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0: closes the connection by default, has no chunked coding.
    Http10,
    /// HTTP/1.1.
    Http11,
}

/// What the head says about where the body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Unstated,
    Length(u64),
    Chunked,
}

/// Whether the connection can be used again, according to the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Persistence {
    KeepAlive,
    Close,
}

/// Coding of a body (RFC 9110 §8.4), as its head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContentCoding {
    /// None.
    #[default]
    Identity,
    Gzip,
    /// Another one, or several.
    Other,
}

impl ContentCoding {
    /// Takes in a value of `Content-Encoding`.
    pub(crate) fn add(&mut self, value: &[u8]) {
        for name in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
                continue;
            }
            let is_gzip =
                name.eq_ignore_ascii_case(b"gzip") || name.eq_ignore_ascii_case(b"x-gzip");
            *self = match (*self, is_gzip) {
                (ContentCoding::Identity, true) => ContentCoding::Gzip,
                _ => ContentCoding::Other,
            };
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeadFacts {
    pub status: u16,
    pub version: HttpVersion,
    pub persistence: Persistence,
    pub framing: Framing,
    /// Coding of the body.
    pub coding: ContentCoding,
    /// Whether it has a `Set-Cookie`.
    pub sets_cookies: bool,
    /// Bytes of the head, its empty line included.
    pub head_bytes: usize,
}

/// The part of each head that is copied for the caller.
#[derive(Debug, Default)]
pub(super) struct Watch {
    pub keep: Keep,
    pub value: Vec<u8>,
    /// Where the first redirect led: `Location` of a response that has one.
    pub redirected_to: Option<Box<[u8]>>,
}

/// Whether a status sends the client elsewhere.
fn is_redirect(status: u16) -> bool {
    Redirects::STATUSES.contains(&status)
}

/// Which part of a head is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keep {
    #[default]
    Nothing,
    /// The value of this header.
    Value(&'static str),
    /// The values of `Set-Cookie`, each followed by a line break.
    Cookies,
    /// All fields, each as `name: value` followed by a line break.
    Fields,
}

impl Watch {
    #[inline]
    fn take(&mut self, header: &Header<'_>) {
        match self.keep {
            Keep::Nothing => {}
            Keep::Value(name) => {
                if header.name.eq_ignore_ascii_case(name) {
                    put_unfolded(header.value, &mut self.value);
                }
            }
            Keep::Cookies => {
                if is_set_cookie(header) {
                    put_unfolded(header.value, &mut self.value);
                    self.value.push(b'\n');
                }
            }
            Keep::Fields => {
                self.value.extend_from_slice(header.name.as_bytes());
                self.value.extend_from_slice(b": ");
                put_unfolded(header.value, &mut self.value);
                self.value.push(b'\n');
            }
        }
    }
}

/// Appends a value with spaces in place of the line breaks of a folded one (RFC 9112 §5.2).
fn put_unfolded(value: &[u8], out: &mut Vec<u8>) {
    let from = out.len();
    out.extend_from_slice(value);
    unfold(&mut out[from..]);
}

/// Replaces line breaks by spaces.
pub(super) fn unfold(text: &mut [u8]) {
    for byte in text {
        if matches!(byte, b'\r' | b'\n') {
            *byte = b' ';
        }
    }
}

fn is_set_cookie(header: &Header<'_>) -> bool {
    header.name.eq_ignore_ascii_case("set-cookie")
}

/// Parses one head from its first byte; `None` while it is incomplete.
pub(super) fn parse(bytes: &[u8], watch: &mut Watch) -> Result<Option<HeadFacts>, CodecError> {
    // httparse would skip empty lines here; after a body they are unsolicited bytes.
    match bytes.first() {
        None => return Ok(None),
        Some(b'H') => {}
        Some(_) => return Err(CodecError::BadStatusLine),
    }
    match parse_up_to::<HEADERS_USUAL>(bytes, watch) {
        Err(ParseError::Syntax(httparse::Error::TooManyHeaders)) => {
            parse_up_to::<HEADERS_MAX>(bytes, watch)
        }
        parsed => parsed,
    }
    .map_err(|error| match error {
        ParseError::Syntax(_) => explain(bytes),
        ParseError::Content(error) => error,
    })
}

/// Why a head cannot be used.
enum ParseError {
    /// In the words of httparse.
    Syntax(httparse::Error),
    /// It contradicts itself.
    Content(CodecError),
}

impl From<CodecError> for ParseError {
    fn from(error: CodecError) -> Self {
        ParseError::Content(error)
    }
}

/// The parser: a header that is folded over several lines is one, as RFC 9112 §5.2 demands of a client.
fn parser() -> ParserConfig {
    let mut parser = ParserConfig::default();
    parser.allow_obsolete_multiline_headers_in_responses(true);
    parser
}

fn parse_up_to<const MAX: usize>(
    bytes: &[u8],
    watch: &mut Watch,
) -> Result<Option<HeadFacts>, ParseError> {
    let mut storage = [const { MaybeUninit::<Header<'_>>::uninit() }; MAX];
    let mut response = Response::new(&mut []);
    let parsed = parser().parse_response_with_uninit_headers(&mut response, bytes, &mut storage);
    let head_bytes = match parsed {
        Ok(Status::Complete(head_bytes)) => head_bytes,
        Ok(Status::Partial) => return Ok(None),
        Err(error) => return Err(ParseError::Syntax(error)),
    };
    let status = response.code.ok_or(CodecError::BadStatusLine)?;
    // RFC 9110 §15: a status from 600 on counts as one of 5xx.
    if status < 100 {
        return Err(CodecError::BadStatus { status }.into());
    }
    let version = match response.version {
        Some(0) => HttpVersion::Http10,
        _ => HttpVersion::Http11,
    };
    let mut framing_headers = FramingHeaders::default();
    watch.value.clear();
    let mut sets_cookies = false;
    for header in response.headers.iter() {
        framing_headers.take(header)?;
        sets_cookies |= is_set_cookie(header);
        watch.take(header);
    }
    if is_redirect(status) && watch.redirected_to.is_none() {
        watch.redirected_to = location(response.headers);
    }
    let coding = framing_headers.content_coding;
    let (framing, persistence) = framing_headers.conclude(version)?;
    Ok(Some(HeadFacts {
        status,
        version,
        persistence,
        framing,
        coding,
        sets_cookies,
        head_bytes,
    }))
}

/// The `Location` of a head.
#[cold]
fn location(headers: &[Header<'_>]) -> Option<Box<[u8]>> {
    let is_it = |header: &&Header<'_>| header.name.eq_ignore_ascii_case("location");
    headers
        .iter()
        .find(is_it)
        .map(|header| Box::from(header.value))
}

/// The framing headers seen so far in one head.
#[derive(Default)]
struct FramingHeaders {
    length: Option<u64>,
    coding: Coding,
    content_coding: ContentCoding,
    close: bool,
    keep_alive: bool,
}

#[derive(Default, PartialEq, Eq)]
enum Coding {
    #[default]
    None,
    Chunked,
    Other,
}

impl FramingHeaders {
    fn take(&mut self, header: &Header<'_>) -> Result<(), CodecError> {
        // The length decides nearly always, so most headers cost one comparison.
        match header.name.len() {
            14 if header.name.eq_ignore_ascii_case("content-length") => self.length(header.value),
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                self.coding(header.value);
                Ok(())
            }
            10 if header.name.eq_ignore_ascii_case("connection") => {
                self.connection(header.value);
                Ok(())
            }
            16 if header.name.eq_ignore_ascii_case("content-encoding") => {
                self.content_coding.add(header.value);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// One value or a list of equal values (RFC 9110 §8.6); digits only, so no sign and no hex.
    fn length(&mut self, value: &[u8]) -> Result<(), CodecError> {
        for item in value.split(|&byte| byte == b',') {
            let length = decimal(item.trim_ascii()).ok_or(CodecError::BadContentLength)?;
            if self.length.is_some_and(|earlier| earlier != length) {
                return Err(CodecError::ConflictingContentLength);
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn coding(&mut self, value: &[u8]) {
        let first = self.coding == Coding::None;
        self.coding = if first && value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
            Coding::Chunked
        } else {
            Coding::Other
        };
    }

    fn connection(&mut self, value: &[u8]) {
        for token in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            self.close |= token.eq_ignore_ascii_case(b"close");
            self.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn conclude(self, version: HttpVersion) -> Result<(Framing, Persistence), CodecError> {
        let framing = match (self.coding, self.length) {
            (Coding::None, None) => Framing::Unstated,
            (Coding::None, Some(length)) => Framing::Length(length),
            (_, Some(_)) => return Err(CodecError::LengthAndTransferEncoding),
            (_, None) if version == HttpVersion::Http10 => {
                return Err(CodecError::TransferEncodingInHttp10);
            }
            (Coding::Other, None) => return Err(CodecError::UnsupportedTransferCoding),
            (Coding::Chunked, None) => Framing::Chunked,
        };
        let stays = match version {
            HttpVersion::Http11 => !self.close,
            HttpVersion::Http10 => self.keep_alive && !self.close,
        };
        Ok((
            framing,
            if stays {
                Persistence::KeepAlive
            } else {
                Persistence::Close
            },
        ))
    }
}

/// The precise error of a head that httparse rejected.
///
/// httparse does not report where it stopped. The shortest rejected prefix ends in the offending byte, and it is the same
/// however the bytes were split. A cold path: a bisection with about 16 parses of one head.
fn explain(bytes: &[u8]) -> CodecError {
    let (mut accepted, mut refused) = (0, bytes.len());
    while refused - accepted > 1 {
        let middle = accepted + (refused - accepted) / 2;
        match parse_error(&bytes[..middle]) {
            None => accepted = middle,
            Some(_) => refused = middle,
        }
    }
    let prefix = &bytes[..refused];
    let Some((&byte, before)) = prefix.split_last() else {
        return CodecError::BadStatusLine;
    };
    let line_start = before.last() == Some(&b'\n');
    match parse_error(prefix) {
        Some(httparse::Error::TooManyHeaders) => CodecError::TooManyHeaders { max: HEADERS_MAX },
        Some(httparse::Error::Version) if prefix.starts_with(b"HTTP/") => CodecError::BadVersion,
        _ if byte == 0 => CodecError::NulInHead,
        Some(httparse::Error::HeaderName) if line_start && matches!(byte, b' ' | b'\t') => {
            CodecError::SpaceBeforeHeaders
        }
        Some(httparse::Error::HeaderName) => CodecError::BadHeaderName { byte },
        Some(httparse::Error::HeaderValue) if before.last() == Some(&b'\r') => {
            CodecError::BadNewLine
        }
        Some(httparse::Error::HeaderValue) => CodecError::BadHeaderValue { byte },
        Some(httparse::Error::NewLine) => CodecError::BadNewLine,
        _ => CodecError::BadStatusLine,
    }
}

fn parse_error(prefix: &[u8]) -> Option<httparse::Error> {
    let mut storage = [const { MaybeUninit::<Header<'_>>::uninit() }; HEADERS_MAX];
    let mut response = Response::new(&mut []);
    parser()
        .parse_response_with_uninit_headers(&mut response, prefix, &mut storage)
        .err()
}
