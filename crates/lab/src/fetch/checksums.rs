//! Software in the cache is what was fetched: checksums that were recorded at the fetch, verified before anything of it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tare_record::durable;
use tare_record::regular::read_regular_text;

use super::{disk, sha256};

/// The record, in the format of sha256sum, beside the files that it lists.
const RECORD: &str = "fetched.sha256";
/// Maximum size of the record, and number of files: archives of Java programs are some hundreds.
const RECORD_BYTES_MAX: u64 = 1 << 20;
const FILES_MAX: usize = 10_000;

/// What a file is by: device, inode, size, times of its last changes. The kernel sets the last one, whatever a program says.
type FileState = (u64, u64, u64, (i64, i64), (i64, i64));

/// Files that this process has read, so that a test bed does not read them again.
static READ: Mutex<BTreeMap<FileState, String>> = Mutex::new(BTreeMap::new());

/// The checksums of all files of a folder, ordered by name, as sha256sum prints them.
fn lines(folder: &Path) -> Result<String, String> {
    let mut lines = String::new();
    for name in files(folder)? {
        lines += &format!("{}  {name}\n", checksum(&folder.join(&name))?);
    }
    Ok(lines)
}

/// One checksum of a folder: that of the checksums of its files.
///
/// # Errors
/// What cannot be read.
pub(super) fn of_folder(folder: &Path) -> Result<String, String> {
    Ok(tare_record::checksums::sha256(lines(folder)?.as_bytes()))
}

/// Records the checksums of a folder that was just filled.
pub(super) fn record(folder: &Path) -> Result<(), String> {
    let lines = lines(folder)?;
    // Another run may do the same at this moment.
    durable::write_shared(&folder.join(RECORD), lines.as_bytes()).map_err(disk(folder))
}

/// Compares a folder with its record.
///
/// # Errors
/// The file that is not as it was fetched, and the next step.
pub(super) fn verify(folder: &Path, target: &str) -> Result<(), String> {
    let path = folder.join(RECORD);
    if !path.exists() {
        // Of an older Tare. Whoever could remove the record could also change it: nothing is lost.
        return record(folder);
    }
    let text = read_regular_text(&path, RECORD_BYTES_MAX).map_err(disk(&path))?;
    let mut found: BTreeSet<String> = files(folder)?.into_iter().collect();
    let changed = |name: &str| {
        format!(
            "{} is not as it was fetched, and was not run: `tare targets fetch --again {target}` fetches it anew",
            folder.join(name).display()
        )
    };
    for line in text.lines() {
        let (sum, name) = line.split_once("  ").ok_or_else(|| changed(RECORD))?;
        if !found.remove(name) || checksum(&folder.join(name))? != sum {
            return Err(changed(name));
        }
    }
    match found.first() {
        Some(added) => Err(changed(added)),
        None => Ok(()),
    }
}

/// SHA-256 of a file, read once as long as it stays as it is.
pub(super) fn checksum(file: &Path) -> Result<String, String> {
    let of = fs::metadata(file).map_err(disk(file))?;
    let state = (
        of.dev(),
        of.ino(),
        of.size(),
        (of.mtime(), of.mtime_nsec()),
        (of.ctime(), of.ctime_nsec()),
    );
    let mut read = READ.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(sum) = read.get(&state) {
        return Ok(sum.clone());
    }
    let sum = sha256(file).map_err(disk(file))?;
    read.insert(state, sum.clone());
    Ok(sum)
}

/// All files below a folder, but for its record; a link is an error, since what it leads to is not recorded.
fn files(folder: &Path) -> Result<Vec<String>, String> {
    let mut open = vec![PathBuf::new()];
    let mut found = Vec::new();
    while let Some(within) = open.pop() {
        let path = folder.join(&within);
        for entry in fs::read_dir(&path).map_err(disk(&path))? {
            let entry = entry.map_err(disk(&path))?;
            let kind = entry.file_type().map_err(disk(&path))?;
            let name = within.join(entry.file_name());
            if kind.is_dir() {
                open.push(name);
            } else if kind.is_file() && found.len() < FILES_MAX {
                found.push(name.to_string_lossy().into_owned());
            } else {
                return Err(format!(
                    "{} is no file, or there are more than {FILES_MAX}: remove {}, and it is fetched anew",
                    folder.join(name).display(),
                    folder.display()
                ));
            }
        }
    }
    found.retain(|name| !name.starts_with(RECORD));
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_an_added_and_a_missing_file_are_named_with_the_next_step() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        fs::create_dir(folder.join("jars")).unwrap();
        let (program, archive) = (folder.join("program"), folder.join("jars/a.jar"));
        fs::write(&program, "one").unwrap();
        fs::write(&archive, "two").unwrap();
        record(folder).unwrap();
        let said = || verify(folder, "it").err();
        assert_eq!(said(), None);
        assert_eq!(said(), None, "from what was read before");

        // The same length and, as whoever changes it can have it, the same time.
        let time = fs::metadata(&program).unwrap().modified().unwrap();
        fs::write(&program, "ONE").unwrap();
        let file = fs::File::options().write(true).open(&program).unwrap();
        file.set_modified(time).unwrap();
        let of_program = said().unwrap();
        assert!(
            of_program.contains("program is not as it was fetched"),
            "{of_program}"
        );
        assert!(
            of_program.contains("targets fetch --again it"),
            "{of_program}"
        );
        fs::write(&program, "one").unwrap();
        assert_eq!(said(), None);

        fs::write(folder.join("jars/b.jar"), "").unwrap();
        assert!(said().unwrap().contains("jars/b.jar"));
        fs::remove_file(folder.join("jars/b.jar")).unwrap();
        fs::remove_file(&archive).unwrap();
        assert!(said().unwrap().contains("jars/a.jar"));
        std::os::unix::fs::symlink(&program, &archive).unwrap();
        assert!(said().unwrap().contains("is no file"));
    }

    #[test]
    fn a_folder_has_another_checksum_when_a_file_changes_moves_or_is_added() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        fs::create_dir(folder.join("golden")).unwrap();
        fs::write(folder.join("target.yaml"), "one").unwrap();
        let first = of_folder(folder).unwrap();
        assert_eq!(first, of_folder(folder).unwrap());
        let mut known = vec![first.clone()];
        let mut differs = |what: &str| {
            let now = of_folder(folder).unwrap();
            assert!(!known.contains(&now), "{what}");
            known.push(now);
        };
        fs::write(folder.join("golden/a.yaml"), "").unwrap();
        differs("a file more");
        fs::rename(folder.join("golden/a.yaml"), folder.join("a.yaml")).unwrap();
        differs("it is elsewhere");
        fs::write(folder.join("target.yaml"), "two").unwrap();
        differs("another content");
        fs::write(folder.join("target.yaml"), "one").unwrap();
        fs::remove_file(folder.join("a.yaml")).unwrap();
        assert_eq!(first, of_folder(folder).unwrap());
    }

    #[test]
    fn what_an_older_tare_fetched_is_recorded_when_it_is_first_used() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("program"), "one").unwrap();
        verify(place.path(), "it").unwrap();
        fs::write(place.path().join("program"), "two").unwrap();
        assert!(verify(place.path(), "it").is_err());
    }
}
