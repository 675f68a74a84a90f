//! The gRPC calls of the arguments: method, kind of call, and encoded messages.

use std::path::Path;

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tare_http2_frames::grpc::{HEALTH_METHOD, health_question, serving_answer};
use tare_record::files::{USER_FILE_BYTES_MAX, read_user_file, read_user_text};
use tare_record::grpc_schema::{
    MethodDescription, MethodName, SCHEMA_QUESTION_VERSION, SchemaQuestion, SchemaSource,
};
use tare_record::load::{
    Body, CallKind, CallSpec, Deadline, ExpectBody, ExpectStatus, MessagePace, RequestSpec,
};

use super::super::args::{Args, GrpcArgs};
use super::super::grpc_server::GrpcServer;
use super::super::target::LoadUrl;
use super::grpc_schema;
use super::protocol;
use super::request::headers_of;

/// Whether gRPC calls are made.
pub(super) fn is_wanted(args: &Args) -> anyhow::Result<bool> {
    let wanted = args.protocol.grpc || args.grpc.asks_for_calls();
    if wanted && args.protocol.http2 {
        bail!("calls are made over HTTP/2 anyway: leave out --http2");
    }
    match args.options.first_flag("GrpcArgs") {
        Some(call_flag) if !wanted => {
            bail!(
                "{call_flag} is about gRPC calls: add --grpc, or name the method with --grpc-call"
            )
        }
        _ => Ok(wanted),
    }
}

/// The server of the load, for calls before it, with the metadata of the load.
pub fn server(args: &Args, target: &LoadUrl) -> anyhow::Result<GrpcServer> {
    let texts = args.request.headers.iter().chain(&args.grpc.metadata);
    let headers = headers_of(texts)?;
    let transport = protocol::transport(args, target)?;
    GrpcServer::new(
        (target, &args.network),
        headers,
        &transport,
        args.pacing.timeout.0,
    )
}

/// Turns a request into gRPC calls.
pub(super) fn calls(
    args: &Args,
    target: &LoadUrl,
    request: &mut RequestSpec,
) -> anyhow::Result<CallSpec> {
    let grpc = &args.grpc;
    request.headers.extend(headers_of(&grpc.metadata)?);
    if let Some(code) = grpc.expect_code {
        request.expect.status = ExpectStatus::Exactly(code);
    }
    let is_bare = request.path == "/" && grpc.grpc_call.is_none();
    let method = match &grpc.grpc_health {
        Some(service) if is_bare => {
            request.path = HEALTH_METHOD.into();
            request.body = Body::Base64 {
                base64: STANDARD.encode(health_question(service)),
            };
            if request.expect.status == ExpectStatus::Success {
                request.expect.body = ExpectBody::Base64(STANDARD.encode(serving_answer()));
            }
            None
        }
        _ => {
            let text = grpc.grpc_call.as_deref().unwrap_or(&request.path);
            let name: MethodName = text.parse()?;
            request.path = name.path();
            described(grpc, &server(args, target)?, name)?
        }
    };
    let kind = method.as_ref().map(|method| method.kind);
    let messages = messages(grpc, method)?;
    let count = messages.as_ref().map_or(1, Vec::len);
    if let Some(messages) = messages {
        request.body = Body::Messages { base64: messages };
    }
    spec(grpc, kind, count)
}

fn spec(grpc: &GrpcArgs, described: Option<CallKind>, count: usize) -> anyhow::Result<CallSpec> {
    let kind = match (described, grpc.call_kind) {
        (Some(described), Some(said)) if described != said => bail!(
            "the method is described as {}: leave out --call-kind",
            words(described)
        ),
        (Some(described), _) => described,
        (None, said) => said.unwrap_or(CallKind::Unary),
    };
    let streams = kind.client_streams();
    if !streams && (count > 1 || grpc.messages.is_some_and(|messages| messages > 1)) {
        bail!(
            "several messages need a client that streams, but the call is {}",
            words(kind)
        );
    }
    let every = grpc.message_every.map(|period| MessagePace::Every {
        period_ns: period.as_ns(),
    });
    let pace = match grpc.ping_pong {
        true => MessagePace::PingPong,
        false => every.unwrap_or(MessagePace::Unpaced),
    };
    Ok(CallSpec {
        kind,
        messages: grpc.messages.unwrap_or(u32::try_from(count)?),
        pace,
        deadline: grpc.grpc_deadline.unwrap_or(Deadline::Timeout),
        answers: grpc.expect_messages,
    })
}

/// The method by its schema, from a file or from the server. Only JSON messages need one from the server.
fn described(
    grpc: &GrpcArgs,
    server: &GrpcServer,
    name: MethodName,
) -> anyhow::Result<Option<MethodDescription>> {
    let source = match (&grpc.protoset, grpc.proto.is_empty(), &grpc.data) {
        (Some(file), ..) => SchemaSource::Set(file.clone()),
        (None, false, _) => SchemaSource::Files {
            files: grpc.proto.clone(),
            import_paths: grpc.import_path.clone(),
        },
        (None, true, Some(_)) => SchemaSource::Server,
        (None, true, None) => return Ok(None),
    };
    let data = grpc.data.as_deref().map(text_of).transpose()?;
    let question = SchemaQuestion {
        version: SCHEMA_QUESTION_VERSION,
        method: name,
        source,
        data,
    };
    grpc_schema::ask(&question, server).map(Some)
}

/// The messages in base64; `None` where they are the body of the request.
fn messages(
    grpc: &GrpcArgs,
    method: Option<MethodDescription>,
) -> anyhow::Result<Option<Vec<String>>> {
    let encoded = method.and_then(|method| method.messages);
    match (&grpc.data, encoded) {
        (_, Some(encoded)) => Ok(Some(encoded)),
        (Some(_), None) => bail!("health checks have data of their own: leave out --data"),
        (None, None) if grpc.message.is_empty() => Ok(None),
        (None, None) => {
            let messages = grpc.message.iter().map(|text| bytes_of(text));
            let messages = messages.map(|message| Ok(STANDARD.encode(message?)));
            messages.collect::<anyhow::Result<_>>().map(Some)
        }
    }
}

/// JSON from the command line or from a file.
fn text_of(data: &str) -> anyhow::Result<String> {
    match data.strip_prefix('@') {
        None => Ok(data.to_owned()),
        Some(file) => {
            read_user_text(Path::new(file), USER_FILE_BYTES_MAX).map_err(anyhow::Error::msg)
        }
    }
}

fn bytes_of(text: &str) -> anyhow::Result<Vec<u8>> {
    if let Some(file) = text.strip_prefix('@') {
        return read_user_file(Path::new(file), USER_FILE_BYTES_MAX).map_err(anyhow::Error::msg);
    }
    let bytes = match text.split_once(':') {
        Some(("hex", digits)) => from_hex(digits),
        Some(("base64", text)) => STANDARD.decode(text).ok(),
        _ => None,
    };
    bytes
        .with_context(|| format!("{text:?} is not a message: write hex:0A02, base64:CgI= or @FILE"))
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digits: Option<Vec<u8>> = digits
        .chars()
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect();
    Some(
        digits?
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    )
}

/// A kind of call as text.
fn words(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Unary => "unary",
        CallKind::ClientStreaming => "client streaming",
        CallKind::ServerStreaming => "server streaming",
        CallKind::Bidirectional => "bidirectional",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_typed_in_hex_or_base64() {
        assert_eq!(bytes_of("hex:0A02ff").unwrap(), [10, 2, 255]);
        assert_eq!(bytes_of("hex:").unwrap(), b"");
        assert_eq!(bytes_of("base64:CgI=").unwrap(), [10, 2]);
        for wrong in ["hex:0", "hex:0g", "hex:é0", "base64:%", "0A02", ""] {
            let error = bytes_of(wrong).unwrap_err().to_string();
            assert!(error.contains("hex:0A02"), "{error}");
        }
        assert!(
            bytes_of("@/no/such/file")
                .unwrap_err()
                .to_string()
                .contains("cannot read")
        );
    }
}
