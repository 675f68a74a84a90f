//! Arguments that choose the protocol, and those of TLS, TCP and MongoDB.

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use tare_load::protocols::tcp::Direction;
use tare_record::load::{Resumption, TlsVersion};
use tare_record::units::Size;

use crate::arguments::words;

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
    /// Client certificate with its chain (PEM), and with its key where --key names no other file.
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// Private key of --cert (PEM), not encrypted.
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Server name to send (SNI) and to verify, instead of the URL's host.
    #[arg(long, value_name = "NAME")]
    pub sni: Option<String>,
    /// ALPN protocols to offer, separated by commas, instead of the protocol in use; '' for none.
    #[arg(long, value_name = "LIST")]
    pub alpn: Option<String>,
    /// Minimum TLS version.
    #[arg(long, value_name = "VERSION", default_value = "1.2", value_parser = tls_versions())]
    pub tls_min: TlsVersion,
    /// Maximum TLS version.
    #[arg(long, value_name = "VERSION", default_value = "1.3", value_parser = tls_versions())]
    pub tls_max: TlsVersion,
    /// Resumption of earlier TLS sessions by new connections.
    #[arg(
        long,
        visible_alias = "resume",
        value_name = "ON|OFF",
        default_value = "off",
        default_missing_value = "on",
        num_args = 0..=1,
        value_parser = words::<Resumption>(&[
            ("on", "Resumption with the server's tickets"),
            ("off", "Full handshakes only"),
        ])
    )]
    pub tls_resume: Resumption,
}

fn tls_versions() -> impl TypedValueParser<Value = TlsVersion> {
    words::<TlsVersion>(&[("1.2", "TLS 1.2"), ("1.3", "TLS 1.3")])
}

/// TCP without a protocol above it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TCP (tcp://host:port, over TLS tls://host:port)")]
pub struct TcpArgs {
    /// Size of a request: the letters a to z, repeated [default: 100B; with --throughput blocks of 1MiB].
    #[arg(long, value_name = "SIZE")]
    pub send: Option<Size>,
    /// Expected size of a response [default: that of the request; with --half-close any].
    #[arg(long, value_name = "SIZE")]
    pub expect_size: Option<Size>,
    /// Accept any response bytes. Default: the letters a to z, repeated, as from an echo server.
    #[arg(long)]
    pub any_content: bool,
    /// New connection for every exchange: send the request, shut down the sending direction, read the response to its end.
    #[arg(long)]
    pub half_close: bool,
    /// Measure the maximum throughput in this direction; an exchange is a block. Needs a discard server for `up`, a source for
    /// `down`, an echo server for `both`.
    #[arg(
        long,
        value_name = "DIRECTION",
        conflicts_with_all = ["half_close", "expect_size"],
        value_parser = words::<Direction>(&[
            ("up", "To the server"),
            ("down", "From the server"),
            ("both", "Both directions at the same time"),
        ])
    )]
    pub throughput: Option<Direction>,
}

/// Operations on documents over MongoDB's wire protocol.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "MongoDB (mongodb://host:port/database.collection, over TLS with ?tls=true)"
)]
pub struct MongodbArgs {
    /// Operation mix, by share: find, insert, update and delete, each of one document by _id [default: find=1].
    #[arg(long, value_name = "MIX", value_parser = parse_mix)]
    pub mongodb_mix: Option<MongodbMix>,
    /// Number of documents for find and update; missing ones are inserted before the load [default: 10000].
    #[arg(long, value_name = "N")]
    pub mongodb_documents: Option<u32>,
    /// Size of the text field of a document [default: 200B].
    #[arg(long, value_name = "SIZE")]
    pub mongodb_document_size: Option<Size>,
}

/// Operations and their shares.
#[derive(Debug, Clone, PartialEq)]
pub struct MongodbMix(pub Vec<(String, f64)>);

fn parse_mix(text: &str) -> Result<MongodbMix, String> {
    let known = tare_load::protocols::mongodb::OPERATIONS;
    let advice = || {
        format!(
            "write shares of {}, as in find=90,update=10",
            known.join(", ")
        )
    };
    let mut mix: Vec<(String, f64)> = Vec::new();
    for part in text.split(',') {
        let (name, share) = part.split_once('=').ok_or_else(advice)?;
        let share: f64 = share.trim().parse().map_err(|_| advice())?;
        let name = name.trim();
        let is_new = !mix.iter().any(|(given, _)| given == name);
        let is_share = share.is_finite() && share > 0.0;
        if known.contains(&name) && is_share && is_new {
            mix.push((name.to_owned(), share));
        } else {
            return Err(advice());
        }
    }
    Ok(MongodbMix(mix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_names_operations_once_with_their_shares() {
        let mix = parse_mix("find=80, insert=0.5").unwrap();
        assert_eq!(
            mix.0,
            [("find".to_owned(), 80.0), ("insert".to_owned(), 0.5)]
        );
        for wrong in [
            "",
            "find",
            "find=x",
            "find=0",
            "drop=1",
            "find=1,find=2",
            "find=inf",
        ] {
            let error = parse_mix(wrong).unwrap_err();
            assert!(error.contains("find=90,update=10"), "{wrong}: {error}");
        }
    }
}
