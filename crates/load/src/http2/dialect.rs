//! What the streams of a connection carry: plain HTTP exchanges here, calls in `grpc`.

use std::fmt::{Debug, Display};

use tare_schema::agent::Fault;

use super::codec::Section;
use super::request::Prepared;
use crate::client::{ErrorClass, Outcome};
use crate::http1::codec::{BodyProgress, RequestKind};

/// What of a request goes on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'r> {
    /// The header block.
    pub block: &'r [u8],
    /// The body; without one the header block ends the stream.
    pub body: &'r [u8],
    /// Whether its answer can have a body.
    pub kind: RequestKind,
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
            Ok(()) => tell(Outcome::Right, &""),
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
