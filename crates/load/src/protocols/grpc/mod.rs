//! gRPC over HTTP/2 streams: requests of one or more messages, responses of messages and a status.

mod call;
mod message;
mod status;
#[cfg(test)]
mod tests;

pub use call::{EncodedCall, timeout_value};
pub use message::{MessageError, Messages};
pub use status::{StatusText, code_class, code_name};

use std::fmt::Display;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tare_record::agent::ErrorSource;
use tare_record::load::{CallSpec, ClientOptions, ClientSpec, ExpectStatus, MessagePace};
use tare_record::protocol::{LoadInfo, OverTcp, ProtocolInfo, RequestUse};
use tare_record::schemas::JsonSchema;

use super::http1::ResponseMismatch;
use super::http2::codec::{ContentType, GrpcStatus};
use super::http2::stream_protocol::{Outgoing, StreamProtocol, StreamResponse};
use super::http2::{STREAMS, check_streams, client_of};
use super::{ConnectionSecurity, Protocol};
use crate::client::{ErrorClass, ExchangeOutcome, Status};
use crate::generator::{self, Launch, LoadError, prepare};

/// gRPC calls over HTTP/2. A request's path is `/package.Service/Method` and its body the message (or several); the expected status
/// is the status of the call, the expected body that of each response message.
pub static PROTOCOL: Protocol = Protocol {
    // Its URLs are those of HTTP/1.1: a flag chooses gRPC.
    #[cfg(feature = "schema")]
    options: Some(tare_record::schemas::schema_of::<GrpcOptions>),
    alpn: Some("h2"),
    ..Protocol::new(
        ProtocolInfo {
            name: GrpcOptions::PROTOCOL,
            over_tcp: OverTcp::OnRequest,
            load: Some(LoadInfo {
                client: |connections, _| ClientSpec::with(connections, &GrpcOptions::default()),
                check: |client| check_streams(client.options::<GrpcOptions>()?.streams),
                requests: RequestUse::Many,
                connection_rules: true,
            }),
        },
        run,
    )
};

/// Options of a gRPC client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrpcOptions {
    /// Concurrent calls per connection; the server may allow fewer.
    pub streams: u16,
    /// How calls are made. Default: unary.
    #[serde(default)]
    pub calls: CallSpec,
}

impl Default for GrpcOptions {
    fn default() -> Self {
        Self {
            streams: STREAMS,
            calls: CallSpec::default(),
        }
    }
}

impl ClientOptions for GrpcOptions {
    const PROTOCOL: &'static str = "grpc";
}

fn run(launch: Launch<'_, '_>) -> Result<generator::LoadOutcome, LoadError> {
    let (plan, setup) = (launch.plan, launch.setup);
    let GrpcOptions { streams, calls } = launch.options()?;
    let timeout = Duration::from_nanos(plan.load.timeout_ns);
    let security = ConnectionSecurity::of(&plan.load.transport);
    let ready = |spec: &_, host: &str| EncodedCall::new(spec, &calls, host, security, timeout);
    let requests = prepare(plan, ready)?;
    launch.clients(|part| client_of::<Grpc>(setup, &part, streams, &requests))
}

/// The response's content type is not gRPC.
const CONTENT_TYPE: ErrorClass = ErrorClass::of("grpc-content-type", ErrorSource::Target);
/// The `grpc-status` is missing or not a number.
const NO_STATUS: ErrorClass = ErrorClass::of("grpc-no-status", ErrorSource::Target);
/// The call succeeded with an unexpected number of messages.
const MESSAGE_COUNT: ErrorClass = ErrorClass::of("grpc-message-count", ErrorSource::Target);
/// A message is compressed in a way that is not decoded.
const COMPRESSED: ErrorClass = ErrorClass::of("grpc-compressed", ErrorSource::Target);

/// Calls of all four kinds.
#[derive(Debug)]
pub struct Grpc;

impl StreamProtocol for Grpc {
    type Request = EncodedCall;
    type Progress = Messages;

    #[inline]
    fn outgoing(call: &EncodedCall) -> Outgoing<'_> {
        call.outgoing()
    }

    #[inline]
    fn data(call: &EncodedCall, messages: &mut Messages, slice: &[u8]) {
        messages.push(&call.answer, slice);
    }

    #[inline]
    fn pace(call: &EncodedCall) -> MessagePace {
        call.pace
    }

    #[inline]
    fn end_of_part(call: &EncodedCall, part: u32) -> u64 {
        call.message_end(part)
    }

    #[inline]
    fn parts_within(call: &EncodedCall, from_byte: u64, to_byte: u64) -> u64 {
        call.messages_within(from_byte, to_byte)
    }

    #[inline]
    fn parts_arrived(messages: &Messages) -> u32 {
        messages.count()
    }

    #[inline]
    fn judge(
        call: &EncodedCall,
        messages: Messages,
        answer: &StreamResponse<'_>,
        tell: impl FnOnce(ExchangeOutcome, &dyn Display),
    ) {
        // A proxy may answer in plain HTTP: report its status rather than the missing gRPC fields.
        if answer.status != 200 {
            let example = format_args!("the server answered with http status {}", answer.status);
            let status_class = ResponseMismatch::Status(answer.status).class();
            return tell(ExchangeOutcome::Failed(status_class), &example);
        }
        if answer.head.content_type != ContentType::Grpc {
            return tell(
                ExchangeOutcome::Failed(CONTENT_TYPE),
                &"the answer's content-type is not application/grpc",
            );
        }
        // A response without messages may have its status in the head (Trailers-Only).
        let code = match answer.trailers.unwrap_or(answer.head).grpc_status {
            GrpcStatus::Code(code) => code,
            GrpcStatus::Absent => {
                return tell(
                    ExchangeOutcome::Failed(NO_STATUS),
                    &"the answer ends without a grpc-status",
                );
            }
            GrpcStatus::Malformed => {
                return tell(
                    ExchangeOutcome::Failed(NO_STATUS),
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
            return tell(ExchangeOutcome::Failed(code_class(code)), &text);
        }
        if code != 0 {
            return tell(ExchangeOutcome::Ok(Status::NONE), &"");
        }
        match messages.finish(answer.head.message_coding, call.answers) {
            Ok(()) => tell(ExchangeOutcome::Ok(Status::NONE), &""),
            Err(error @ MessageError::Body { .. }) => {
                tell(ExchangeOutcome::Failed(ErrorClass::WRONG_BODY), &error)
            }
            Err(error @ MessageError::Count { .. }) => {
                tell(ExchangeOutcome::Failed(MESSAGE_COUNT), &error)
            }
            Err(error @ (MessageError::Compressed | MessageError::NotGzip { .. })) => {
                tell(ExchangeOutcome::Failed(COMPRESSED), &error)
            }
            Err(error) => tell(ExchangeOutcome::Failed(ErrorClass::MALFORMED), &error),
        }
    }
}
