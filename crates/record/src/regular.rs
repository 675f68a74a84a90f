//! Reads files from untrusted folders: regular files only, without following symbolic links, of limited size.

use std::fs::{File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Take, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// Tries of [`lock_new`], and the wait between them.
const LOCK_TRIES: u32 = 50;
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// Flags of `open` for an untrusted file: symbolic links are not followed, and opening a FIFO does not block.
pub const OPEN_UNTRUSTED: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;

/// Limit for a JSON file of a run; records have some kilobytes.
pub const JSON_BYTES_MAX: u64 = 64 << 20;

/// Limit for all records of a run together.
pub const RECORDS_BYTES_MAX: u64 = 256 << 20;

/// Opens a regular file of at most `bytes_max` bytes. Reading stops there even if the file grows.
///
/// # Errors
/// If it cannot be opened, is not a regular file, or is larger. The error names the file, its type, and the limit.
pub fn open_regular(path: &Path, bytes_max: u64) -> io::Result<Take<File>> {
    // Opening a device can have effects, so the type is checked before.
    check(path, &path.symlink_metadata()?, bytes_max)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OPEN_UNTRUSTED)
        .open(path)?;
    // The file may have been replaced in between.
    check(path, &file.metadata()?, bytes_max)?;
    Ok(file.take(bytes_max))
}

/// Opens a regular file of any length, such as a log that grows. Its reader has a limit.
///
/// # Errors
/// If it cannot be opened or is not a regular file.
pub fn open_growing(path: &Path) -> io::Result<File> {
    open_regular(path, u64::MAX).map(Take::into_inner)
}

/// Opens a regular file to write at its end, and makes it if there is none. What a link or a pipe in its place leads to is not touched.
///
/// # Errors
/// As [`open_growing`].
pub fn open_to_append(path: &Path, mode: u32) -> io::Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(mode)
        .custom_flags(OPEN_UNTRUSTED)
        .open(path)?;
    check(path, &file.metadata()?, u64::MAX)?;
    Ok(file)
}

/// Replaces what is at a path by a file with these bytes: a link or a pipe itself, not what it leads to.
///
/// # Errors
/// If it cannot be written.
pub fn write_new(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    // Whatever the umask.
    file.set_permissions(Permissions::from_mode(mode))?;
    file.write_all(bytes)
}

/// Reads a regular file of at most `bytes_max` bytes.
///
/// # Errors
/// As [`open_regular`].
pub fn read_regular(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path, bytes_max)?;
    // Some files (in /proc) report no length, and others grow.
    file.set_limit(bytes_max.saturating_add(1));
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(refusal(path, "has more bytes", bytes_max));
    }
    Ok(bytes)
}

/// Reads a regular file of text.
///
/// # Errors
/// As [`open_regular`], and if it is not UTF-8.
pub fn read_regular_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(read_regular(path, bytes_max)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Locks a file for this process alone, as the one that measures. A process that only asks whether somebody does has the lock for a
/// moment, so this tries for half a second.
///
/// # Errors
/// When another process keeps the lock, or files cannot be locked there.
pub fn lock_new(file: &File) -> Result<(), TryLockError> {
    let mut tries = 1;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if tries < LOCK_TRIES => {
                std::thread::sleep(LOCK_INTERVAL);
                tries += 1;
            }
            ended => return ended,
        }
    }
}

fn check(path: &Path, found: &Metadata, bytes_max: u64) -> io::Result<()> {
    let kind = found.file_type();
    let what = match () {
        () if kind.is_file() && found.len() <= bytes_max => return Ok(()),
        () if kind.is_file() => format!("has {} bytes", found.len()),
        () if kind.is_symlink() => "is a link".to_owned(),
        () if kind.is_dir() => "is a folder".to_owned(),
        () if kind.is_fifo() => "is a pipe".to_owned(),
        () if kind.is_socket() => "is a socket".to_owned(),
        () => "is a device".to_owned(),
    };
    Err(refusal(path, &what, bytes_max))
}

fn refusal(path: &Path, what: &str, bytes_max: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!(
            "{} {what}: put a regular file of at most {bytes_max} bytes there",
            path.display()
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn only_a_regular_file_within_its_bound_is_read_and_nothing_else_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("plain"), "12345").unwrap();
        symlink(at("plain"), at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        fs::File::create(at("sparse"))
            .and_then(|file| file.set_len(1 << 40))
            .unwrap();

        assert_eq!(read_regular(&at("plain"), 5).unwrap(), b"12345");
        assert_eq!(read_regular_text(&at("plain"), 5).unwrap(), "12345");
        for (name, bytes_max, what) in [
            ("plain", 4, "plain has 5 bytes"),
            ("link", 5, "link is a link"),
            ("zero", 5, "zero is a link"),
            ("folder", 5, "folder is a folder"),
            ("socket", 5, "socket is a socket"),
            ("pipe", 5, "pipe is a pipe"),
            ("sparse", 5, "sparse has 1099511627776 bytes"),
            ("/dev/zero", 5, "/dev/zero is a device"),
            ("/proc/self/status", 5, "status has more bytes"),
        ] {
            let said = read_regular(&at(name), bytes_max).unwrap_err().to_string();
            let bound = format!("at most {bytes_max} bytes");
            assert!(said.contains(what) && said.contains(&bound), "{said}");
        }
        let missing = read_regular(&at("missing"), 5).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_link_or_a_pipe_in_the_place_of_a_file_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("of-others"), "kept").unwrap();
        symlink(at("of-others"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        // With a reader a pipe could be opened.
        let _reader = OpenOptions::new()
            .read(true)
            .custom_flags(OPEN_UNTRUSTED)
            .open(at("pipe"))
            .unwrap();
        for name in ["link", "dangling", "pipe"] {
            assert!(open_to_append(&at(name), 0o600).is_err(), "{name}");
            write_new(&at(name), 0o640, b"new").unwrap();
            assert_eq!(read_regular(&at(name), 3).unwrap(), b"new");
            let mode = fs::metadata(at(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o640);
        }
        assert_eq!(fs::read(at("of-others")).unwrap(), b"kept");
        assert!(!at("nowhere").exists());
        open_to_append(&at("link"), 0o600)
            .and_then(|mut file| file.write_all(b"er"))
            .unwrap();
        assert_eq!(read_regular(&at("link"), 5).unwrap(), b"newer");
    }
}
