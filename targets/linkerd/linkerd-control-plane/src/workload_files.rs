//! The files with which a proxy asks for its certificate: its key and its certificate signing request.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rcgen::KeyPair;

use crate::authority::named;
use crate::error::StartError;

/// Writes `key.p8` (PKCS#8) and `csr.der`, both DER, for this user only. Older ones are replaced.
pub fn write(name: &str, folder: &Path) -> Result<(), StartError> {
    let failed = |error| StartError::Request {
        name: name.to_owned(),
        error,
    };
    let key = KeyPair::generate().map_err(failed)?;
    let request = named(name).and_then(|named| named.serialize_request(&key));
    let request = request.map_err(failed)?;
    write_private(&folder.join("key.p8"), &key.serialize_der())?;
    write_private(&folder.join("csr.der"), request.der())
}

fn write_private(file: &Path, bytes: &[u8]) -> Result<(), StartError> {
    let failed = StartError::file("write", file);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    // A file that exists keeps its mode, so it goes first.
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut file = options.open(file).map_err(&failed)?;
    file.write_all(bytes).map_err(failed)
}
