//! Files named by the user, which may be anywhere, and files named by other files, which must be below those files' folder.

use std::path::{Path, PathBuf};

use crate::escape::escape_line;
use crate::regular::read_regular;

/// Default limit for files named by other files.
pub const FILE_BYTES_MAX: u64 = 16 << 20;
/// Default limit for files named by the user.
pub const USER_FILE_BYTES_MAX: u64 = 64 << 20;
/// Limit for password files.
const PASSWORD_BYTES_MAX: u64 = 64 << 10;

/// Resolves a file that another file names, symbolic links followed. A file from a received folder must not make Tare read (and
/// send, and keep) files elsewhere. `folder` is that of the naming file.
///
/// # Errors
/// If the file does not exist, is outside of the folder, or is not a regular file.
pub fn resolve_inside(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let path = folder.join(name);
    let path = path.to_string_lossy();
    let shown = escape_line(&path);
    let whole = |path: &Path| {
        let found = std::fs::canonicalize(path);
        found.map_err(|error| format!("{shown} cannot be read: {error}"))
    };
    let folder = match folder.as_os_str().is_empty() {
        true => whole(Path::new("."))?,
        false => whole(folder)?,
    };
    let path = whole(&folder.join(name))?;
    if !path.starts_with(&folder) {
        return Err(format!(
            "{shown} is not below {}: a file names files of its own folder only; copy it there",
            folder.display()
        ));
    }
    if !path.is_file() {
        return Err(format!("{shown} is not a regular file: name one"));
    }
    Ok(path)
}

/// Reads a file that another file names.
///
/// # Errors
/// As [`resolve_inside`], and if it has more than `bytes_max` bytes.
pub fn read_inside(folder: &Path, name: &str, bytes_max: u64) -> Result<Vec<u8>, String> {
    read(&resolve_inside(folder, name)?, bytes_max)
}

/// Reads a file that the user names, wherever it is; symbolic links are followed.
///
/// # Errors
/// If it does not exist, is not a regular file, or has more than `bytes_max` bytes.
pub fn read_user_file(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let whole = std::fs::canonicalize(path);
    let whole = whole.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    read(&whole, bytes_max)
}

/// Reads a text file that the user names.
///
/// # Errors
/// As [`read_user_file`], and if it is not UTF-8.
pub fn read_user_text(path: &Path, bytes_max: u64) -> Result<String, String> {
    let bytes = read_user_file(path, bytes_max)?;
    String::from_utf8(bytes).map_err(|_| format!("{} is not valid UTF-8 text", path.display()))
}

/// Reads the password from a file that the user names: its first line.
///
/// # Errors
/// As [`read_user_text`].
pub fn password_in(path: &Path) -> Result<String, String> {
    let text = read_user_text(path, PASSWORD_BYTES_MAX)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn read(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    read_regular(path, bytes_max).map_err(|error| {
        format!(
            "cannot read {}: {error}",
            escape_line(&path.to_string_lossy())
        )
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_names_regular_files_of_its_own_folder_only() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path().join("own");
        fs::create_dir_all(own.join("deeper")).unwrap();
        fs::write(place.path().join("secret"), "secret").unwrap();
        fs::write(own.join("deeper/data"), "data").unwrap();
        symlink("../secret", own.join("out")).unwrap();
        symlink("deeper/data", own.join("in")).unwrap();
        let read = |name: &str| read_inside(&own, name, 4);
        for good in ["deeper/data", "in", "./deeper/../deeper/data"] {
            assert_eq!(read(good), Ok(b"data".to_vec()), "{good}");
        }
        let absolute = place.path().join("secret").display().to_string();
        for bad in [
            "../secret",
            "out",
            "/etc/passwd",
            "/proc/self/environ",
            &absolute,
        ] {
            let said = read(bad).unwrap_err();
            assert!(said.contains("of its own folder only"), "{bad}: {said}");
        }
        for odd in ["deeper", ".", ""] {
            assert!(
                read(odd).unwrap_err().contains("not a regular file"),
                "{odd}"
            );
        }
        assert!(read("none").unwrap_err().contains("cannot be read"));
        fs::write(own.join("long"), "12345").unwrap();
        assert!(read("long").unwrap_err().contains("has 5 bytes"));
    }

    #[test]
    fn what_the_user_names_may_be_anywhere_but_is_regular_and_bounded() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "1234").unwrap();
        symlink(&file, place.path().join("link")).unwrap();
        assert_eq!(
            read_user_file(&place.path().join("link"), 4).unwrap(),
            b"1234"
        );
        assert!(
            read_user_file(&file, 3)
                .unwrap_err()
                .contains("has 4 bytes")
        );
        for (odd, what) in [(Path::new("/dev/zero"), "device"), (place.path(), "folder")] {
            assert!(read_user_file(odd, 4).unwrap_err().contains(what));
        }
        let pipe = place.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert!(read_user_file(&pipe, 4).unwrap_err().contains("is a pipe"));
    }
}
