//! The certificate authority: issues certificates to proxies and to the control plane itself.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    CertificateParams, CertificateSigningRequestParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, CertificateSigningRequestDer, PrivateKeyDer, ServerName, UnixTime,
};
use rustls::{RootCertStore, ServerConfig};
use tare_record::regular::{read_regular, read_regular_text};

use crate::config::CaFiles;
use crate::error::StartError;

/// Limit for a PEM file.
const BYTES_MAX: u64 = 1 << 20;
/// Clocks of machines differ.
const SKEW: Duration = Duration::from_secs(10);
/// The control plane's own certificate is not renewed.
const OWN_LIFETIME: Duration = Duration::from_secs(366 * 86_400);

/// Why there is no certificate for a request.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// It is no signing request, or its signature is wrong.
    #[error(
        "the certificate signing request cannot be read ({0}); it must be DER, signed by its key"
    )]
    Unreadable(rcgen::Error),
    /// It is for others than the identity.
    #[error("the certificate signing request must have exactly one name, the identity")]
    Names,
    /// Signing failed.
    #[error("the certificate cannot be signed ({0}); look at the key of the CA")]
    Signing(rcgen::Error),
}

/// An issued certificate.
#[derive(Debug)]
pub struct Issued {
    pub leaf: Vec<u8>,
    /// What is between it and the trust anchor.
    pub intermediates: Vec<Vec<u8>>,
    pub valid_until: SystemTime,
}

/// A CA that issues.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Certificate of the issuer; none if it is the trust anchor.
    intermediate: Option<CertificateDer<'static>>,
    roots: Arc<RootCertStore>,
}

impl Authority {
    /// Reads certificate, key and trust anchor.
    pub fn read(files: &CaFiles) -> Result<Authority, StartError> {
        let certificate = certificates(&files.certificate)?.swap_remove(0);
        let key = read_regular_text(&files.key, BYTES_MAX);
        let key = key.map_err(StartError::file("read", &files.key))?;
        let key = KeyPair::from_pem(&key).map_err(|error| unusable(&files.key, &error))?;
        Authority::of(certificate, key, certificates(&files.root)?, files)
    }

    /// From certificate, key and trust anchors; `files` are for messages.
    pub fn of(
        certificate: CertificateDer<'static>,
        key: KeyPair,
        roots: Vec<CertificateDer<'static>>,
        files: &CaFiles,
    ) -> Result<Authority, StartError> {
        let intermediate = (!roots.contains(&certificate)).then(|| certificate.clone());
        let mut store = RootCertStore::empty();
        for root in roots {
            store
                .add(root)
                .map_err(|error| unusable(&files.root, &error))?;
        }
        let issuer = Issuer::from_ca_cert_der(&certificate, key);
        Ok(Authority {
            issuer: issuer.map_err(|error| unusable(&files.certificate, &error))?,
            intermediate,
            roots: Arc::new(store),
        })
    }

    /// Issues a certificate for a signing request that names this identity and no other.
    pub fn issue(
        &self,
        request: Vec<u8>,
        identity: &str,
        lifetime: Duration,
    ) -> Result<Issued, IssueError> {
        let request = CertificateSigningRequestDer::from(request);
        let mut request =
            CertificateSigningRequestParams::from_der(&request).map_err(IssueError::Unreadable)?;
        let [SanType::DnsName(name)] = request.params.subject_alt_names.as_slice() else {
            return Err(IssueError::Names);
        };
        if name.as_str() != identity {
            return Err(IssueError::Names);
        }
        let now = SystemTime::now();
        // Nothing else of the request is taken over.
        request.params = leaf(identity, now, lifetime).map_err(IssueError::Signing)?;
        let signed = request.signed_by(&self.issuer);
        let intermediates = self.intermediate.iter().map(|one| one.to_vec());
        Ok(Issued {
            leaf: signed.map_err(IssueError::Signing)?.der().to_vec(),
            intermediates: intermediates.collect(),
            valid_until: now + lifetime,
        })
    }

    /// TLS of the control plane, with a certificate of its own. Checks it as proxies do.
    pub fn own_tls(&self, name: &str, files: &CaFiles) -> Result<Arc<ServerConfig>, StartError> {
        let unusable = |error: &dyn std::fmt::Display| unusable(&files.certificate, error);
        let key = KeyPair::generate().map_err(|error| unusable(&error))?;
        let leaf = leaf(name, SystemTime::now(), OWN_LIFETIME)
            .and_then(|leaf| leaf.signed_by(&key, &self.issuer))
            .map_err(|error| unusable(&error))?;
        let mut chain = vec![leaf.der().clone()];
        chain.extend(self.intermediate.clone());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(self.roots.clone(), provider.clone());
        let verifier = verifier.build().map_err(|error| unusable(&error))?;
        let server = ServerName::try_from(name).map_err(|error| unusable(&error))?;
        verifier
            .verify_server_cert(&chain[0], &chain[1..], &server, &[], UnixTime::now())
            .map_err(|error| {
                let problem = format!(
                    "what it issues does not lead to {}: {error}; the key must be its own, and the root must have signed it",
                    files.root.display()
                );
                StartError::content(&files.certificate, problem)
            })?;
        // Mesh TLS is TLS 1.3. Proxies of the mesh ask for no protocol (ALPN); others may ask for HTTP/2.
        let builder = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| unusable(&error))?
            .with_no_client_auth();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let mut tls = builder
            .with_single_cert(chain, key)
            .map_err(|error| unusable(&error))?;
        tls.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Arc::new(tls))
    }
}

fn unusable(file: &Path, error: &dyn std::fmt::Display) -> StartError {
    let problem = format!("cannot be used for the CA: {error}; it must be PEM");
    StartError::content(file, problem)
}

/// The certificates of a PEM file: at least one.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, StartError> {
    let text = read_regular(file, BYTES_MAX).map_err(StartError::file("read", file))?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if all.is_empty() => Err(unusable(file, &"no certificate in it")),
        Ok(all) => Ok(all),
        Err(error) => Err(unusable(file, &error)),
    }
}

/// A certificate of a workload or of the control plane, to be signed.
fn leaf(
    identity: &str,
    now: SystemTime,
    lifetime: Duration,
) -> Result<CertificateParams, rcgen::Error> {
    let mut leaf = named(identity)?;
    leaf.not_before = (now - SKEW).into();
    leaf.not_after = (now + lifetime).into();
    leaf.is_ca = IsCa::ExplicitNoCa;
    leaf.use_authority_key_identifier_extension = true;
    leaf.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    leaf.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    Ok(leaf)
}

/// A certificate or a signing request with an identity.
pub fn named(identity: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut named = CertificateParams::new([identity.to_owned()])?;
    named.distinguished_name = DistinguishedName::new();
    named
        .distinguished_name
        .push(DnType::CommonName, identity.to_owned());
    Ok(named)
}
