//! The TLS client configuration of a worker, from the plan's.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustls::client::{ResolvesClientCert, Resumption as Resuming};
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, SignatureScheme, SupportedProtocolVersion};
use tare_record::load::{Resumption, TlsSpec, TlsVersion};
use tare_tls::TrustError;
use thiserror::Error;

use super::session_cache::SessionCache;

/// Why the TLS configuration of a plan is not usable.
#[derive(Debug, Error)]
pub enum TlsError {
    /// Certificates or a key that cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error("the certificate {certificate} and the key {key} cannot be used together: {why}")]
    Identity {
        certificate: String,
        key: String,
        why: String,
    },
    #[error(
        "{0:?} is not a name a server can be asked for over TLS: give a host name or an address with --sni"
    )]
    Name(String),
    #[error(
        "no version of TLS is left between the oldest and the newest: give --tls-min 1.2 --tls-max 1.3"
    )]
    Versions,
    #[error("this TLS cannot be spoken: {0}")]
    Refused(String),
}

/// Configuration for the handshakes of one worker.
#[derive(Debug, Clone)]
pub struct TlsClient {
    pub(super) config: Arc<ClientConfig>,
    pub(super) server: ServerName<'static>,
    /// ALPN protocol that the server must choose, if it chooses one.
    pub(super) required_alpn: Option<Arc<[u8]>>,
    resumption: Resumption,
    /// Resolves the client certificate.
    resolver: Arc<dyn ResolvesClientCert>,
    /// How often the client certificate was requested and presented.
    shown_count: Arc<AtomicU64>,
    /// Whether all servers have the name in the plan, and not each its own.
    is_name_fixed: bool,
}

/// Counts how often a server requests the client certificate and is given one.
#[derive(Debug)]
struct CountingResolver {
    resolver: Arc<dyn ResolvesClientCert>,
    count: Arc<AtomicU64>,
}

impl ResolvesClientCert for CountingResolver {
    fn resolve(&self, issuers: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let found = self.resolver.resolve(issuers, schemes)?;
        self.count.fetch_add(1, Ordering::Relaxed);
        Some(found)
    }

    fn has_certs(&self) -> bool {
        self.resolver.has_certs()
    }
}

impl TlsClient {
    /// Reads the files and builds the configuration. `host` may have a port; `required_alpn` is the ALPN name of the protocol
    /// over TLS, if it has one.
    ///
    /// # Errors
    /// When a file cannot be used or the parts do not match.
    pub fn new(spec: &TlsSpec, host: &str, required_alpn: Option<&str>) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let verifier = tare_tls::verifier(&spec.trust, &provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions(spec)?)
            .map_err(|error| TlsError::Refused(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match &spec.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = tare_tls::identity(identity)?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| TlsError::Identity {
                        certificate: identity.certificate.clone(),
                        key: identity.key.clone(),
                        why: error.to_string(),
                    })?
            }
        };
        config.alpn_protocols = match &spec.alpn {
            Some(offers) => offers.iter().map(|offer| offer.clone().into()).collect(),
            None => required_alpn
                .iter()
                .map(|&required_alpn| required_alpn.into())
                .collect(),
        };
        config.enable_secret_extraction = true;
        let client = Self {
            resolver: config.client_auth_cert_resolver.clone(),
            shown_count: Arc::default(),
            config: Arc::new(config),
            server: server_name(spec.server_name.as_deref().unwrap_or(host))?,
            required_alpn: required_alpn.map(|required_alpn| required_alpn.as_bytes().into()),
            resumption: spec.resumption,
            is_name_fixed: spec.server_name.is_some(),
        };
        Ok(client.for_worker())
    }

    /// A copy with a session cache and a counter of its own, so that workers share nothing.
    #[must_use]
    pub fn for_worker(&self) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = match self.resumption {
            Resumption::Off => Resuming::disabled(),
            Resumption::On => Resuming::store(Arc::new(SessionCache::default())),
        };
        let shown_count = Arc::<AtomicU64>::default();
        config.client_auth_cert_resolver = Arc::new(CountingResolver {
            resolver: self.resolver.clone(),
            count: shown_count.clone(),
        });
        Self {
            config: Arc::new(config),
            shown_count,
            ..self.clone()
        }
    }

    /// Handshakes in which a server requested the client certificate and was given one.
    pub fn certificates_shown(&self) -> u64 {
        self.shown_count.load(Ordering::Relaxed)
    }

    /// For requests before a load, with plain rustls: performs the handshake over a stream whose reads and writes have
    /// timeouts, and returns the decrypted stream.
    ///
    /// # Errors
    /// When the handshake fails; the error says why.
    pub fn over<S: Read + Write>(&self, stream: S) -> Result<impl Read + Write, io::Error> {
        let connection = ClientConnection::new(self.config.clone(), self.server.clone());
        let connection =
            connection.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let stream = tare_tls::handshake(connection, stream)?;
        match (stream.conn.alpn_protocol(), &self.required_alpn) {
            (Some(chosen), Some(required_alpn)) if chosen != &required_alpn[..] => {
                Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the server chose another protocol than http/2",
                ))
            }
            _ => Ok(stream),
        }
    }

    /// The name to verify for a server, if it differs from the plan's.
    pub(crate) fn name_of(&self, host: &str) -> Option<ServerName<'static>> {
        let name = server_name(host).ok()?;
        // Where servers have DNS names, their certificates seldom contain addresses.
        let is_unlikely = matches!(name, ServerName::IpAddress(_))
            && matches!(self.server, ServerName::DnsName(_));
        (!self.is_name_fixed && !is_unlikely).then_some(name)
    }
}

fn versions(spec: &TlsSpec) -> Result<Vec<&'static SupportedProtocolVersion>, TlsError> {
    match (spec.oldest, spec.newest) {
        (TlsVersion::V1_2, TlsVersion::V1_2) => Ok(vec![&TLS12]),
        (TlsVersion::V1_2, TlsVersion::V1_3) => Ok(vec![&TLS13, &TLS12]),
        (TlsVersion::V1_3, TlsVersion::V1_3) => Ok(vec![&TLS13]),
        (TlsVersion::V1_3, TlsVersion::V1_2) => Err(TlsError::Versions),
    }
}

/// Server name from a host with or without port. An IP address is verified as such, and then no SNI is sent.
fn server_name(host: &str) -> Result<ServerName<'static>, TlsError> {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((v6, _)) => v6,
        None => match host.rsplit_once(':') {
            Some((name, _)) if !name.contains(':') => name,
            _ => host,
        },
    };
    ServerName::try_from(name.to_owned()).map_err(|_| TlsError::Name(host.to_owned()))
}
