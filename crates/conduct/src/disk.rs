//! Files of runs: durable writes, and locks.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use tare_record::durable;
use tare_record::regular::OPEN_UNTRUSTED;

use crate::ConductError;

/// Creates a folder and its missing parents, durably.
pub(crate) fn make_folder(path: &Path) -> Result<(), ConductError> {
    durable::make_folder(path).map_err(ConductError::file("create", path))
}

/// Writes a file durably ([`durable::write`]).
///
/// # Errors
/// When the file cannot be written.
pub fn write_synced(path: &Path, text: &[u8]) -> Result<(), ConductError> {
    durable::write(path, text).map_err(ConductError::file("write", path))
}

/// Opens a lock file: created if missing, never truncated, never through a symbolic link.
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(OPEN_UNTRUSTED)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file: remove it")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::RunFolder;

    #[test]
    fn a_lock_is_a_file_of_its_own_and_no_folder_with_a_link_is_opened() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("victim"), "precious").unwrap();
        symlink(at("victim"), at("lock")).unwrap();
        assert!(open_lock(&at("lock")).is_err());
        assert!(
            open_lock(Path::new("/dev/null")).is_err(),
            "a device is no lock"
        );
        fs::write(at("old"), "content").unwrap();
        open_lock(&at("old")).unwrap();
        assert_eq!(
            fs::read(at("old")).unwrap(),
            b"content",
            "a lock is never emptied"
        );
        assert_eq!(fs::read(at("victim")).unwrap(), b"precious");

        fs::write(at("plan.json"), "{}").unwrap();
        let said = RunFolder::open(place.path()).unwrap_err().to_string();
        assert!(said.contains("is a link"), "{said}");
    }
}
