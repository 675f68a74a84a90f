//! What Tare's TLS clients trust and present: the system's authorities, PEM files that the user names, or any certificate.
//! TLS over blocking sockets.

mod blocking;
mod certificate;
mod keys;

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
use rustls::{CertificateError, DigitallySignedStruct, OtherError, SignatureScheme};
use tare_record::files::{FILE_BYTES_MAX, read_user_file};
use tare_record::load::{Identity, Trust};
use thiserror::Error;

pub use blocking::{TlsStream, Uninterrupted, handshake, over};
use certificate::{Certificate, PublicKey};
pub use certificate::{CertificateFlaw, unusual};

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
    let bytes = read(&identity.key)?;
    if let Some(why) = keys::unusable(&identity.key, &bytes) {
        return Err(TrustError::unusable(&identity.key, why));
    }
    let key = PrivateKeyDer::from_pem_slice(&bytes)
        .map_err(|error| TrustError::unusable(&identity.key, error))?;
    if keys::is_on_p521(&key) {
        return Err(TrustError::unusable(&identity.key, keys::P521));
    }
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
    let bytes = read(path)?;
    if let Some(why) = keys::unusable(path, &bytes) {
        return Err(TrustError::unusable(path, why));
    }
    let all = CertificateDer::pem_slice_iter(&bytes)
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
/// handshake is measured; but for keys that cannot be verified, which only [`Policy::Any`] accepts.
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
        let Err(error) = verified else {
            return verified;
        };
        let Some(certificate) = Certificate::read(end_entity) else {
            return Err(error);
        };
        if certificate.version == 1 {
            return self.accept_version_1(&certificate, named, server_name, now);
        }
        match error {
            // This error comes after the check of the dates and before that of the name.
            rustls::Error::InvalidCertificate(CertificateError::Other(_))
                if named.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            ) if !certificate.has_names => Err(flaw(CertificateFlaw::NoNames)),
            error => Err(error),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        match self.key_of(certificate)? {
            Some(key) => self.verify_by_key(&key, message, signed),
            None => verify_tls12_signature(message, certificate, signed, algorithms),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        match self.key_of(certificate)? {
            Some(key) => self.verify_by_key(&key, message, signed),
            None => verify_tls13_signature(message, certificate, signed, algorithms),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        let mut schemes = algorithms.supported_schemes();
        if matches!(self.policy, Policy::Any) {
            // Not verified, but accepted: without it a server with such a key ends the handshake.
            schemes.push(SignatureScheme::ECDSA_NISTP521_SHA512);
        }
        schemes
    }
}

impl Verifier {
    /// Accepts a certificate of X.509 version 1, which webpki does not read, if one of the authorities in the CA file signed it for
    /// the name: it cannot have alternative names.
    fn accept_version_1(
        &self,
        certificate: &Certificate<'_>,
        named: &[CertificateDer<'static>],
        server_name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let is_signed = named
            .iter()
            .filter_map(|one| Certificate::read(one))
            .any(|authority| {
                authority.subject == certificate.issuer
                    && self.has_signed(&authority.key, certificate)
            });
        let wrong = |error| Err(rustls::Error::InvalidCertificate(error));
        if !is_signed {
            return Err(flaw(CertificateFlaw::Version1));
        }
        if now.as_secs() < certificate.not_before_s {
            return wrong(CertificateError::NotValidYet);
        }
        if now.as_secs() > certificate.not_after_s {
            return wrong(CertificateError::Expired);
        }
        let name = server_name.to_str();
        match certificate.common_name() {
            Some(known) if known.eq_ignore_ascii_case(&name) => Ok(ServerCertVerified::assertion()),
            _ => wrong(CertificateError::NotValidForName),
        }
    }

    /// Whether a key has signed a certificate.
    fn has_signed(&self, key: &PublicKey<'_>, certificate: &Certificate<'_>) -> bool {
        let algorithms = self.provider.signature_verification_algorithms.all.iter();
        let mut fitting = algorithms.filter(|algorithm| {
            algorithm.public_key_alg_id().as_ref() == key.algorithm
                && algorithm.signature_alg_id().as_ref() == certificate.signature_algorithm
        });
        fitting.any(|algorithm| {
            let (signed, signature) = (certificate.signed, certificate.signature);
            algorithm
                .verify_signature(key.bits, signed, signature)
                .is_ok()
        })
    }

    /// The key of a certificate whose signatures webpki does not verify.
    ///
    /// # Errors
    /// If it cannot be verified at all, and has to be.
    fn key_of<'a>(
        &self,
        certificate: &'a CertificateDer<'_>,
    ) -> Result<Option<PublicKey<'a>>, rustls::Error> {
        let Some(read) = Certificate::read(certificate) else {
            return Ok(None);
        };
        match (&self.policy, read.key.is_unverifiable()) {
            (Policy::Any, _) => Ok(Some(read.key)),
            (Policy::Authorities { .. }, true) => Err(flaw(match read.key.rsa_bits() {
                Some(bits) => CertificateFlaw::RsaBits(bits),
                None => CertificateFlaw::P521,
            })),
            (Policy::Authorities { .. }, false) => Ok((read.version == 1).then_some(read.key)),
        }
    }

    /// Verifies a signature of the handshake by the key alone. One that cannot be verified is taken: see [`unusual`].
    fn verify_by_key(
        &self,
        key: &PublicKey<'_>,
        message: &[u8],
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if key.is_unverifiable() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let mapping = self.provider.signature_verification_algorithms.mapping;
        let of_scheme = mapping
            .iter()
            .filter(|(scheme, _)| *scheme == signed.scheme);
        let mut fitting = of_scheme
            .flat_map(|(_, algorithms)| algorithms.iter())
            .filter(|algorithm| algorithm.public_key_alg_id().as_ref() == key.algorithm);
        let is_valid = fitting.any(|algorithm| {
            let signature = signed.signature();
            algorithm
                .verify_signature(key.bits, message, signature)
                .is_ok()
        });
        match is_valid {
            true => Ok(HandshakeSignatureValid::assertion()),
            false => Err(flaw(CertificateFlaw::Signature)),
        }
    }
}

/// A flaw as an error of rustls.
fn flaw(flaw: CertificateFlaw) -> rustls::Error {
    let other = OtherError(Arc::new(flaw));
    rustls::Error::InvalidCertificate(CertificateError::Other(other))
}
