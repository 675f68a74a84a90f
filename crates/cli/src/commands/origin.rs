//! `tare origin`: the test server as a command.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use tare_origin::{
    BehaviourOverride, Identity, Limits, OriginOptions, PlannedStall, ReceiveTimestamps,
    ServerProtocol, SessionTickets, StopHandle, TcpMode, TcpSizes, TlsOptions, TlsVersions,
};
use tare_record::units::Size;

use crate::arguments::choices;
use crate::exit::{Exit, bad_input};
use crate::screen::{print, say};

/// Arguments of `tare origin`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 selects a free one.
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Additional address of /metrics, /ready and /control in plain HTTP/1.1, for listeners with another protocol or TLS.
    #[arg(long, value_name = "ADDRESS:PORT")]
    control: Option<SocketAddr>,
    /// Protocol of the listener.
    #[arg(long, default_value = "auto", value_parser = choices(&[
        ("auto", "Detected from the first bytes of a connection: HTTP/2 (and gRPC), MongoDB, else HTTP/1.1", ServerProtocol::Auto),
        ("http1", "HTTP/1.1", ServerProtocol::Http1),
        ("http2|h2", "HTTP/2 and gRPC; without TLS with prior knowledge (h2c)", ServerProtocol::Http2),
        ("tcp", "TCP without a protocol above it (--tcp-mode)", ServerProtocol::Tcp(TcpMode::Echo)),
        ("mongodb|mongo", "MongoDB, with an in-memory database", ServerProtocol::Mongodb),
        ("udp", "UDP echo", ServerProtocol::Udp),
    ]))]
    protocol: ServerProtocol,
    /// Behaviour of the TCP server (--protocol tcp).
    #[arg(long, default_value = "echo", value_parser = choices(&[
        ("echo", "Echo received bytes", TcpMode::Echo),
        ("discard", "Discard received bytes", TcpMode::Discard),
        ("source|both", "Send bytes at maximum rate, and discard received ones", TcpMode::Source),
    ]))]
    tcp_mode: TcpMode,
    /// Request size of the TCP server (--protocol tcp): each request gets a response of --tcp-answer bytes instead of its echo.
    #[arg(long, value_name = "BYTES", requires = "tcp_answer")]
    tcp_request: Option<u64>,
    /// Response size of the TCP server, for requests of --tcp-request bytes.
    #[arg(long, value_name = "BYTES", requires = "tcp_request")]
    tcp_answer: Option<u64>,
    #[command(flatten)]
    tls: TlsArgs,
    /// Number of event loops.
    #[arg(long, default_value_t = 1, value_name = "N")]
    workers: usize,
    /// Behaviour for every request: `size=1000&delay=5ms`, `p=0.01&status=503`, `close`, `reset`, `timestamps`; may be given several
    /// times. The query of a request overrides it.
    #[arg(long = "answer", value_name = "BEHAVIOUR", value_parser = parse_behaviour)]
    answers: Vec<BehaviourOverride>,
    /// Planned stall: no responses for a time, from a time after the start, such as `1s@5s`; may be given several times.
    #[arg(long = "stall", value_name = "FOR@AFTER", value_parser = parse_stall)]
    stalls: Vec<PlannedStall>,
    /// Seed of the random number generators.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Maximum number of concurrent streams per HTTP/2 connection.
    #[arg(long, default_value_t = Limits::default().streams_max, value_name = "N")]
    max_streams: u32,
    /// Maximum size of the buffers of all connections of a worker: bodies to echo, unsent answers; whoever asks for more is refused.
    #[arg(long, default_value = "512MiB", value_name = "SIZE")]
    buffers: Size,
    /// Maximum number of open connections.
    #[arg(long, default_value_t = Limits::default().connections_max, value_name = "N")]
    connections: usize,
}

/// TLS on the main listener.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TLS")]
struct TlsArgs {
    /// Use TLS; without --cert with a certificate generated at the start, for localhost, 127.0.0.1 and ::1.
    #[arg(long)]
    tls: bool,
    /// Write the CA certificate of the generated certificate to this file, for clients (PEM).
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls",
        conflicts_with = "certificate"
    )]
    ca_out: Option<PathBuf>,
    /// Server certificate with its chain (PEM).
    #[arg(long = "cert", value_name = "FILE", requires = "key", requires = "tls")]
    certificate: Option<PathBuf>,
    /// Private key of --cert (PEM).
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// CA certificates of clients (PEM); clients without a certificate are refused (mTLS).
    #[arg(long, value_name = "FILE", requires = "tls")]
    client_ca: Option<PathBuf>,
    /// Session tickets, for resumption.
    #[arg(long, default_value = "on", value_name = "on|off", value_parser = choices(&[("on", "", SessionTickets::On), ("off", "", SessionTickets::Off)]))]
    tickets: SessionTickets,
    /// Accepted TLS versions.
    #[arg(long, default_value = "both", value_parser = choices(&[
        ("both", "TLS 1.2 and 1.3", TlsVersions::Both),
        ("1.2", "TLS 1.2 only", TlsVersions::Only12),
        ("1.3", "TLS 1.3 only", TlsVersions::Only13),
    ]))]
    tls_versions: TlsVersions,
    /// Timeout of a TLS handshake.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = parse_time)]
    handshake_limit: Duration,
}

fn parse_behaviour(text: &str) -> Result<BehaviourOverride, String> {
    BehaviourOverride::parse(text).map_err(|error| error.to_string())
}

fn parse_time(text: &str) -> Result<Duration, String> {
    text.parse::<tare_record::units::Period>()
        .map(|period| period.0)
        .map_err(|error| error.to_string())
}

fn parse_stall(text: &str) -> Result<PlannedStall, String> {
    let advice = || format!("{text}: write how long and when, as in 1s@5s");
    let (lasts, after) = text.split_once('@').ok_or_else(advice)?;
    let time = |text: &str| parse_time(text).map_err(|_| advice());
    Ok(PlannedStall {
        after: time(after)?,
        lasts: time(lasts)?,
    })
}

impl Args {
    /// The protocol with the arguments of TCP.
    fn server_protocol(&self) -> ServerProtocol {
        let sizes = self.tcp_request.zip(self.tcp_answer);
        match (self.protocol, self.tcp_mode, sizes) {
            (ServerProtocol::Tcp(_), TcpMode::Echo, Some((request_bytes, answer_bytes))) => {
                ServerProtocol::Tcp(TcpMode::Sized(TcpSizes {
                    request_bytes,
                    answer_bytes,
                }))
            }
            (ServerProtocol::Tcp(_), mode, _) => ServerProtocol::Tcp(mode),
            (protocol, ..) => protocol,
        }
    }

    /// Query of a MongoDB URL that says that TLS is used.
    fn url_options(&self) -> &'static str {
        match (self.protocol, self.tls.tls) {
            (ServerProtocol::Mongodb, true) => "/?tls=true",
            _ => "",
        }
    }

    /// Scheme of the URL that clients use.
    fn scheme(&self) -> &'static str {
        match (self.protocol, self.tls.tls) {
            (ServerProtocol::Tcp(_), false) => "tcp",
            (ServerProtocol::Tcp(_), true) => "tls",
            (ServerProtocol::Mongodb, _) => "mongodb",
            (ServerProtocol::Udp, _) => "udp",
            (_, false) => "http",
            (_, true) => "https",
        }
    }
}

impl TlsArgs {
    fn options(&self) -> Option<TlsOptions> {
        if !self.tls {
            return None;
        }
        let identity = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Identity::Files {
                certificate: certificate.clone(),
                key: key.clone(),
            },
            _ => Identity::SelfSigned {
                ca_out: self.ca_out.clone(),
            },
        };
        Some(TlsOptions {
            identity,
            client_ca: self.client_ca.clone(),
            tickets: self.tickets,
            versions: self.tls_versions,
        })
    }
}

/// Serves until SIGTERM or Ctrl-C.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let stop = StopHandle::new()?;
    stop.stop_on_signals()?;
    let scheme = args.scheme();
    let options = args.url_options();
    let origin = tare_origin::bind(OriginOptions {
        listen: args.listen,
        control: args.control,
        protocol: args.server_protocol(),
        tls: args.tls.options(),
        workers: args.workers,
        overrides: args.answers,
        stalls: args.stalls,
        receive_timestamps: ReceiveTimestamps::Kernel,
        seed: args.seed,
        limits: Limits {
            buffer_bytes_max: usize::try_from(args.buffers.0).unwrap_or(usize::MAX),
            streams_max: args.max_streams,
            connections_max: args.connections,
            handshake_max: args.tls.handshake_limit,
            ..Limits::default()
        },
    })
    .map_err(|error| match error {
        tare_origin::OriginError::Option { .. } | tare_origin::OriginError::Tls { .. } => {
            bad_input(error)
        }
        other => other.into(),
    })?;
    // One line per listener, so that a script can wait for the first and read the ports.
    if let Some(address) = origin.control_addr() {
        print(&format!("control listens on http://{address}\n"))?;
    }
    print(&format!(
        "origin listens on {scheme}://{}{options}\n",
        origin.local_addr()
    ))?;
    let totals = origin.run(stop)?;
    say(format_args!(
        "{} requests, {} connections",
        totals.requests, totals.connections
    ));
    if totals.accept_pauses > 0 {
        say(format_args!(
            "! connections had to wait: no file descriptor was left for them at {} of the attempts, 10 ms apart; raise the limit of open files (ulimit -n)",
            totals.accept_pauses
        ));
    }
    Ok(Exit::Done.into())
}
