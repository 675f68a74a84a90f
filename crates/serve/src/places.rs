//! Folders and names: which texts of a request name something in the folder of runs.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};

use crate::error::{Refusal, Reply};

/// Longest name of a run or a load.
const NAME_BYTES_MAX: usize = 128;
/// The same as a regular expression.
pub const NAME_PATTERN: &str = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$";
/// Longest path of a file in a run.
const PATH_BYTES_MAX: usize = 1024;

/// Piece of a text that is read at a time.
const PIECE_BYTES: u64 = 64 << 10;

/// The folder of the server's own files below the folder of runs: starts, imports, the token.
pub const OWN_FOLDER: &str = ".serve";

/// Checks the name of a run or a load: letters, digits, `.`, `_` and `-`, not beginning with a dot.
pub fn name(text: &str) -> Reply<&str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_name = !text.is_empty()
        && text.len() <= NAME_BYTES_MAX
        && !text.starts_with('.')
        && text.chars().all(is_allowed);
    match is_name {
        true => Ok(text),
        false => Err(Refusal::not_found("there is no run or load of this name")),
    }
}

/// The folder of a run or a load: a folder, not a link.
pub fn folder(runs: &Path, id: &str) -> Reply<PathBuf> {
    let path = runs.join(name(id)?);
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => Ok(path),
        _ => Err(Refusal::not_found(format!("there is no run or load {id}"))),
    }
}

/// Opens a regular file below a folder. No component of its path may be a link or lead out of the folder.
pub fn open_below(folder: &Path, path: &str) -> Reply<File> {
    let gone = || Refusal::not_found("there is no such file in this run");
    if path.is_empty() || path.len() > PATH_BYTES_MAX {
        return Err(gone());
    }
    let opened = open_beneath(folder, path).map_err(|_| gone())?;
    let file = File::from(opened);
    match file.metadata() {
        Ok(found) if found.is_file() => Ok(file),
        _ => Err(gone()),
    }
}

fn open_beneath(folder: &Path, path: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags | OFlags::DIRECTORY, Mode::empty())?;
    let found = rustix::fs::openat2(
        &folder,
        path,
        // Opening a pipe would wait for its writer.
        flags | OFlags::NONBLOCK | OFlags::NOFOLLOW,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )?;
    Ok(found)
}

/// Text of a file, up to a limit; what is not UTF-8 is replaced.
pub fn text(mut file: File, bytes_max: u64) -> io::Result<String> {
    let whole = file.metadata()?.len();
    let mut bytes = Vec::new();
    Read::by_ref(&mut file)
        .take(bytes_max)
        .read_to_end(&mut bytes)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if whole > bytes_max {
        text.push_str(&format!("\n… cut here: the file has {whole} bytes\n"));
    }
    Ok(text)
}

/// Writes the text of a file, as [`text`] has it, in pieces.
pub fn write_text(mut file: File, bytes_max: u64, to: &mut impl Write) -> io::Result<()> {
    let whole = file.metadata()?.len();
    let mut left = Read::by_ref(&mut file).take(bytes_max);
    let mut piece = Vec::new();
    loop {
        let more = Read::by_ref(&mut left)
            .take(PIECE_BYTES)
            .read_to_end(&mut piece)?;
        // A character that goes on in the next piece waits for it.
        let end = match (more, std::str::from_utf8(&piece)) {
            (1.., Err(error)) if error.error_len().is_none() => error.valid_up_to(),
            _ => piece.len(),
        };
        let end = if end == 0 { piece.len() } else { end };
        let rest = piece.split_off(end);
        to.write_all(String::from_utf8_lossy(&piece).as_bytes())?;
        piece = rest;
        if more == 0 {
            break;
        }
    }
    if whole > bytes_max {
        write!(to, "\n… cut here: the file has {whole} bytes\n")?;
    }
    to.flush()
}

/// Sizes of the regular files below a folder, with their paths relative to it, in order; at most `entries_max`.
pub fn files_below(folder: &Path, entries_max: usize) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    let mut left = vec![PathBuf::new()];
    while let Some(below) = left.pop() {
        let Ok(entries) = std::fs::read_dir(folder.join(&below)) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = below.join(entry.file_name());
            match entry.file_type() {
                _ if found.len() + left.len() >= entries_max => break,
                Ok(kind) if kind.is_dir() => left.push(path),
                Ok(kind) if kind.is_file() => {
                    let bytes = entry.metadata().map_or(0, |found| found.len());
                    found.push((path.to_string_lossy().into_owned(), bytes));
                }
                _ => {}
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_names_nothing() {
        for text in [
            "", ".", "..", "../runs", "a/b", "a%2fb", "/etc", ".serve", "a b", "a\u{7}", "ä", "<b>",
        ] {
            assert!(name(text).is_err(), "{text}");
        }
        assert!(name(&"a".repeat(10_000)).is_err());
        assert!(name("2026-11-25T10-00-00-sidecar-2").is_ok());
        let pattern = regex::Regex::new(NAME_PATTERN).unwrap();
        for text in [
            "",
            ".a",
            "a.",
            "-",
            "_x",
            "a b",
            "é",
            "A9",
            "a\n",
            &"a".repeat(128),
            &"a".repeat(129),
        ] {
            assert_eq!(pattern.is_match(text), name(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn no_file_outside_of_a_run_is_opened() {
        let place = tempfile::tempdir().unwrap();
        let run = place.path().join("run");
        std::fs::create_dir_all(run.join("trials/0001")).unwrap();
        std::fs::write(place.path().join("secret"), "x").unwrap();
        std::fs::write(run.join("trials/0001/record.json"), "{}").unwrap();
        symlink(place.path().join("secret"), run.join("link")).unwrap();
        symlink(place.path(), run.join("folder")).unwrap();
        for path in [
            "link",
            "folder/secret",
            "../secret",
            "/etc/passwd",
            "trials",
            "trials/../../secret",
            "",
        ] {
            assert!(open_below(&run, path).is_err(), "{path}");
        }
        let file = open_below(&run, "trials/0001/record.json").unwrap();
        assert_eq!(
            text(file, 1).unwrap(),
            "{\n… cut here: the file has 2 bytes\n"
        );
    }

    #[test]
    fn a_text_in_pieces_is_the_same_as_at_once() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("log");
        for text in [
            Vec::new(),
            b"short".to_vec(),
            // Characters of three bytes lie across the pieces, and what is none is replaced.
            "…".repeat(100_000).into_bytes(),
            [
                b"x".repeat(70_000),
                vec![0xff, 0xe2, 0x80],
                b"y".repeat(70_000),
            ]
            .concat(),
            [b"x".repeat(65_535), vec![0xe2, 0x80]].concat(),
        ] {
            std::fs::write(&path, &text).unwrap();
            for bytes_max in [1000, 65_536, 1 << 20] {
                let open = || File::open(&path).unwrap();
                let mut written = Vec::new();
                write_text(open(), bytes_max, &mut written).unwrap();
                assert_eq!(
                    String::from_utf8(written).unwrap(),
                    super::text(open(), bytes_max).unwrap(),
                    "{} bytes of {}",
                    bytes_max,
                    text.len()
                );
            }
        }
    }
}
