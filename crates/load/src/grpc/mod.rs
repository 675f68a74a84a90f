//! gRPC over HTTP/2 streams: requests of one or more messages, responses of messages and a status.

mod ask;
mod call;
mod message;
mod status;
#[cfg(test)]
mod tests;

pub use ask::{AskError, Question, ask};
pub use call::{Call, timeout_value};
pub use message::{MessageError, Messages};
pub use status::{StatusText, code_class, code_name};

use std::fmt::Display;

use tare_schema::agent::ErrorSource;
use tare_schema::load::ExpectStatus;

use crate::client::{ErrorClass, Outcome, Status};
use crate::http2::codec::{ContentType, GrpcStatus};
use crate::http2::dialect::{Dialect, HttpResponse, Outgoing, Pace, status_class};

/// The response's content type is not gRPC.
const CONTENT_TYPE: ErrorClass = ErrorClass::of("grpc-content-type", ErrorSource::Target);
/// The `grpc-status` is missing or not a number.
const NO_STATUS: ErrorClass = ErrorClass::of("grpc-no-status", ErrorSource::Target);
/// The call succeeded with an unexpected number of messages.
const MESSAGE_COUNT: ErrorClass = ErrorClass::of("grpc-message-count", ErrorSource::Target);
/// A message is compressed, although no compression was offered.
const COMPRESSED: ErrorClass = ErrorClass::of("grpc-compressed", ErrorSource::Target);

/// Calls of all four kinds.
#[derive(Debug)]
pub struct Grpc;

impl Dialect for Grpc {
    type Request = Call;
    type Progress = Messages;

    #[inline]
    fn outgoing(call: &Call) -> Outgoing<'_> {
        call.outgoing()
    }

    #[inline]
    fn data(call: &Call, messages: &mut Messages, slice: &[u8]) {
        messages.push(&call.answer, slice);
    }

    #[inline]
    fn pace(call: &Call) -> Pace {
        call.pace
    }

    #[inline]
    fn end_of_part(call: &Call, part: u32) -> u64 {
        call.message_end(part)
    }

    #[inline]
    fn parts_within(call: &Call, from_byte: u64, to_byte: u64) -> u64 {
        call.messages_within(from_byte, to_byte)
    }

    #[inline]
    fn parts_arrived(messages: &Messages) -> u32 {
        messages.count()
    }

    #[inline]
    fn judge(
        call: &Call,
        messages: &Messages,
        answer: &HttpResponse<'_>,
        tell: impl FnOnce(Outcome, &dyn Display),
    ) {
        // A proxy may answer in plain HTTP: report its status rather than the missing gRPC fields.
        if answer.status != 200 {
            let example = format_args!("the server answered with http status {}", answer.status);
            return tell(Outcome::Wrong(status_class(answer.status)), &example);
        }
        if answer.head.content_type != ContentType::Grpc {
            return tell(
                Outcome::Wrong(CONTENT_TYPE),
                &"the answer's content-type is not application/grpc",
            );
        }
        // A response without messages may have its status in the head (Trailers-Only).
        let code = match answer.trailers.unwrap_or(answer.head).grpc_status {
            GrpcStatus::Code(code) => code,
            GrpcStatus::Absent => {
                return tell(
                    Outcome::Wrong(NO_STATUS),
                    &"the answer ends without a grpc-status",
                );
            }
            GrpcStatus::Malformed => {
                return tell(
                    Outcome::Wrong(NO_STATUS),
                    &"the grpc-status is not a number",
                );
            }
        };
        let accepted = match &call.status {
            ExpectStatus::Success => code == 0,
            ExpectStatus::Exactly(exactly) => code == *exactly,
            ExpectStatus::Among(several) => several.contains(&code),
            ExpectStatus::Any => true,
        };
        if !accepted {
            let text = StatusText {
                code,
                message: answer.message,
            };
            return tell(Outcome::Wrong(code_class(code)), &text);
        }
        if code != 0 {
            return tell(Outcome::Ok(Status::NONE), &"");
        }
        match messages.finish(call.answers) {
            Ok(()) => tell(Outcome::Ok(Status::NONE), &""),
            Err(error @ MessageError::Body { .. }) => {
                tell(Outcome::Wrong(ErrorClass::WRONG_BODY), &error)
            }
            Err(error @ MessageError::Count { .. }) => tell(Outcome::Wrong(MESSAGE_COUNT), &error),
            Err(error @ MessageError::Compressed { .. }) => {
                tell(Outcome::Wrong(COMPRESSED), &error)
            }
            Err(error) => tell(Outcome::Wrong(ErrorClass::MALFORMED), &error),
        }
    }
}
