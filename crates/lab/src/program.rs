//! The digest of the program that runs.

use std::fs::File;
use std::sync::OnceLock;

use tare_record::checksums::sha256_of;

/// SHA-256 of the program of this process, hexadecimal; `None`: it cannot be read. Read once.
#[must_use]
pub fn sha256() -> Option<String> {
    static DIGEST: OnceLock<Option<String>> = OnceLock::new();
    // The running program itself, also where its file has been replaced meanwhile.
    let read = || sha256_of(File::open("/proc/self/exe").ok()?).ok();
    DIGEST.get_or_init(read).clone()
}
