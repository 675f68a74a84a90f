//! TLS options, and the rustls configuration built from them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion, version};

use super::self_signed;
use crate::error::OriginError;
use crate::options::ServerProtocol;

/// TLS on every connection of the main listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsOptions {
    /// The server's certificate.
    pub identity: Identity,
    /// PEM file of the authorities of whose certificates clients need one (mTLS); none without.
    pub client_ca: Option<PathBuf>,
    /// Whether sessions can be resumed.
    pub tickets: SessionTickets,
    /// Versions of the protocol.
    pub versions: TlsVersions,
}

/// Where the server's certificate comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// PEM files: the certificate with the chain below it, and its key.
    Files {
        /// Certificate and chain.
        certificate: PathBuf,
        /// Private key.
        key: PathBuf,
    },
    /// Generated at the start for localhost, 127.0.0.1 and ::1, under an authority of its own whose key is never written.
    SelfSigned {
        /// Where the authority's certificate is written, for clients to trust.
        ca_out: Option<PathBuf>,
    },
}

/// Whether sessions can be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionTickets {
    /// They can, by session tickets.
    #[default]
    On,
    /// Every handshake is a full one.
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsVersions {
    /// 1.2 and 1.3.
    #[default]
    Both,
    /// 1.2 alone.
    Only12,
    /// 1.3 alone.
    Only13,
}

/// The configuration that connections are accepted with.
pub(crate) type TlsServer = Arc<ServerConfig>;

impl TlsVersions {
    fn list(self) -> Vec<&'static SupportedProtocolVersion> {
        match self {
            Self::Both => vec![&version::TLS13, &version::TLS12],
            Self::Only12 => vec![&version::TLS12],
            Self::Only13 => vec![&version::TLS13],
        }
    }
}

/// The configuration for these options.
pub(crate) fn server(
    options: &TlsOptions,
    protocol: ServerProtocol,
) -> Result<TlsServer, OriginError> {
    let (chain, key) = identity(&options.identity)?;
    let provider = Arc::new(ring::default_provider());
    let unusable = |error: rustls::Error| {
        let what = "use the server's certificate".to_owned();
        let next_step = "check that the key belongs to the certificate";
        OriginError::Tls(what, error.to_string(), next_step)
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&options.versions.list())
        .map_err(unusable)?;
    let builder = match &options.client_ca {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(authorities(ca)?), provider)
                    .build()
                    .map_err(|error| {
                        let what = format!("use the client authorities in {}", ca.display());
                        let next_step = "give a PEM file with at least one CA certificate";
                        OriginError::Tls(what, error.to_string(), next_step)
                    })?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
    config.alpn_protocols = protocol.alpn();
    match options.tickets {
        SessionTickets::On => config.ticketer = ring::Ticketer::new().map_err(unusable)?,
        SessionTickets::Off => {
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
    }
    Ok(Arc::new(config))
}

type Chain = Vec<CertificateDer<'static>>;

fn identity(identity: &Identity) -> Result<(Chain, PrivateKeyDer<'static>), OriginError> {
    match identity {
        Identity::Files { certificate, key } => {
            let chain = certificates(certificate)?;
            let key = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| unreadable("key", key, &error.to_string()))?;
            Ok((chain, key))
        }
        Identity::SelfSigned { ca_out } => {
            let self_signed = self_signed::make().map_err(|error| {
                let next_step = "give one with its key as PEM files";
                OriginError::Tls(
                    "make a certificate".to_owned(),
                    error.to_string(),
                    next_step,
                )
            })?;
            if let Some(path) = ca_out {
                std::fs::write(path, &self_signed.authority_pem)
                    .map_err(|error| unreadable("authority", path, &error.to_string()))?;
            }
            Ok((vec![self_signed.certificate], self_signed.key))
        }
    }
}

fn certificates(path: &Path) -> Result<Chain, OriginError> {
    let unreadable = |reason: &str| unreadable("certificate", path, reason);
    let chain: Chain = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable(&error.to_string()))?;
    if chain.is_empty() {
        return Err(unreadable("there is no certificate in it"));
    }
    Ok(chain)
}

fn authorities(path: &Path) -> Result<RootCertStore, OriginError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(path)? {
        store
            .add(certificate)
            .map_err(|error| unreadable("certificate", path, &error.to_string()))?;
    }
    Ok(store)
}

fn unreadable(what: &str, path: &Path, reason: &str) -> OriginError {
    let what = format!("use the {what} file {}", path.display());
    let next_step = "check the path and that the file is PEM";
    OriginError::Tls(what, reason.to_owned(), next_step)
}
