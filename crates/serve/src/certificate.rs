//! The certificate of the server with its key: read at the start, and again when its files have changed.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::server::say;

/// Bits of a file's mode by which others than its owner could read a secret or replace it; a group may read it.
const OPEN_TO_OTHERS: u32 = 0o027;

/// Sizes, inodes and times of the files.
type Stamp = [(u64, u64, i64, i64); 2];

/// The certificate.
pub struct Certificate {
    /// Of the certificate with its chain, and of the key.
    files: [PathBuf; 2],
    current: Mutex<(Stamp, TlsAcceptor)>,
}

impl Certificate {
    /// Reads the files.
    pub fn read(certificate: &Path, key: &Path) -> anyhow::Result<Certificate> {
        let files = [certificate.to_owned(), key.to_owned()];
        let stamp = stamp(&files);
        let acceptor = acceptor(&files)?;
        Ok(Certificate {
            files,
            current: Mutex::new((stamp, acceptor)),
        })
    }

    /// What accepts connections. Renewed files are read; as long as they do not belong together, the old ones are used.
    pub fn acceptor(&self) -> TlsAcceptor {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = stamp(&self.files);
        if stamp != current.0 {
            current.0 = stamp;
            match acceptor(&self.files) {
                Ok(renewed) => {
                    current.1 = renewed;
                    say("the certificate was renewed");
                }
                Err(error) => say(&format!("the certificate stays the old one: {error:#}")),
            }
        }
        current.1.clone()
    }
}

fn stamp(files: &[PathBuf; 2]) -> Stamp {
    files.each_ref().map(|file| {
        let of = |found: Metadata| (found.len(), found.ino(), found.mtime(), found.mtime_nsec());
        file.metadata().map(of).unwrap_or_default()
    })
}

fn acceptor([certificate, key]: &[PathBuf; 2]) -> anyhow::Result<TlsAcceptor> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("{} is no certificate in PEM", certificate.display()))?;
    refuse_open_to_others(key)?;
    let key_der = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("{} is no private key in PEM", key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, key_der)
        .context("the certificate and the key do not belong together")?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Refuses the file of a secret that other users can read or change.
pub fn refuse_open_to_others(file: &Path) -> anyhow::Result<()> {
    let mode = file.metadata().map(|found| found.permissions().mode());
    // What is missing is said where it is read.
    let mode = mode.unwrap_or_default() & 0o777;
    anyhow::ensure!(
        mode & OPEN_TO_OTHERS == 0,
        "{} can be read or changed by other users (mode {mode:04o}): chmod 600 {0}",
        file.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn renewed_files_are_used_as_soon_as_they_belong_together() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let write = |name: &str, text: &str| {
            let (new, path) = (at("new"), at(name));
            fs::write(&new, text).unwrap();
            fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).unwrap();
            fs::rename(&new, &path).unwrap();
        };
        let make = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (first, second) = (make(), make());
        write("cert", &first.cert.pem());
        write("key", &first.signing_key.serialize_pem());
        let certificate = Certificate::read(&at("cert"), &at("key")).unwrap();
        let config = || Arc::as_ptr(certificate.acceptor().config());
        let old = config();
        assert_eq!(config(), old);
        write("cert", &second.cert.pem());
        assert_eq!(config(), old, "the key is still that of the first");
        write("key", &second.signing_key.serialize_pem());
        assert_ne!(config(), old);
    }

    #[test]
    fn a_secret_that_others_can_read_or_change_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("secret");
        fs::write(&file, "x").unwrap();
        for (mode, is_fine) in [
            (0o600, true),
            (0o400, true),
            (0o640, true),
            (0o644, false),
            (0o604, false),
            (0o620, false),
            (0o602, false),
        ] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(refuse_open_to_others(&file).is_ok(), is_fine, "{mode:o}");
        }
    }
}
