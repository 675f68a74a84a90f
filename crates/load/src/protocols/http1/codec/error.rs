//! Protocol errors of a server in an HTTP/1.1 response.

use thiserror::Error;

/// A protocol error: in the bytes that the server sent, or in when it stopped sending.
///
/// After any of these the boundary of the next response is unknown: close the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CodecError {
    /// Unsolicited bytes: no request was outstanding.
    #[error("the server sent bytes that no request asked for; check its content-length")]
    UnexpectedBytes,
    /// Bytes arrived after a response that announced the end of the connection.
    #[error("the server sent bytes behind an answer that said connection: close")]
    BytesAfterClose,
    /// The response does not begin with a status line.
    #[error("the answer does not begin with an http/1 status line; check the port's protocol")]
    BadStatusLine,
    /// The version in the status line is neither 1.0 nor 1.1.
    #[error("the answer's version is not http/1.0 or http/1.1; check the port's protocol")]
    BadVersion,
    /// The status is not within 100 to 599.
    #[error("the status {status} is outside 100 to 599")]
    BadStatus {
        /// The number in the status line.
        status: u16,
    },
    /// A byte that no header name may contain, such as a space before the colon.
    #[error("byte {byte:#04x} in a header name of the answer")]
    BadHeaderName {
        /// The offending byte.
        byte: u8,
    },
    /// A byte that no header value may contain.
    #[error("byte {byte:#04x} in a header value of the answer")]
    BadHeaderValue {
        /// The offending byte.
        byte: u8,
    },
    /// A zero byte in the head.
    #[error("a zero byte in the head of the answer")]
    NulInHead,
    /// A header value continued on the next line (RFC 9112 §5.2 forbids it).
    #[error("a header of the answer is folded over two lines, which http/1.1 forbids")]
    ObsoleteFold,
    /// A carriage return without its line feed in the head.
    #[error("a carriage return without line feed in the head of the answer")]
    BadNewLine,
    /// The head has more headers than the limit.
    #[error("the answer has more than {max} headers")]
    TooManyHeaders {
        /// The limit.
        max: usize,
    },
    /// The head did not end within the limit.
    #[error("the head of the answer is larger than {max_bytes} bytes")]
    HeadTooLarge {
        /// The limit.
        max_bytes: usize,
    },
    /// More interim (1xx) responses than the limit.
    #[error("more than {max} interim (1xx) answers before the final one")]
    TooManyInterim {
        /// The limit.
        max: u32,
    },
    /// The server switched protocols without a request to upgrade.
    #[error("the server switched protocols (101) although the request did not ask for it")]
    UnexpectedUpgrade,
    /// A Content-Length that is not a decimal number that fits in 64 bits.
    #[error("the content-length of the answer is not a number of bytes")]
    BadContentLength,
    /// Several Content-Length values that differ.
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
    /// The chunk-size line has a byte that is neither a hex digit nor the start of an extension.
    #[error("byte {byte:#04x} in the size line of a chunk")]
    BadChunkSize {
        /// The offending byte.
        byte: u8,
    },
    /// The chunk size does not fit in 64 bits.
    #[error("the size of a chunk does not fit in 64 bits")]
    ChunkSizeOverflow,
    /// The data of a chunk is not followed by a line end.
    #[error("byte {byte:#04x} behind a chunk's data where its line end should be")]
    BadChunkEnd {
        /// The offending byte.
        byte: u8,
    },
    /// A control byte in a chunk extension.
    #[error("byte {byte:#04x} in a chunk extension")]
    BadChunkExtension {
        /// The offending byte.
        byte: u8,
    },
    /// Size digits and extensions of the chunks together are over the limit.
    #[error("the size lines of one answer's chunks carry more than {max_bytes} bytes of padding")]
    ChunkLinesTooLong {
        /// The limit.
        max_bytes: usize,
    },
    /// The trailer section is not a list of headers.
    #[error("the trailers behind the last chunk are malformed")]
    BadTrailer,
    /// The trailer section did not end within the limit.
    #[error("the trailers behind the last chunk are larger than {max_bytes} bytes")]
    TrailersTooLarge {
        /// The limit.
        max_bytes: usize,
    },
    /// The body is over the limit.
    #[error("the body of the answer is larger than {max_bytes} bytes; raise the body limit")]
    BodyTooLarge {
        /// The limit.
        max_bytes: u64,
    },
    /// The connection ended before a response began.
    #[error("the server closed the connection before answering {waiting} request(s)")]
    ClosedBeforeAnswer {
        /// Requests begun and not answered.
        waiting: usize,
    },
    /// The connection ended within a head.
    #[error("the server closed the connection within the head of an answer")]
    ClosedInHead,
    /// The connection ended within a body of known length or a chunked one.
    #[error("the server closed the connection within the body, after {body_bytes} bytes")]
    ClosedInBody {
        /// Body bytes received.
        body_bytes: u64,
    },
}

/// More requests begun on one connection than the pipeline limit allows: an error of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{max} requests already wait on this connection; raise the pipeline limit")]
pub struct PipelineFull {
    /// The limit.
    pub max: usize,
}
