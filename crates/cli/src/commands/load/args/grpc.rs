//! Arguments of gRPC calls.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use tare_schema::load::{CallKind, Deadline};
use tare_schema::units::Period;

/// The calls of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "gRPC")]
pub struct GrpcArgs {
    /// Call this method, package.Service/Method; the URL then needs no path.
    #[arg(long, value_name = "METHOD")]
    pub grpc_call: Option<String>,
    /// What to send, as JSON, or @FILE: one message, or an array of them for a client that streams. Encoded once, by --proto, by --protoset, or else as the server describes itself (reflection).
    #[arg(long, value_name = "JSON", conflicts_with_all = ["body", "body_size", "message"])]
    pub data: Option<String>,
    /// What to send, already encoded: hex:0A02, base64:CgI= or @FILE; several times for several messages.
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["body", "body_size"])]
    pub message: Vec<String>,
    /// A .proto file that describes the method; may be given several times.
    #[arg(long, value_name = "FILE", conflicts_with = "protoset")]
    pub proto: Vec<PathBuf>,
    /// A folder that .proto files import from [default: that of each file].
    #[arg(long, value_name = "DIR", requires = "proto")]
    pub import_path: Vec<PathBuf>,
    /// A descriptor set that describes the method, as protoc writes it.
    #[arg(long, value_name = "FILE")]
    pub protoset: Option<PathBuf>,
    /// Who streams, where no description says it [default: unary].
    #[arg(long, value_name = "KIND")]
    pub call_kind: Option<CallKindArg>,
    /// Messages that a streaming client sends in one call, those of --data in turn [default: each of them once].
    #[arg(long, value_name = "N")]
    pub messages: Option<u32>,
    /// Distance of the messages of one call [default: as fast as the server takes them].
    #[arg(long, value_name = "TIME", conflicts_with = "ping_pong")]
    pub message_every: Option<Period>,
    /// Send each message of a bidirectional call when the one before has been answered.
    #[arg(long)]
    pub ping_pong: bool,
    /// Number of messages expected from a streaming server [default: any].
    #[arg(long, value_name = "N")]
    pub expect_messages: Option<u32>,
    /// Expected status of a call, as a number [default: 0].
    #[arg(long, value_name = "CODE", conflicts_with = "expect_status")]
    pub expect_code: Option<u16>,
    /// What the server is told about how long we wait: a time, or none [default: --timeout].
    #[arg(long, value_name = "TIME")]
    pub grpc_deadline: Option<DeadlineArg>,
    /// Metadata, as in --metadata 'x-tenant: a'; the value of a name that ends in -bin is base64. May be given several times.
    #[arg(long, value_name = "NAME: VALUE")]
    pub metadata: Vec<String>,
    /// Before the load, wait until the server's health check says that this service serves ('' for the whole server), at most for --timeout. Without a method to call, the checks are the load.
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

    /// The first given flag that needs gRPC calls.
    pub fn call_flag(&self) -> Option<&'static str> {
        let call_flag = [
            (!self.proto.is_empty(), "--proto"),
            (self.protoset.is_some(), "--protoset"),
            (self.call_kind.is_some(), "--call-kind"),
            (self.messages.is_some(), "--messages"),
            (self.message_every.is_some(), "--message-every"),
            (self.ping_pong, "--ping-pong"),
            (self.expect_messages.is_some(), "--expect-messages"),
            (self.expect_code.is_some(), "--expect-code"),
            (self.grpc_deadline.is_some(), "--grpc-deadline"),
            (!self.metadata.is_empty(), "--metadata"),
        ];
        call_flag
            .into_iter()
            .find_map(|(is_given, name)| is_given.then_some(name))
    }
}

/// A kind of call as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CallKindArg {
    /// One message there, one back.
    Unary,
    /// Many there, one back.
    ClientStreaming,
    /// One there, many back.
    ServerStreaming,
    /// Many there, many back.
    Bidi,
}

impl From<CallKindArg> for CallKind {
    fn from(kind: CallKindArg) -> Self {
        match kind {
            CallKindArg::Unary => CallKind::Unary,
            CallKindArg::ClientStreaming => CallKind::ClientStreaming,
            CallKindArg::ServerStreaming => CallKind::ServerStreaming,
            CallKindArg::Bidi => CallKind::Bidirectional,
        }
    }
}

/// A deadline as given on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadlineArg(pub Deadline);

impl FromStr for DeadlineArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(Deadline::Untold));
        }
        let period: Period = text.parse().map_err(|e| format!("{e}, or none"))?;
        match period.as_ns() {
            0 => Err("no call ends in no time: write 100ms, or none".into()),
            limit_ns => Ok(Self(Deadline::After { limit_ns })),
        }
    }
}
