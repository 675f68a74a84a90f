//! Arguments that choose the protocol.

/// The protocol of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Protocol")]
pub struct ProtocolArgs {
    /// Speak HTTP/2, as to a server known to speak it (without TLS: h2c with prior knowledge).
    #[arg(long, conflicts_with = "grpc")]
    pub http2: bool,
    /// Make gRPC calls: the URL's path is /package.Service/Method (or --grpc-call names it), the body is the encoded message (or --data in JSON).
    #[arg(long)]
    pub grpc: bool,
    /// Open connections and close them at once, sending nothing; --connections says how many are opened at once.
    #[arg(long, conflicts_with_all = ["http2", "grpc"])]
    pub connect_only: bool,
    /// The same over TLS (https://): every exchange is a handshake; with --tls-resume on, each resumes an earlier session.
    #[arg(long, conflicts_with_all = ["http2", "grpc", "connect_only"])]
    pub handshakes: bool,
    /// Requests on one HTTP/2 connection at a time.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub streams: u16,
}
