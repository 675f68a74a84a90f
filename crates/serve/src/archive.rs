//! Runs as archives (tar): written out, and taken in with limits.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use tar::{Archive, Builder, EntryType, Header};

use crate::error::{Refusal, Reply};
use crate::places;

/// Bytes of a received archive.
pub const RECEIVED_BYTES_MAX: u64 = 256 << 20;
/// Bytes of all files in it.
const UNPACKED_BYTES_MAX: u64 = 2 << 30;
/// Files and folders in it.
const ENTRIES_MAX: usize = 100_000;
/// Unpacked bytes for one received byte, beyond the first megabyte.
const RATIO_MAX: u64 = 100;
/// Bytes that an archive may have whatever its ratio.
const RATIO_FREE_BYTES: u64 = 1 << 20;
/// Deepest folder in it.
const DEPTH_MAX: usize = 12;

/// Writes the regular files of a folder as a tar, below its name.
pub fn write(folder: &Path, id: &str, to: impl io::Write) -> io::Result<()> {
    let mut archive = Builder::new(to);
    for (path, _) in places::files_below(folder, ENTRIES_MAX) {
        let Ok(file) = places::open_below(folder, &path) else {
            // Removed meanwhile.
            continue;
        };
        let bytes = file.metadata()?.len();
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_size(bytes);
        // A file that grows is cut at the length that was announced; one that shrank is filled up.
        let content = file.take(bytes).chain(io::repeat(0)).take(bytes);
        archive.append_data(&mut header, format!("{id}/{path}"), content)?;
    }
    archive.finish()
}

/// Unpacks a received archive of a run, and gives it a name that is free; the name.
pub fn import(runs: &Path, own: &Path, mut received: File) -> Reply<String> {
    let received_bytes = received.metadata()?.len();
    received.seek(SeekFrom::Start(0))?;
    let mut magic = [0; 2];
    let is_packed = received.read(&mut magic)? == 2 && magic == [0x1f, 0x8b];
    received.seek(SeekFrom::Start(0))?;
    let place = tempfile::Builder::new().prefix("import-").tempdir_in(own)?;
    let bytes_max =
        UNPACKED_BYTES_MAX.min(RATIO_FREE_BYTES + received_bytes.saturating_mul(RATIO_MAX));
    let file = BufReader::new(received);
    let content: Box<dyn Read> = match is_packed {
        true => Box::new(GzDecoder::new(file)),
        false => Box::new(file),
    };
    let folder = place.path().join("run");
    let name = unpack(content, &folder, bytes_max)?;
    tare_report::read(&folder).map_err(|error| {
        Refusal::invalid(format!("the archive has no run that can be read: {error}"))
    })?;
    tare_lab::seal::mark_imported(&folder)?;
    for number in 1..1000 {
        let id = match number {
            1 => name.clone(),
            n => format!("{name}-{n}"),
        };
        let path = runs.join(&id);
        // A folder that exists and is not empty is not replaced by this.
        if !path.exists() && fs::rename(&folder, &path).is_ok() {
            return Ok(id);
        }
    }
    Err(Refusal::conflict("too many runs have this name"))
}

/// Unpacks regular files; the name of the folder that they are in.
fn unpack(content: impl Read, into: &Path, bytes_max: u64) -> Reply<String> {
    let bad =
        |error: io::Error| Refusal::invalid(format!("it is no archive that can be read: {error}"));
    let mut archive = Archive::new(content.take(bytes_max + (ENTRIES_MAX as u64) * 1024));
    let (mut bytes, mut entries) = (0, 0);
    let mut name: Option<String> = None;
    fs::create_dir(into)?;
    for entry in archive.entries().map_err(bad)? {
        let mut entry = entry.map_err(bad)?;
        entries += 1;
        bytes += entry.size();
        if entries > ENTRIES_MAX || bytes > bytes_max {
            return Err(Refusal::new(
                axum::http::StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "the archive has more than {ENTRIES_MAX} entries or unpacks to more than {bytes_max} bytes"
                ),
            ));
        }
        let path = entry.path().map_err(bad)?.into_owned();
        match entry.header().entry_type() {
            EntryType::Regular => {}
            EntryType::Directory => continue,
            other => {
                return Err(Refusal::invalid(format!(
                    "{} is no regular file ({other:?}): a run has no others",
                    path.display()
                )));
            }
        }
        let (top, below) = split(&path).ok_or_else(|| {
            Refusal::invalid(format!(
                "{} is no path of a file in the folder of a run",
                path.display()
            ))
        })?;
        if name.get_or_insert_with(|| top.clone()) != &top {
            return Err(Refusal::invalid(
                "the archive has more than one folder: send one run",
            ));
        }
        let target = into.join(&below);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = BufWriter::new(File::create_new(&target).map_err(bad)?);
        io::copy(&mut entry, &mut file).map_err(bad)?;
        file.into_inner().map_err(|error| bad(error.into_error()))?;
    }
    name.ok_or_else(|| Refusal::invalid("the archive is empty"))
}

/// The first folder of a path, which becomes the name of the run, and the rest.
fn split(path: &Path) -> Option<(String, PathBuf)> {
    let parts: Option<Vec<&str>> = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(name) => name
                .to_str()
                .filter(|name| !name.chars().any(char::is_control)),
            _ => None,
        })
        .collect();
    let parts = parts?;
    let (top, below) = parts.split_first()?;
    let is_fine = !below.is_empty() && below.len() <= DEPTH_MAX && places::name(top).is_ok();
    is_fine.then(|| ((*top).to_owned(), below.iter().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(entries: &[(&str, EntryType, usize)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (path, kind, bytes) in entries {
            let mut header = Header::new_gnu();
            // As a hostile archive has it: the library itself refuses such paths.
            let name = header.as_old_mut();
            name.name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(*bytes as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder
                .append(&header, io::repeat(b'x').take(*bytes as u64))
                .unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn unpacked(
        entries: &[(&str, EntryType, usize)],
        bytes_max: u64,
    ) -> Result<Vec<(String, u64)>, String> {
        let place = tempfile::tempdir().unwrap();
        let into = place.path().join("run");
        let found = unpack(archive(entries).as_slice(), &into, bytes_max);
        assert_eq!(
            fs::read_dir(place.path()).unwrap().count(),
            1,
            "something was written beside it"
        );
        found
            .map(|_| places::files_below(&into, 100))
            .map_err(|refusal| refusal.error.message)
    }

    #[test]
    fn regular_files_of_one_folder_are_unpacked() {
        let entries = [
            ("run/", EntryType::Directory, 0),
            ("run/plan.json", EntryType::Regular, 3),
            ("run/trials/0001/record.json", EntryType::Regular, 2),
        ];
        let found = unpacked(&entries, 1000).unwrap();
        assert_eq!(
            found,
            [
                ("plan.json".to_owned(), 3),
                ("trials/0001/record.json".to_owned(), 2)
            ]
        );
    }

    #[test]
    fn links_devices_and_paths_that_lead_elsewhere_are_refused() {
        for (path, kind) in [
            ("run/a", EntryType::Symlink),
            ("run/a", EntryType::Link),
            ("run/a", EntryType::Char),
            ("run/a", EntryType::Fifo),
            ("../a", EntryType::Regular),
            ("run/../../a", EntryType::Regular),
            ("/etc/a", EntryType::Regular),
            ("a", EntryType::Regular),
            (".serve/token", EntryType::Regular),
            ("run/a\u{1b}", EntryType::Regular),
        ] {
            assert!(
                unpacked(&[(path, kind, 0)], 1000).is_err(),
                "{path} {kind:?}"
            );
        }
    }

    #[test]
    fn an_archive_that_grows_or_has_two_runs_is_refused() {
        let large = [
            ("run/a", EntryType::Regular, 900),
            ("run/b", EntryType::Regular, 200),
        ];
        assert!(
            unpacked(&large, 1000)
                .unwrap_err()
                .contains("more than 1000 bytes")
        );
        let two = [
            ("one/a", EntryType::Regular, 1),
            ("two/a", EntryType::Regular, 1),
        ];
        assert!(
            unpacked(&two, 1000)
                .unwrap_err()
                .contains("more than one folder")
        );
        let twice = [
            ("one/a", EntryType::Regular, 1),
            ("one/a", EntryType::Regular, 1),
        ];
        assert!(unpacked(&twice, 1000).is_err());
    }
}
