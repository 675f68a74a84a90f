//! Which Tare this is: its version, its build, and the digest of the program that runs.

use std::fs::File;
use std::sync::OnceLock;

use tare_record::checksums::sha256_of;

/// Version, revision and date, which `scripts/release` names; `None`: it is no package.
pub const BUILD: Option<&str> = option_env!("TARE_BUILD");

/// The version; in packages the build.
pub const VERSION: &str = match BUILD {
    Some(build) => build,
    None => env!("CARGO_PKG_VERSION"),
};

/// Environment variable by which `tare` tells its version to a program of its own that goes on in its place.
pub const STARTED_BY: &str = "TARE_STARTED_BY";

/// The version of the `tare` that this program goes on for, where it is another one.
#[must_use]
pub fn other_starter() -> Option<String> {
    let version = std::env::var_os(STARTED_BY)?;
    (version != VERSION).then(|| version.to_string_lossy().into_owned())
}

/// SHA-256 of the program of this process, hexadecimal; `None`: it cannot be read. Read once.
#[must_use]
pub fn sha256() -> Option<String> {
    static DIGEST: OnceLock<Option<String>> = OnceLock::new();
    // The running program itself, also where its file has been replaced meanwhile.
    let read = || sha256_of(File::open("/proc/self/exe").ok()?).ok();
    DIGEST.get_or_init(read).clone()
}
