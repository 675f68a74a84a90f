//! From a plan's TLS to what a worker's connections need.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustls::client::{ResolvesClientCert, Resumption as Resuming};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, SignatureScheme, SupportedProtocolVersion};
use tare_schema::load::{Identity, Resumption, TlsSpec, TlsVersion};
use thiserror::Error;

use super::tickets::Tickets;
use super::trust;

/// Why a plan's TLS cannot be spoken.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file that cannot be used.
    #[error("{path} cannot be used for TLS: {why}")]
    File {
        /// Its path.
        path: String,
        /// Why not.
        why: String,
    },
    /// The system has no authorities.
    #[error(
        "the system has no certificate authorities to check a server with: install ca-certificates, give --cacert FILE, or accept any certificate with --insecure"
    )]
    NoRoots,
    /// The authorities cannot be used.
    #[error("the certificate authorities cannot be used: {0}")]
    Roots(String),
    /// The client's certificate and key do not go together.
    #[error("the certificate {certificate} and the key {key} cannot be used together: {why}")]
    Identity {
        /// File of the certificate.
        certificate: String,
        /// File of the key.
        key: String,
        /// Why not.
        why: String,
    },
    /// A name that no certificate can be for.
    #[error(
        "{0:?} is not a name a server can be asked for over TLS: give a host name or an address with --sni"
    )]
    Name(String),
    /// No version is left.
    #[error(
        "no version of TLS is left between the oldest and the newest: give --tls-min 1.2 --tls-max 1.3"
    )]
    Versions,
    /// Something rustls refuses.
    #[error("this TLS cannot be spoken: {0}")]
    Refused(String),
}

impl TlsError {
    pub(super) fn unusable(path: &str, why: impl Display) -> Self {
        TlsError::File {
            path: path.to_owned(),
            why: why.to_string(),
        }
    }
}

/// What the connections of one worker need to shake hands.
#[derive(Debug, Clone)]
pub struct TlsClient {
    pub(super) config: Arc<ClientConfig>,
    pub(super) server: ServerName<'static>,
    /// What the server must choose when it chooses.
    pub(super) needed: Option<Arc<[u8]>>,
    resumption: Resumption,
    /// What is shown to a server that asks for a certificate.
    shown: Arc<dyn ResolvesClientCert>,
    /// How often that was asked for and shown.
    times_shown: Arc<AtomicU64>,
    /// Who has to be met.
    meets: Meets,
}

/// Counts how often a server asks for our certificate and is shown one.
#[derive(Debug)]
struct Counting {
    shown: Arc<dyn ResolvesClientCert>,
    times: Arc<AtomicU64>,
}

impl ResolvesClientCert for Counting {
    fn resolve(&self, issuers: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let found = self.shown.resolve(issuers, schemes)?;
        self.times.fetch_add(1, Ordering::Relaxed);
        Some(found)
    }

    fn has_certs(&self) -> bool {
        self.shown.has_certs()
    }
}

/// Whose certificate is expected where a protocol connects to several servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meets {
    /// The one that the plan names, everywhere.
    Named,
    /// Each server under the name by which it is known.
    Each,
}

impl TlsClient {
    /// Reads the files and builds it. `host` may have a port; `needed` is what the protocol above is called in ALPN, if it is.
    ///
    /// # Errors
    /// When a file is missing or the parts do not fit.
    pub fn new(spec: &TlsSpec, host: &str, needed: Option<&str>) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let verifier = trust::verifier(&spec.trust, &provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions(spec)?)
            .map_err(|error| TlsError::Refused(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match &spec.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = read(identity)?;
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
            None => needed.iter().map(|&needed| needed.into()).collect(),
        };
        config.enable_secret_extraction = true;
        let client = Self {
            shown: config.client_auth_cert_resolver.clone(),
            times_shown: Arc::default(),
            config: Arc::new(config),
            server: server_name(spec.server_name.as_deref().unwrap_or(host))?,
            needed: needed.map(|needed| needed.as_bytes().into()),
            resumption: spec.resumption,
            meets: match spec.server_name {
                Some(_) => Meets::Named,
                None => Meets::Each,
            },
        };
        Ok(client.for_worker())
    }

    /// The same with sessions of its own, so that workers share nothing.
    #[must_use]
    pub fn for_worker(&self) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = match self.resumption {
            Resumption::Off => Resuming::disabled(),
            Resumption::On => Resuming::store(Arc::new(Tickets::default())),
        };
        let times_shown = Arc::<AtomicU64>::default();
        config.client_auth_cert_resolver = Arc::new(Counting {
            shown: self.shown.clone(),
            times: times_shown.clone(),
        });
        Self {
            config: Arc::new(config),
            shown: self.shown.clone(),
            times_shown,
            server: self.server.clone(),
            needed: self.needed.clone(),
            resumption: self.resumption,
            meets: self.meets,
        }
    }

    /// Handshakes in which a server asked for a certificate and was shown one.
    pub fn certificates_shown(&self) -> u64 {
        self.times_shown.load(Ordering::Relaxed)
    }

    /// Whom to meet at a server of this name, if that is not the same everywhere.
    pub(crate) fn name_of(&self, host: &str) -> Option<ServerName<'static>> {
        match (self.meets, server_name(host).ok()?) {
            (Meets::Named, _) => None,
            // Where servers have names, the address of one is seldom in its certificate.
            (Meets::Each, ServerName::IpAddress(_))
                if matches!(self.server, ServerName::DnsName(_)) =>
            {
                None
            }
            (Meets::Each, name) => Some(name),
        }
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

type Chain = Vec<rustls::pki_types::CertificateDer<'static>>;

fn read(identity: &Identity) -> Result<(Chain, PrivateKeyDer<'static>), TlsError> {
    let chain = trust::certificates(&identity.certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&trust::read(&identity.key)?)
        .map_err(|error| TlsError::unusable(&identity.key, error))?;
    Ok((chain, key))
}

/// A host without its port; an address is verified as one, and no name is then sent.
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
