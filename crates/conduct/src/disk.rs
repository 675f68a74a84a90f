//! Durable writes: synced so that they survive a power cut, and never through a symbolic link.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tare_record::regular::OPEN_UNTRUSTED;

use crate::ConductError;

/// Creates a folder and its missing parents, each directory entry synced. A symbolic link in its place is refused.
pub(crate) fn make_folder(path: &Path) -> Result<(), ConductError> {
    let is_there = || fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let made = match (make(path), path.parent()) {
        (Err(error), _) if error.kind() == io::ErrorKind::AlreadyExists && is_there() => Ok(()),
        (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
            make_folder(parent)?;
            make(path)
        }
        (made, _) => made,
    };
    made.map_err(ConductError::file("create", path))
}

/// Creates a folder that must not exist yet.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    #[cfg(test)]
    tests::note(tests::Step::Named(path.to_owned()));
    sync_folder_of(path)
}

/// Writes a temporary file, syncs it, and renames it: a reader sees either the old or the new content, also after a power cut. If
/// the name is a symbolic link, the link is replaced and its target is not changed.
///
/// # Errors
/// When the file cannot be written.
pub fn write_synced(path: &Path, text: &[u8]) -> Result<(), ConductError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".partial");
    let beside = PathBuf::from(beside);
    write_new(&beside, text).map_err(ConductError::file("write", &beside))?;
    rename(&beside, path)
        .and_then(|()| sync_folder_of(path))
        .map_err(ConductError::file("write", path))
}

fn write_new(path: &Path, text: &[u8]) -> io::Result<()> {
    // Left behind by a writer that was killed.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // `create_new` does not follow symbolic links.
    let mut file = File::create_new(path)?;
    file.write_all(text)?;
    file.sync_all()?;
    #[cfg(test)]
    tests::note(tests::Step::Named(path.to_owned()));
    Ok(())
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    #[cfg(test)]
    tests::note(tests::Step::Renamed(from.to_owned(), to.to_owned()));
    Ok(())
}

/// Syncs the parent folder: only then is the directory entry durable.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        None => return Ok(()),
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
    };
    File::open(folder)?.sync_all()?;
    #[cfg(test)]
    tests::note(tests::Step::Synced(folder.to_owned()));
    Ok(())
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
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::os::unix::fs::symlink;

    use tare_record::record::{RunProgress, RunState};

    use super::*;
    use crate::RunFolder;

    /// What was done to the disk.
    #[derive(Debug)]
    pub(super) enum Step {
        /// A folder was created or a synced file written: a new directory entry.
        Named(PathBuf),
        Renamed(PathBuf, PathBuf),
        Synced(PathBuf),
    }

    thread_local! {
        static STEPS: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn note(step: Step) {
        STEPS.with_borrow_mut(|steps| steps.push(step));
    }

    /// The names that survive a power cut now: those whose folder was synced after they were created.
    fn left_by_a_power_cut() -> BTreeSet<PathBuf> {
        let (mut fresh, mut kept) = (BTreeSet::new(), BTreeSet::new());
        for step in STEPS.take() {
            match step {
                Step::Named(path) => {
                    fresh.insert(path);
                }
                Step::Renamed(from, to) => {
                    fresh.remove(&from);
                    fresh.insert(to);
                }
                Step::Synced(folder) => {
                    let (now, later) = fresh
                        .into_iter()
                        .partition(|path: &PathBuf| path.parent() == Some(&folder));
                    let now: BTreeSet<PathBuf> = now;
                    kept.extend(now);
                    fresh = later;
                }
            }
        }
        kept
    }

    #[test]
    fn a_record_survives_a_power_cut_with_every_folder_that_it_lies_in() {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("some/runs");
        let folder = RunFolder::create(&out, "run").unwrap();
        let state = RunState {
            version: tare_record::FORMAT_VERSION,
            started_unix_us: 0,
            ended_unix_us: None,
            state: RunProgress::Running,
            reason: None,
            command: Vec::new(),
            resumed: 0,
        };
        folder.write("run.json", &state).unwrap();
        let trial = folder.fresh_trial(1).unwrap();
        write_synced(&trial.join("record.json"), b"{}").unwrap();
        let kept = left_by_a_power_cut();
        let run = out.join("run");
        for name in [
            "run.json",
            "trials",
            "trials/0001",
            "trials/0001/record.json",
        ] {
            assert!(kept.contains(&run.join(name)), "{name} is lost: {kept:?}");
        }
        for path in [run, out.clone(), place.path().join("some")] {
            assert!(kept.contains(&path), "{} is lost", path.display());
        }
    }

    #[test]
    fn what_a_link_points_at_stays_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("victim"), "precious").unwrap();
        fs::create_dir(at("elsewhere")).unwrap();
        for name in ["report.html", "report.html.partial", "lock"] {
            symlink(at("victim"), at(name)).unwrap();
        }
        symlink(at("elsewhere"), at("trials")).unwrap();

        write_synced(&at("report.html"), b"new").unwrap();
        assert_eq!(fs::read(at("report.html")).unwrap(), b"new");
        assert!(!at("report.html").is_symlink() && !at("report.html.partial").exists());
        assert!(open_lock(&at("lock")).is_err());
        assert!(
            open_lock(Path::new("/dev/null")).is_err(),
            "a device is no lock"
        );
        assert!(make_folder(&at("trials")).is_err());
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
