//! Arguments of TLS.

use std::path::PathBuf;

use clap::ValueEnum;

/// The TLS of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TLS (https://)")]
pub struct TlsArgs {
    /// CA certificates to trust, instead of the system's (PEM).
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub cacert: Option<PathBuf>,
    /// Accept any server certificate.
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Client certificate with its chain (PEM).
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// Private key of --cert (PEM).
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Server name to send (SNI) and to verify, instead of the URL's host.
    #[arg(long, value_name = "NAME")]
    pub sni: Option<String>,
    /// ALPN protocols to offer, separated by commas, instead of the protocol in use; '' for none.
    #[arg(long, value_name = "LIST")]
    pub alpn: Option<String>,
    /// Minimum TLS version.
    #[arg(long, value_name = "VERSION", default_value = "1.2")]
    pub tls_min: Version,
    /// Maximum TLS version.
    #[arg(long, value_name = "VERSION", default_value = "1.3")]
    pub tls_max: Version,
    /// Resumption of earlier TLS sessions by new connections.
    #[arg(
        long,
        visible_alias = "resume",
        value_name = "ON|OFF",
        default_value = "off",
        default_missing_value = "on",
        num_args = 0..=1
    )]
    pub tls_resume: Resume,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Version {
    /// TLS 1.2.
    #[value(name = "1.2")]
    V1_2,
    /// TLS 1.3.
    #[value(name = "1.3")]
    V1_3,
}

/// Whether sessions are resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Resume {
    /// Resumption with the server's tickets.
    On,
    /// Full handshakes only.
    Off,
}
