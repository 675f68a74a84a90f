//! TLS client: trusted certificates, client certificate, and the meaning of handshake errors.

use std::io::{Error, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct,
    RootCertStore, SignatureScheme, StreamOwned,
};

use super::address::Address;
use super::error::ClientError;
use super::settings::{Tls, Trust};
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
            .with_custom_certificate_verifier(verifier(&tls.trust, &provider)?);
        let config = match &tls.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let key = PrivateKeyDer::from_pem_file(&identity.key)
                    .map_err(|error| unusable(&identity.key, &error))?;
                builder
                    .with_client_auth_cert(certificates(&identity.certificate)?, key)
                    .map_err(|error| unusable(&identity.certificate, &error))?
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
        mut stream: DeadlineStream,
    ) -> Result<StreamOwned<ClientConnection, DeadlineStream>, (Error, DeadlineStream)> {
        let name = self.server_name.as_ref().unwrap_or(&broker.host);
        let connection = ServerName::try_from(name.clone())
            .map_err(|error| Error::new(ErrorKind::InvalidInput, error))
            .and_then(|name| {
                ClientConnection::new(Arc::clone(&self.config), name)
                    .map_err(|error| Error::new(ErrorKind::InvalidInput, error))
            });
        let mut connection = match connection {
            Ok(connection) => connection,
            Err(error) => return Err((error, stream)),
        };
        while connection.is_handshaking() {
            if let Err(error) = connection.complete_io(&mut stream) {
                return Err((error, stream));
            }
        }
        Ok(StreamOwned::new(connection, stream))
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

fn unusable(path: &Path, why: &dyn std::fmt::Display) -> ClientError {
    ClientError::File {
        path: path.display().to_string(),
        why: why.to_string(),
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let all = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(path, &error))?;
    match all.is_empty() {
        true => Err(unusable(path, &"no certificate in PEM form is in it")),
        false => Ok(all),
    }
}

fn verifier(
    trust: &Trust,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, ClientError> {
    let mut roots = RootCertStore::empty();
    let mut pinned = Vec::new();
    match trust {
        Trust::Anybody => {}
        Trust::System => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(ClientError::NoRoots);
            }
        }
        Trust::File(path) => {
            pinned = certificates(path)?;
            for one in &pinned {
                roots
                    .add(one.clone())
                    .map_err(|error| unusable(path, &error))?;
            }
        }
    }
    let authorities = match trust {
        Trust::Anybody => None,
        Trust::System | Trust::File(_) => Some(
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build()
                .map_err(|error| ClientError::File {
                    path: "the list of authorities".to_owned(),
                    why: error.to_string(),
                })?,
        ),
    };
    Ok(Arc::new(Verifier {
        authorities,
        pinned,
        provider: Arc::clone(provider),
    }))
}

/// Trusts certificate authorities, or exactly a certificate pinned by the user; without authorities, everything.
#[derive(Debug)]
struct Verifier {
    authorities: Option<Arc<WebPkiServerVerifier>>,
    pinned: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified = authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // A certificate made by `openssl req -x509` is a CA by its extensions, yet brokers present it as their own. This
            // error comes after the validity dates are checked and before the name is.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(_)))
                if self.pinned.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
