//! Small files of the user's cache: what can be measured again, if need be.

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tare_schema::regular::read_regular;

/// What is kept is far smaller.
const BYTES_MAX: u64 = 1 << 20;

/// What was written; `None` when there is nothing, or nothing that can be read.
#[must_use]
pub fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&read_regular(path, BYTES_MAX).ok()?).ok()
}

/// Writes it, for readers that see the old file or the whole new one.
///
/// # Errors
/// What the disk did not take.
pub fn write<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    // A name of its own first: two processes may do this at once.
    let whole = path.with_extension(format!("{}.new", std::process::id()));
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&whole, serde_json::to_vec_pretty(value)?))
        .and_then(|()| fs::rename(&whole, path));
    written.inspect_err(|_| {
        let _ = fs::remove_file(&whole);
    })
}
