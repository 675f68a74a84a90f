//! A temporary authority, and a certificate for this machine's loopback names.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// The validity begins this long ago, because clocks may differ.
const BACKDATED: Duration = Duration::from_secs(60 * 60);
/// Period of validity, longer than any test server runs.
const VALID: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The certificate, its key and its authority.
pub(super) struct SelfSigned {
    pub authority_pem: String,
    pub certificate: CertificateDer<'static>,
    pub key: PrivateKeyDer<'static>,
}

/// Generates an authority and a certificate issued by it.
pub(super) fn make() -> Result<SelfSigned, rcgen::Error> {
    let mut authority = params("Tare origin's own authority", &[])?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let issuer = CertifiedIssuer::self_signed(authority, key)?;

    let mut leaf = params("localhost", &["localhost", "127.0.0.1", "::1"])?;
    leaf.is_ca = IsCa::ExplicitNoCa;
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let certificate = leaf.signed_by(&key, &issuer)?;
    Ok(SelfSigned {
        authority_pem: issuer.pem(),
        certificate: certificate.der().clone(),
        key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
    })
}

fn params(common_name: &str, names: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.use_authority_key_identifier_extension = true;
    // rcgen's type of time is reachable by arithmetic only.
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    params.not_before = epoch + now.saturating_sub(BACKDATED);
    params.not_after = epoch + now + VALID;
    Ok(params)
}
