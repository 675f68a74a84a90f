//! `tare origin`: the test server as a command.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use tare_origin::{
    Change, Clients, Identity, Limits, OriginOptions, PlannedStall, Speaks, Stamps, StopHandle,
    TcpMode, TcpSizes, Tickets, TlsOptions, TlsVersions,
};

use crate::exit::{Exit, bad_input};
use crate::screen::{print, say};

/// Arguments of `tare origin`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Address at which /metrics, /ready and /control are served by plain HTTP/1.1 as well, for when the main one is not that.
    #[arg(long, value_name = "ADDRESS:PORT")]
    control: Option<SocketAddr>,
    /// What is spoken.
    #[arg(long, default_value = "auto")]
    protocol: ProtocolName,
    /// What is done with bytes where the protocol is tcp.
    #[arg(long, default_value = "echo")]
    tcp_mode: TcpModeName,
    /// With --protocol tcp: answer each so many bytes by the bytes of --tcp-answer, instead of by themselves.
    #[arg(long, value_name = "BYTES", requires = "tcp_answer")]
    tcp_request: Option<u64>,
    /// The size of those answers.
    #[arg(long, value_name = "BYTES", requires = "tcp_request")]
    tcp_answer: Option<u64>,
    #[command(flatten)]
    tls: TlsArgs,
    /// Event loops.
    #[arg(long, default_value_t = 1, value_name = "N")]
    workers: usize,
    /// How every request is answered: `size=1000&delay=5ms`, `p=0.01&status=503`, `close`, `reset`, `truth`; may be given several times. A request can ask for its own in its query.
    #[arg(long = "answer", value_name = "BEHAVIOUR", value_parser = parse_change)]
    answers: Vec<Change>,
    /// Stop answering for this long, this long after the start: `1s@5s`; may be given several times.
    #[arg(long = "stall", value_name = "FOR@AFTER", value_parser = parse_stall)]
    stalls: Vec<PlannedStall>,
    /// Seed of all chances.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Streams of an HTTP/2 connection open at one time.
    #[arg(long, default_value_t = Limits::default().streams_max, value_name = "N")]
    max_streams: u32,
    /// Connections open at one time.
    #[arg(long, default_value_t = Limits::default().connections_max, value_name = "N")]
    connections: usize,
}

/// TLS on the main listener.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TLS")]
struct TlsArgs {
    /// Serve over TLS; without --cert with a certificate made at the start for localhost, 127.0.0.1 and ::1.
    #[arg(long)]
    tls: bool,
    /// Write the authority of the certificate made at the start to this file, for clients to trust.
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls",
        conflicts_with = "certificate"
    )]
    ca_out: Option<PathBuf>,
    /// PEM file of the server's certificate with its chain.
    #[arg(long = "cert", value_name = "FILE", requires = "key", requires = "tls")]
    certificate: Option<PathBuf>,
    /// PEM file of its key.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Serve only clients with a certificate of the authorities in this PEM file (mTLS).
    #[arg(long, value_name = "FILE", requires = "tls")]
    client_ca: Option<PathBuf>,
    /// Whether sessions can be resumed.
    #[arg(long, default_value = "on", value_name = "on|off")]
    tickets: OnOff,
    /// Versions of TLS.
    #[arg(long, default_value = "both")]
    tls_versions: VersionsName,
    /// How long a handshake may take.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = parse_time)]
    handshake_limit: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProtocolName {
    /// As the first bytes of a connection say: HTTP/2 (and gRPC), MongoDB's, else HTTP/1.1.
    Auto,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2 and gRPC; without TLS by prior knowledge.
    #[value(alias = "h2")]
    Http2,
    /// Bytes.
    Tcp,
    /// MongoDB's, with a database in memory.
    #[value(alias = "mongo")]
    Mongodb,
    /// Datagrams, echoed.
    Udp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TcpModeName {
    /// They come back.
    Echo,
    /// They are read.
    Discard,
    /// Others are sent as fast as possible, and what comes is read.
    #[value(alias = "both")]
    Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnOff {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum VersionsName {
    /// 1.2 and 1.3.
    Both,
    /// 1.2 alone.
    #[value(name = "1.2")]
    Only12,
    /// 1.3 alone.
    #[value(name = "1.3")]
    Only13,
}

fn parse_change(text: &str) -> Result<Change, String> {
    Change::parse(text).map_err(|error| error.to_string())
}

fn parse_time(text: &str) -> Result<Duration, String> {
    text.parse::<tare_schema::units::Period>()
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
    fn speaks(&self) -> Speaks {
        match self.protocol {
            ProtocolName::Auto => Speaks::Auto,
            ProtocolName::Http1 => Speaks::Http1,
            ProtocolName::Http2 => Speaks::Http2,
            ProtocolName::Tcp => Speaks::Tcp(self.tcp_mode()),
            ProtocolName::Mongodb => Speaks::Mongodb,
            ProtocolName::Udp => Speaks::Udp,
        }
    }

    fn tcp_mode(&self) -> TcpMode {
        match (self.tcp_mode, self.tcp_request, self.tcp_answer) {
            (TcpModeName::Echo, Some(request_bytes), Some(answer_bytes)) => {
                TcpMode::Sized(TcpSizes {
                    request_bytes,
                    answer_bytes,
                })
            }
            (TcpModeName::Echo, ..) => TcpMode::Echo,
            (TcpModeName::Discard, ..) => TcpMode::Discard,
            (TcpModeName::Source, ..) => TcpMode::Source,
        }
    }

    /// Query of a MongoDB URL that says that TLS is used.
    fn url_options(&self) -> &'static str {
        match (self.protocol, self.tls.tls) {
            (ProtocolName::Mongodb, true) => "/?tls=true",
            _ => "",
        }
    }

    /// Scheme of the URL that clients use.
    fn scheme(&self) -> &'static str {
        match (self.protocol, self.tls.tls) {
            (ProtocolName::Tcp, false) => "tcp",
            (ProtocolName::Tcp, true) => "tls",
            (ProtocolName::Mongodb, _) => "mongodb",
            (ProtocolName::Udp, _) => "udp",
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
            _ => Identity::Made {
                ca_out: self.ca_out.clone(),
            },
        };
        Some(TlsOptions {
            identity,
            clients: match &self.client_ca {
                Some(ca) => Clients::Certified { ca: ca.clone() },
                None => Clients::Anyone,
            },
            tickets: match self.tickets {
                OnOff::On => Tickets::On,
                OnOff::Off => Tickets::Off,
            },
            versions: match self.tls_versions {
                VersionsName::Both => TlsVersions::Both,
                VersionsName::Only12 => TlsVersions::Only12,
                VersionsName::Only13 => TlsVersions::Only13,
            },
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
        speaks: args.speaks(),
        tls: args.tls.options(),
        workers: args.workers,
        changes: args.answers,
        stalls: args.stalls,
        stamps: Stamps::Kernel,
        seed: args.seed,
        limits: Limits {
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
    Ok(Exit::Done.into())
}
