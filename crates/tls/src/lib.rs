//! What Tare's TLS clients trust and present: the system's authorities, PEM files that the user names, or any certificate.
//! TLS over blocking sockets.

mod blocking;

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, SignatureScheme};
use tare_record::files::{FILE_BYTES_MAX, read_user_file};
use tare_record::load::{Identity, Trust};
use thiserror::Error;

pub use blocking::{TlsStream, Uninterrupted, handshake, over};

/// Why certificates or a key cannot be used.
#[derive(Debug, Error)]
pub enum TrustError {
    #[error("{path} cannot be used for TLS: {why}")]
    File { path: String, why: String },
    #[error(
        "the system has no certificate authorities to check a server with: install ca-certificates, give --cacert FILE, or accept any certificate with --insecure"
    )]
    NoRoots,
    #[error("the certificate authorities cannot be used: {0}")]
    Roots(String),
}

impl TrustError {
    fn unusable(path: &str, why: impl Display) -> Self {
        TrustError::File {
            path: path.to_owned(),
            why: why.to_string(),
        }
    }
}

/// The certificate verifier for a trust setting.
///
/// # Errors
/// If the authorities cannot be read, or there are none.
pub fn verifier(
    trust: &Trust,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TrustError> {
    let policy = match trust {
        Trust::Any => Policy::Any,
        Trust::System => authorities_policy(system()?, Vec::new(), provider)?,
        Trust::File { path } => {
            let (roots, named) = file(path)?;
            authorities_policy(roots, named, provider)?
        }
    };
    Ok(Arc::new(Verifier {
        policy,
        provider: Arc::clone(provider),
    }))
}

/// Certificate chain and key of a client.
///
/// # Errors
/// If one of the files cannot be used.
pub fn identity(
    identity: &Identity,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TrustError> {
    let chain = certificates(&identity.certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&read(&identity.key)?)
        .map_err(|error| TrustError::unusable(&identity.key, error))?;
    Ok((chain, key))
}

fn authorities_policy(
    roots: RootCertStore,
    named: Vec<CertificateDer<'static>>,
    provider: &Arc<CryptoProvider>,
) -> Result<Policy, TrustError> {
    let authorities =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .build()
            .map_err(|error| TrustError::Roots(error.to_string()))?;
    Ok(Policy::Authorities { authorities, named })
}

/// The system's roots and not a bundled list: they are what other software on this machine trusts, a company's CA is
/// among them, and SSL_CERT_FILE is honoured.
fn system() -> Result<RootCertStore, TrustError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(TrustError::NoRoots);
    }
    Ok(roots)
}

fn file(path: &str) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TrustError> {
    let mut roots = RootCertStore::empty();
    let named = certificates(path)?;
    for certificate in &named {
        roots
            .add(certificate.clone())
            .map_err(|error| TrustError::unusable(path, error))?;
    }
    Ok((roots, named))
}

/// Reads a file of certificates or keys.
fn read(path: &str) -> Result<Vec<u8>, TrustError> {
    let bytes = read_user_file(Path::new(path), FILE_BYTES_MAX);
    bytes.map_err(|error| TrustError::unusable(path, error))
}

/// All certificates of a PEM file.
fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let all = CertificateDer::pem_slice_iter(&read(path)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| TrustError::unusable(path, error))?;
    match all.is_empty() {
        true => Err(TrustError::unusable(
            path,
            "no certificate in PEM form is in it",
        )),
        false => Ok(all),
    }
}

/// Verifies certificates according to its policy. Handshake signatures are verified under every policy, so that the whole
/// handshake is measured.
#[derive(Debug)]
struct Verifier {
    policy: Policy,
    provider: Arc<CryptoProvider>,
}

/// Which certificates are accepted.
#[derive(Debug)]
enum Policy {
    /// Any certificate. That the peer has its key is still verified, by the handshake signatures.
    Any,
    /// Certificates signed by the authorities, and those in the CA file themselves: `openssl req -x509` creates certificates
    /// with the CA extension, and test servers use them as their own.
    Authorities {
        authorities: Arc<WebPkiServerVerifier>,
        named: Vec<CertificateDer<'static>>,
    },
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
        let Policy::Authorities { authorities, named } = &self.policy else {
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
            // This error comes after the check of the dates and before that of the name.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(_)))
                if named.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
