//! Small JSON files in the user's cache; losing one costs a new measurement.

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tare_schema::regular::read_regular;

/// Limit of a file's size; real ones are far smaller.
const BYTES_MAX: u64 = 1 << 20;

/// Reads a file; `None` when it is missing or cannot be parsed.
#[must_use]
pub fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&read_regular(path, BYTES_MAX).ok()?).ok()
}

/// Writes a file atomically: readers see the old file or the new one.
///
/// # Errors
/// When the file cannot be written.
pub fn write<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    // A temporary name per process: two processes may write at once.
    let whole = path.with_extension(format!("{}.new", std::process::id()));
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&whole, serde_json::to_vec_pretty(value)?))
        .and_then(|()| fs::rename(&whole, path));
    written.inspect_err(|_| {
        let _ = fs::remove_file(&whole);
    })
}
