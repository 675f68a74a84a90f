//! Arguments of TLS.

use std::path::PathBuf;

use clap::ValueEnum;

/// The TLS of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TLS (https://)")]
pub struct TlsArgs {
    /// Trust the CA certificates in this PEM file instead of the system's.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub cacert: Option<PathBuf>,
    /// Accept any certificate of the server.
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Client certificate (PEM, with its chain).
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// The key of --cert (PEM).
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Ask for this server name (SNI) and check the certificate for it, instead of the URL's host.
    #[arg(long, value_name = "NAME")]
    pub sni: Option<String>,
    /// Offer these protocols (ALPN), separated by commas, instead of the one that is spoken; '' offers none.
    #[arg(long, value_name = "LIST")]
    pub alpn: Option<String>,
    /// Oldest version to offer.
    #[arg(long, value_name = "VERSION", default_value = "1.2")]
    pub tls_min: Version,
    /// Newest version to offer.
    #[arg(long, value_name = "VERSION", default_value = "1.3")]
    pub tls_max: Version,
    /// Whether a new connection may resume an earlier session.
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
    /// When the server gave a ticket.
    On,
    /// Never.
    Off,
}
