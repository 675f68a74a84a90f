//! TLS client: the handshake, and the meaning of its errors.

use std::io::{Error, ErrorKind};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig, ClientConnection};
use tare_record::broker_address::Address;
use tare_tls::{TlsStream, TrustError};

use super::error::ClientError;
use super::settings::Tls;
use super::stream::DeadlineStream;

/// TLS configuration, shared by all connections of a cluster.
#[derive(Debug, Clone)]
pub(super) struct TlsClient {
    config: Arc<ClientConfig>,
    server_name: Option<String>,
}

impl TlsClient {
    /// Reads the certificate files.
    pub(super) fn new(tls: &Tls) -> Result<TlsClient, ClientError> {
        let provider = Arc::new(ring::default_provider());
        let refused = |error: rustls::Error| ClientError::File {
            path: "this TLS".to_owned(),
            why: error.to_string(),
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(refused)?
            .dangerous()
            .with_custom_certificate_verifier(tare_tls::verifier(&tls.trust, &provider)?);
        let config = match &tls.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = tare_tls::identity(identity)?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| ClientError::File {
                        path: identity.certificate.clone(),
                        why: error.to_string(),
                    })?
            }
        };
        Ok(TlsClient {
            config: Arc::new(config),
            server_name: tls.server_name.clone(),
        })
    }

    /// Does the TLS handshake over a connected stream.
    pub(super) fn handshake(
        &self,
        broker: &Address,
        stream: DeadlineStream,
    ) -> Result<TlsStream<ClientConnection, DeadlineStream>, Error> {
        let name = self.server_name.as_ref().unwrap_or(&broker.host);
        let name = ServerName::try_from(name.clone())
            .map_err(|error| Error::new(ErrorKind::InvalidInput, error))?;
        let connection = ClientConnection::new(Arc::clone(&self.config), name)
            .map_err(|error| Error::new(ErrorKind::InvalidInput, error))?;
        tare_tls::handshake(connection, stream)
    }
}

impl From<TrustError> for ClientError {
    fn from(error: TrustError) -> ClientError {
        match error {
            TrustError::File { path, why } => ClientError::File { path, why },
            TrustError::NoRoots => ClientError::NoRoots,
            TrustError::Roots(why) => ClientError::File {
                path: "the list of authorities".to_owned(),
                why,
            },
        }
    }
}

/// The TLS failure behind an I/O error, if it is one.
pub(super) fn tls_error(broker: &Address, error: &Error) -> Option<ClientError> {
    let broker = broker.clone();
    let why = error.to_string();
    let inner = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(match inner {
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => ClientError::HostnameMismatch(broker, why),
        rustls::Error::InvalidCertificate(_) => ClientError::Untrusted(broker, why),
        rustls::Error::InvalidMessage(_) => ClientError::NotTls(broker, why),
        rustls::Error::AlertReceived(
            AlertDescription::BadCertificate
            | AlertDescription::CertificateRequired
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired
            | AlertDescription::UnknownCA
            | AlertDescription::UnsupportedCertificate,
        ) => ClientError::ClientCertificateRejected(broker, why),
        _ => ClientError::Tls(broker, why),
    })
}
