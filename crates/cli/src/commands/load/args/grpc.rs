//! Arguments of gRPC calls.

use std::path::PathBuf;

use tare_record::load::{CallKind, Deadline};
use tare_record::units::Period;

use crate::arguments::choices;

/// The calls of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "gRPC")]
pub struct GrpcArgs {
    /// Method to call, package.Service/Method; the URL then needs no path.
    #[arg(long, value_name = "METHOD")]
    pub grpc_call: Option<String>,
    /// Request message as JSON, or @FILE; an array of messages for client streaming. Encoded once, with --proto, --protoset or
    /// server reflection.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["body", "body_size", "message"])]
    pub data: Option<String>,
    /// Encoded request message: hex:0A02, base64:CgI= or @FILE; may be given several times, for several messages.
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["body", "body_size"])]
    pub message: Vec<String>,
    /// Protocol Buffers file (.proto) of the method; may be given several times.
    #[arg(long, value_name = "FILE", conflicts_with = "protoset")]
    pub proto: Vec<PathBuf>,
    /// Import path of .proto files; may be given several times [default: the folder of each file].
    #[arg(long, value_name = "DIR", requires = "proto")]
    pub import_path: Vec<PathBuf>,
    /// Descriptor set of the method (protoc --descriptor_set_out).
    #[arg(long, value_name = "FILE")]
    pub protoset: Option<PathBuf>,
    /// Call type of a method without --proto, --protoset and reflection [default: unary].
    #[arg(long, value_name = "KIND", value_parser = choices(&[
        ("unary", "One request message, one response message", CallKind::Unary),
        ("client-streaming", "Several request messages, one response message", CallKind::ClientStreaming),
        ("server-streaming", "One request message, several response messages", CallKind::ServerStreaming),
        ("bidi", "Several request messages, several response messages", CallKind::Bidirectional),
    ]))]
    pub call_kind: Option<CallKind>,
    /// Number of request messages per client-streaming call, taken in turn from --data [default: each once].
    #[arg(long, value_name = "N")]
    pub messages: Option<u32>,
    /// Interval between the messages of a call [default: none, limited by the server].
    #[arg(long, value_name = "TIME", conflicts_with = "ping_pong")]
    pub message_every: Option<Period>,
    /// Send each message of a bidirectional call after the response to the one before.
    #[arg(long)]
    pub ping_pong: bool,
    /// Expected number of response messages of a server-streaming call [default: any].
    #[arg(long, value_name = "N")]
    pub expect_messages: Option<u32>,
    /// Expected gRPC status code, as a number [default: 0].
    #[arg(long, value_name = "CODE", conflicts_with = "expect_status")]
    pub expect_code: Option<u16>,
    /// Deadline in the call's metadata (grpc-timeout): a time, or none [default: --timeout].
    #[arg(long, value_name = "TIME", value_parser = parse_deadline)]
    pub grpc_deadline: Option<Deadline>,
    /// Request metadata, such as --metadata 'x-tenant: a'; may be given several times. Values of -bin names are base64.
    #[arg(long, value_name = "NAME: VALUE")]
    pub metadata: Vec<String>,
    /// Service to wait for before the load: its health check must report SERVING within --timeout ('' for the whole server).
    /// Without a method to call, health checks are the load.
    #[arg(long, value_name = "SERVICE")]
    pub grpc_health: Option<String>,
}

impl GrpcArgs {
    /// Whether any of these flags asks for gRPC calls.
    pub fn asks_for_calls(&self) -> bool {
        self.grpc_call.is_some()
            || self.data.is_some()
            || !self.message.is_empty()
            || self.grpc_health.is_some()
    }
}

/// A time, or `none`.
fn parse_deadline(text: &str) -> Result<Deadline, String> {
    if text == "none" {
        return Ok(Deadline::Unset);
    }
    let period: Period = text.parse().map_err(|e| format!("{e}, or none"))?;
    match period.as_ns() {
        0 => Err("no call ends in no time: write 100ms, or none".into()),
        limit_ns => Ok(Deadline::After { limit_ns }),
    }
}
