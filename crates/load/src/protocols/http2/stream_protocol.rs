//! Protocol on top of HTTP/2 streams: plain HTTP here, gRPC calls in `grpc`.

use std::fmt::{Debug, Display};

use tare_record::load::MessagePace;

use super::codec::FieldSection;
use super::request::Prepared;
use crate::client::{ExchangeOutcome, Status};
use crate::protocols::http1::body_scan::gzip_bytes_max;
use crate::protocols::http1::codec::{BodyProgress, ContentCoding, RequestKind};
use crate::protocols::http1::{CodingError, ResponseMismatch};

/// An encoded request.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'r> {
    /// The encoded header block.
    pub block: &'r [u8],
    /// The body, or the bytes that it repeats; if empty, the header block ends the stream.
    pub body: &'r [u8],
    /// Length of the whole body: `body`, repeated from its first byte as often as needed.
    pub body_bytes: u64,
    /// Whether the response can have a body.
    pub kind: RequestKind,
}

/// A complete response whose length was checked.
#[derive(Debug, Clone, Copy)]
pub struct StreamResponse<'a> {
    pub status: u16,
    /// The header section.
    pub head: FieldSection,
    /// The trailer section, if there is one.
    pub trailers: Option<FieldSection>,
    /// The `grpc-message` of the last header block, as sent.
    pub message: &'a [u8],
}

/// A protocol with one exchange per stream. A type parameter of the client, so that calls per body slice are static.
pub trait StreamProtocol: Debug {
    /// An encoded request.
    type Request: Debug;
    /// Check state of a response body.
    type Progress: Default + Debug;

    /// The encoded request.
    fn outgoing(request: &Self::Request) -> Outgoing<'_>;
    /// Checks the next slice of a response body.
    fn data(request: &Self::Request, progress: &mut Self::Progress, slice: &[u8]);
    /// When the parts of a request body are sent.
    #[inline]
    fn pace(_request: &Self::Request) -> MessagePace {
        MessagePace::Unpaced
    }
    /// End offset of a part of a request body, counted from 1; that of the whole body if it has fewer parts.
    #[inline]
    fn end_of_part(request: &Self::Request, _part: u32) -> u64 {
        Self::outgoing(request).body_bytes
    }
    /// Number of parts of a request body that end within a range of bytes.
    #[inline]
    fn parts_within(_request: &Self::Request, _from_byte: u64, _to_byte: u64) -> u64 {
        0
    }
    /// Number of complete parts of a response that have arrived.
    #[inline]
    fn parts_arrived(_progress: &Self::Progress) -> u32 {
        0
    }
    /// Calls `tell` exactly once, with the outcome of a complete response and, if it is an error, its message.
    fn judge(
        request: &Self::Request,
        progress: Self::Progress,
        answer: &StreamResponse<'_>,
        tell: impl FnOnce(ExchangeOutcome, &dyn Display),
    );
}

/// Plain HTTP: checks status and body.
#[derive(Debug)]
pub struct Http;

/// Check state of a response body.
#[derive(Debug, Default)]
pub struct HttpBody {
    progress: BodyProgress,
    /// Its beginning, if it may have to be decoded.
    kept: Vec<u8>,
}

impl StreamProtocol for Http {
    type Request = Prepared;
    type Progress = HttpBody;

    #[inline]
    fn outgoing(request: &Prepared) -> Outgoing<'_> {
        Outgoing {
            block: &request.block,
            body: &request.body,
            body_bytes: request.body.len() as u64,
            kind: request.kind,
        }
    }

    #[inline]
    fn data(request: &Prepared, body: &mut HttpBody, slice: &[u8]) {
        body.progress.push(&request.expected.body, slice);
        if request.keep_bytes > 0 {
            let room = gzip_bytes_max(request.keep_bytes).saturating_sub(body.kept.len());
            body.kept.extend_from_slice(&slice[..slice.len().min(room)]);
        }
    }

    #[inline]
    fn judge(
        request: &Prepared,
        body: HttpBody,
        answer: &StreamResponse<'_>,
        tell: impl FnOnce(ExchangeOutcome, &dyn Display),
    ) {
        let coding = answer.head.coding;
        let judged = match coding == ContentCoding::Identity || request.keep_bytes == 0 {
            true => request.expected.judge(&body.progress, answer.status),
            false => request.judge_encoded(body.progress, coding, body.kept, answer.status),
        };
        match judged {
            Ok(()) => tell(ExchangeOutcome::Ok(Status::http(answer.status)), &""),
            Err(ResponseMismatch::Body(_))
                if coding != ContentCoding::Identity && request.keep_bytes == 0 =>
            {
                let mismatch = ResponseMismatch::Coding(CodingError::NotDecoded);
                tell(ExchangeOutcome::Failed(mismatch.class()), &mismatch)
            }
            Err(mismatch) => tell(ExchangeOutcome::Failed(mismatch.class()), &mismatch),
        }
    }
}
