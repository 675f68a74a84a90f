//! What the streams of a connection carry: plain HTTP exchanges here, calls in `grpc`.

use std::fmt::{Debug, Display};

use tare_schema::agent::Fault;

use super::codec::Section;
use super::request::Prepared;
use crate::client::{ErrorClass, Outcome, Status};
use crate::http1::codec::{BodyProgress, RequestKind};

/// What of a request goes on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'r> {
    /// The header block.
    pub block: &'r [u8],
    /// The body, or what it repeats; without one the header block ends the stream.
    pub body: &'r [u8],
    /// Bytes of the whole body: those of `body`, and then from its first again.
    pub body_bytes: u64,
    /// Whether its answer can have a body.
    pub kind: RequestKind,
}

/// What the parts of a body wait for, besides flow control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Nothing.
    Free,
    /// Each part for this time since the one before.
    Every(u64),
    /// Each part for a message that answers the one before.
    Answers,
}

/// A whole answer, with its length checked.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Its status.
    pub status: u16,
    /// Its head.
    pub head: Section,
    /// Its trailers, if it has any.
    pub trailers: Option<Section>,
    /// The `grpc-message` of the last header block, as sent.
    pub message: &'a [u8],
}

/// A way of using streams, one exchange each. What it does per slice and per answer is compiled into the client.
pub trait Dialect: Debug {
    /// A request, ready to send.
    type Request: Debug;
    /// How far an answer's body has been looked at.
    type Progress: Default + Debug;

    /// What of a request goes on the wire.
    fn outgoing(request: &Self::Request) -> Outgoing<'_>;
    /// Looks at the next slice of an answer's body.
    fn data(request: &Self::Request, progress: &mut Self::Progress, slice: &[u8]);
    /// What the parts of a body wait for.
    #[inline]
    fn pace(_request: &Self::Request) -> Pace {
        Pace::Free
    }
    /// The bytes of a body up to the end of a part, counted from 1; the whole body where it has no parts, or not so many.
    #[inline]
    fn end_of_part(request: &Self::Request, _part: u32) -> u64 {
        Self::outgoing(request).body_bytes
    }
    /// Parts of a body that end in these bytes of it.
    #[inline]
    fn parts_within(_request: &Self::Request, _from_byte: u64, _to_byte: u64) -> u64 {
        0
    }
    /// Whole parts of an answer that have arrived.
    #[inline]
    fn parts_arrived(_progress: &Self::Progress) -> u32 {
        0
    }
    /// Tells, exactly once, what a whole answer is worth, and why in words if it is wrong.
    fn judge(
        request: &Self::Request,
        progress: &Self::Progress,
        answer: &Answer<'_>,
        tell: impl FnOnce(Outcome, &dyn Display),
    );
}

/// Plain HTTP: a right answer has the right status and the right body.
#[derive(Debug)]
pub struct Http;

impl Dialect for Http {
    type Request = Prepared;
    type Progress = BodyProgress;

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
    fn data(request: &Prepared, progress: &mut BodyProgress, slice: &[u8]) {
        progress.push(&request.answer, slice);
    }

    #[inline]
    fn judge(
        request: &Prepared,
        progress: &BodyProgress,
        answer: &Answer<'_>,
        tell: impl FnOnce(Outcome, &dyn Display),
    ) {
        if !request.accepts(answer.status) {
            let example = format_args!("the server answered with status {}", answer.status);
            return tell(Outcome::Wrong(status_class(answer.status)), &example);
        }
        match progress.finish(&request.answer) {
            Ok(()) => tell(Outcome::Right(Status::http(answer.status)), &""),
            Err(wrong) => tell(Outcome::Wrong(ErrorClass::WRONG_BODY), &wrong),
        }
    }
}

/// The class of an answer with a wrong status.
#[must_use]
pub fn status_class(status: u16) -> ErrorClass {
    ErrorClass {
        name: "status",
        code: Some(status),
        fault: Fault::Target,
    }
}
