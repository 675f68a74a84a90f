//! Certificates of one run: a CA and one SPIFFE identity per instance.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType,
};

use crate::LabError;
use crate::render::{CaFiles, Identity};

/// Validity starts this long ago: clocks in namespaces and containers may differ a little.
const BACKDATED: Duration = Duration::from_secs(60 * 60);
/// … and ends this long from now, longer than any run.
const VALID: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The CA of one run.
pub struct Authority {
    run: String,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// The SPIFFE identity of an instance of a run.
#[must_use]
pub fn spiffe(run: &str, instance: &str) -> String {
    format!("spiffe://tare/ns/{run}/sa/{instance}")
}

impl Authority {
    /// A new CA; its key is never written to disk.
    ///
    /// # Errors
    /// When the certificate cannot be made.
    pub fn new(run: &str) -> Result<Authority, LabError> {
        let subject = format!("Tare run {run}");
        let make = || -> Result<_, rcgen::Error> {
            let mut params = params(&subject, Vec::new());
            // One CA below it: that of a mesh.
            params.is_ca = IsCa::Ca(BasicConstraints::Constrained(1));
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
            let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
            CertifiedIssuer::self_signed(params, key)
        };
        Ok(Authority {
            run: run.to_owned(),
            issuer: make().map_err(|error| refused(&subject, &error))?,
        })
    }

    /// Issues a certificate for server and client use, by the instance's name and others, and writes it with its key
    /// into `folder` (readable by the owner only): `certificate.pem`, `key.pem`, `bundle.pem`, `ca.pem`.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub fn issue(
        &self,
        instance: &str,
        also: &[&str],
        addresses: &[IpAddr],
        folder: &Path,
    ) -> Result<Identity, LabError> {
        let uri = spiffe(&self.run, instance);
        let (certificate, key) = self.sign(instance, also, addresses)?;
        let bundle = format!("{certificate}{key}");
        Ok(Identity {
            certificate: write(folder, "certificate.pem", &certificate)?,
            key: write(folder, "key.pem", &key)?,
            bundle: write(folder, "bundle.pem", &bundle)?,
            ca: write(folder, "ca.pem", &self.issuer.pem())?,
            uri,
            host: instance.to_owned(),
        })
    }
}

impl Authority {
    /// Issues the certificate of a CA, by which a control plane issues certificates to the proxies of its mesh, and writes it
    /// into `folder` (readable by the owner only): `ca-cert.pem`, `ca-key.pem`, `root-cert.pem`, `cert-chain.pem`.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub fn issue_ca(&self, instance: &str, folder: &Path) -> Result<CaFiles, LabError> {
        let make = || -> Result<_, rcgen::Error> {
            let mut params = params(&format!("CA of {instance}"), Vec::new());
            params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
            let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok((certificate.pem(), key.serialize_pem()))
        };
        let (certificate, key) = make().map_err(|error| refused(instance, &error))?;
        let root = self.issuer.pem();
        let chain = format!("{certificate}{root}");
        Ok(CaFiles {
            folder: folder.to_owned(),
            certificate: write(folder, "ca-cert.pem", &certificate)?,
            key: write(folder, "ca-key.pem", &key)?,
            chain: write(folder, "cert-chain.pem", &chain)?,
            root: write(folder, "root-cert.pem", &root)?,
        })
    }

    /// A certificate for server and client use, and its key, as PEM.
    pub(crate) fn sign(
        &self,
        instance: &str,
        also: &[&str],
        addresses: &[IpAddr],
    ) -> Result<(String, String), LabError> {
        let uri = spiffe(&self.run, instance);
        let make = || -> Result<_, rcgen::Error> {
            let mut names = vec![
                SanType::URI(uri.as_str().try_into()?),
                SanType::DnsName(instance.try_into()?),
            ];
            for name in also.iter().filter(|name| **name != instance) {
                names.push(SanType::DnsName((*name).try_into()?));
            }
            names.extend(addresses.iter().copied().map(SanType::IpAddress));
            let mut params = params(instance, names);
            params.is_ca = IsCa::ExplicitNoCa;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![
                ExtendedKeyUsagePurpose::ServerAuth,
                ExtendedKeyUsagePurpose::ClientAuth,
            ];
            let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok((certificate.pem(), key.serialize_pem()))
        };
        make().map_err(|error| refused(instance, &error))
    }

    /// The root certificate, as PEM.
    #[must_use]
    pub fn root_pem(&self) -> String {
        self.issuer.pem()
    }
}

fn params(common_name: &str, names: Vec<SanType>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.subject_alt_names = names;
    params.use_authority_key_identifier_extension = true;
    // rcgen's time type can be reached by arithmetic only.
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    params.not_before = epoch + now.saturating_sub(BACKDATED);
    params.not_after = epoch + now + VALID;
    params
}

fn refused(subject: &str, error: &rcgen::Error) -> LabError {
    LabError::Certificate {
        subject: subject.to_owned(),
        reason: error.to_string(),
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf, LabError> {
    let path = folder.join(name);
    let what = format!("write {}", path.display());
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(LabError::io(what))?;
    Ok(path)
}

#[cfg(test)]
mod tests;
