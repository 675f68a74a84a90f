//! The user's cache: where it is, and small JSON files in it; losing one costs a new measurement.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tare_record::durable;
use tare_record::regular::read_regular;

use crate::{LabError, home};

/// Limit of a file's size; real ones are far smaller.
const BYTES_MAX: u64 = 1 << 20;

/// The folder of what can be fetched or measured again: `TARE_CACHE`, else `tare` in `XDG_CACHE_HOME`, else `~/.cache/tare`.
/// `None` when none of them and no `HOME` is set.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    let folder = chosen(
        std::env::var_os("TARE_CACHE"),
        std::env::var_os("XDG_CACHE_HOME"),
        std::env::var_os("HOME"),
    )?;
    // Subprocesses run in other folders.
    Some(std::path::absolute(&folder).unwrap_or(folder))
}

/// The same, to run software from: as root, a cache that follows from the home folder must be root's.
///
/// # Errors
/// When there is none, or another user can change it.
pub(crate) fn folder_of_programs() -> Result<PathBuf, LabError> {
    let folder = folder().ok_or_else(|| {
        LabError::Plan(
            "neither TARE_CACHE nor HOME is set; set TARE_CACHE to a folder for downloads"
                .to_owned(),
        )
    })?;
    let is_named = std::env::var_os("TARE_CACHE").is_some_and(|value| !value.is_empty());
    if !is_named {
        home::check_cache(&folder)?;
    }
    Ok(folder)
}

fn chosen(
    own: Option<OsString>,
    caches: Option<OsString>,
    home: Option<OsString>,
) -> Option<PathBuf> {
    let path = |value: Option<OsString>| {
        let value = value.filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    // XDG's rule: a path that is not absolute is ignored.
    let caches = path(caches).filter(|caches| caches.is_absolute());
    path(own)
        .or_else(|| Some(caches?.join("tare")))
        .or_else(|| Some(path(home)?.join(".cache/tare")))
}

/// Reads a file; `None` when it is missing or cannot be parsed.
#[must_use]
pub fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&read_regular(path, BYTES_MAX).ok()?).ok()
}

/// Writes a file durably, and so that readers see the old file or the new one.
///
/// # Errors
/// When the file cannot be written.
pub fn write<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    durable::write_shared(path, &serde_json::to_vec_pretty(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_the_first_variable_that_says_it_has_it() {
        let cases = [
            (["/own", "/caches", "/home"], Some("/own")),
            (["own", "/caches", "/home"], Some("own")),
            (["", "/caches", "/home"], Some("/caches/tare")),
            (["", "caches", "/home"], Some("/home/.cache/tare")),
            (["", "", "/home"], Some("/home/.cache/tare")),
            (["", "", ""], None),
        ];
        for (variables, folder) in cases {
            let [own, caches, home] = variables.map(|value| Some(OsString::from(value)));
            assert_eq!(
                chosen(own, caches, home),
                folder.map(PathBuf::from),
                "{variables:?}"
            );
        }
        let home = Some(OsString::from("/home"));
        assert_eq!(
            chosen(None, None, home),
            Some(PathBuf::from("/home/.cache/tare"))
        );
        assert_eq!(chosen(None, None, None), None);
    }
}
