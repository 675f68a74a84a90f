//! Protocol errors of a server in an HTTP/1.1 response.

use tare_record::agent::ErrorSource;
use thiserror::Error;

use crate::client::ErrorClass;

/// A protocol error: in the bytes that the server sent, or in when it stopped sending.
///
/// After any of these the boundary of the next response is unknown: close the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CodecError {
    #[error("unsolicited bytes from the server; check its content-length")]
    UnexpectedBytes,
    /// A response with status 408 on a connection without a request, as HAProxy sends before it closes an idle one.
    #[error(
        "the server ended an idle connection with status 408, and no request was lost: use fewer connections, or raise its timeout for requests (HAProxy: timeout http-request)"
    )]
    IdleTimeout,
    #[error(
        "the server speaks http/2 on this port: ask it with --http2, or for gRPC with --grpc-call"
    )]
    SpeaksHttp2,
    #[error("the server sent bytes behind an answer that said connection: close")]
    BytesAfterClose,
    #[error("the answer does not begin with an http/1 status line; check the port's protocol")]
    BadStatusLine,
    #[error("the answer's version is not http/1.0 or http/1.1; check the port's protocol")]
    BadVersion,
    #[error("the status {status} is below 100")]
    BadStatus { status: u16 },
    /// A byte that no header name may contain, such as a space before the colon.
    #[error("byte {byte:#04x} in a header name of the answer")]
    BadHeaderName { byte: u8 },
    #[error("byte {byte:#04x} in a header value of the answer")]
    BadHeaderValue { byte: u8 },
    #[error("a zero byte in the head of the answer")]
    NulInHead,
    /// A line that begins with a space directly behind the status line (RFC 9112 §2.2).
    #[error("a space before the first header of the answer, which http/1.1 forbids")]
    SpaceBeforeHeaders,
    #[error("a carriage return without line feed in the head of the answer")]
    BadNewLine,
    #[error("the answer has more than {max} headers")]
    TooManyHeaders { max: usize },
    #[error("the head of the answer is larger than {max_bytes} bytes")]
    HeadTooLarge { max_bytes: usize },
    #[error("more than {max} interim (1xx) answers before the final one")]
    TooManyInterim { max: u32 },
    #[error("the server switched protocols (101) although the request did not ask for it")]
    UnexpectedUpgrade,
    #[error("the content-length of the answer is not a number of bytes")]
    BadContentLength,
    #[error("the answer has two content-lengths that differ")]
    ConflictingContentLength,
    /// Both Content-Length and Transfer-Encoding: the shape of response smuggling.
    #[error("the answer has both content-length and transfer-encoding")]
    LengthAndTransferEncoding,
    /// Transfer-Encoding in an HTTP/1.0 response, which cannot have one.
    #[error("an http/1.0 answer has a transfer-encoding")]
    TransferEncodingInHttp10,
    /// A transfer coding other than exactly one `chunked`; no other was offered (RFC 9112 §7.4).
    #[error("the answer's transfer-encoding is not exactly chunked, the only one offered")]
    UnsupportedTransferCoding,
    #[error("byte {byte:#04x} in the size line of a chunk")]
    BadChunkSize { byte: u8 },
    #[error("the size of a chunk does not fit in 64 bits")]
    ChunkSizeOverflow,
    #[error("byte {byte:#04x} behind a chunk's data where its line end should be")]
    BadChunkEnd { byte: u8 },
    #[error("byte {byte:#04x} in a chunk extension")]
    BadChunkExtension { byte: u8 },
    #[error("the size lines of one answer's chunks carry more than {max_bytes} bytes of padding")]
    ChunkLinesTooLong { max_bytes: usize },
    #[error("the trailers behind the last chunk are malformed")]
    BadTrailer,
    #[error("the trailers behind the last chunk are larger than {max_bytes} bytes")]
    TrailersTooLarge { max_bytes: usize },
    #[error("the body of the answer is larger than {max_bytes} bytes; raise the body limit")]
    BodyTooLarge { max_bytes: u64 },
    #[error("the server closed the connection before answering {waiting} request(s)")]
    ClosedBeforeAnswer { waiting: usize },
    #[error("the server closed the connection within the head of an answer")]
    ClosedInHead,
    #[error("the server closed the connection within the body, after {body_bytes} bytes")]
    ClosedInBody { body_bytes: u64 },
}

impl CodecError {
    /// The error class of an exchange that it ended, or of a connection without one.
    #[must_use]
    pub fn class(self) -> ErrorClass {
        let of_target = |name| ErrorClass::of(name, ErrorSource::Target);
        match self {
            CodecError::UnexpectedBytes | CodecError::BytesAfterClose => {
                of_target("unsolicited-bytes")
            }
            CodecError::IdleTimeout => of_target("idle-timeout"),
            CodecError::LengthAndTransferEncoding => of_target("length-and-transfer-encoding"),
            CodecError::TransferEncodingInHttp10 => of_target("transfer-encoding-in-http10"),
            CodecError::BadHeaderName { .. } => of_target("header-name"),
            CodecError::TooManyHeaders { .. }
            | CodecError::HeadTooLarge { .. }
            | CodecError::TrailersTooLarge { .. } => ErrorClass::HEAD_TOO_LARGE,
            _ => ErrorClass::MALFORMED,
        }
    }
}

/// More requests begun on one connection than the pipeline limit allows: an error of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{max} requests already wait on this connection; raise the pipeline limit")]
pub struct PipelineFull {
    /// The limit.
    pub max: usize,
}
