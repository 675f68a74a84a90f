//! Arguments that choose the protocol.

/// The protocol of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Protocol")]
pub struct ProtocolArgs {
    /// Use HTTP/2; without TLS with prior knowledge (h2c).
    #[arg(long, conflicts_with = "grpc")]
    pub http2: bool,
    /// Use gRPC: the method is the URL's path, /package.Service/Method, or --grpc-call; the request message is the body, encoded,
    /// or --data in JSON.
    #[arg(long)]
    pub grpc: bool,
    /// Open and close TCP connections without a request; --connections is the number of concurrent ones.
    #[arg(long, conflicts_with_all = ["http2", "grpc"])]
    pub connect_only: bool,
    /// Open and close TLS connections without a request (https://): each exchange is a handshake, with --tls-resume on a
    /// resumption.
    #[arg(long, conflicts_with_all = ["http2", "grpc", "connect_only"])]
    pub handshakes: bool,
    /// Maximum number of concurrent streams (requests) per HTTP/2 connection.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub streams: u16,
}
