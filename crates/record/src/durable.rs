//! Durable writes: synced so that they survive a power cut, and never through a symbolic link.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Creates a folder and its missing parents, each directory entry synced. A symbolic link in its place is refused.
///
/// # Errors
/// Of the system.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let is_there = || fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    match (make(path), path.parent()) {
        (Err(error), _) if error.kind() == io::ErrorKind::AlreadyExists && is_there() => Ok(()),
        (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
            make_folder(parent)?;
            make(path)
        }
        (made, _) => made,
    }
}

/// Creates a folder that must not exist yet.
///
/// # Errors
/// Of the system.
pub fn make(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    #[cfg(test)]
    tests::note(tests::Step::Named(path.to_owned()));
    sync_folder_of(path)
}

/// Writes a temporary file, syncs it, and renames it: a reader sees either the old or the new content, also after a power cut. If
/// the name is a symbolic link, the link is replaced and its target is not changed. For files that only this process writes: what a
/// killed writer left is replaced.
///
/// # Errors
/// Of the system.
pub fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let beside = beside(path, "partial");
    // Left behind by a writer that was killed.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    replace(path, &beside, text)
}

/// As [`write`], for files that several processes may write at once: the last one wins, and no reader sees a part.
///
/// # Errors
/// Of the system.
pub fn write_shared(path: &Path, text: &[u8]) -> io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let end = format!("{}-{number}.new", std::process::id());
    replace(path, &beside(path, &end), text)
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(end);
    PathBuf::from(name)
}

fn replace(path: &Path, beside: &Path, text: &[u8]) -> io::Result<()> {
    let written = write_new(beside, text).and_then(|()| rename(beside, path));
    written.inspect_err(|_| {
        // The first error is the one to report.
        let _ = fs::remove_file(beside);
    })?;
    sync_folder_of(path)
}

fn write_new(path: &Path, text: &[u8]) -> io::Result<()> {
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
///
/// # Errors
/// Of the system.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::os::unix::fs::symlink;

    use super::*;

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
    fn a_file_survives_a_power_cut_with_every_folder_that_it_lies_in() {
        let place = tempfile::tempdir().unwrap();
        let trial = place.path().join("some/runs/run/trials/0001");
        make_folder(&trial).unwrap();
        write(&trial.join("record.json"), b"{}").unwrap();
        write_shared(&trial.join("clusters.json"), b"{}").unwrap();
        let kept = left_by_a_power_cut();
        for name in [
            "some",
            "some/runs",
            "some/runs/run",
            "some/runs/run/trials",
            "some/runs/run/trials/0001",
            "some/runs/run/trials/0001/record.json",
            "some/runs/run/trials/0001/clusters.json",
        ] {
            let path = place.path().join(name);
            assert!(kept.contains(&path), "{name} is lost: {kept:?}");
        }
    }

    #[test]
    fn what_a_link_points_at_stays_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("victim"), "precious").unwrap();
        fs::create_dir(at("elsewhere")).unwrap();
        for name in ["report.html", "report.html.partial", "shared.json"] {
            symlink(at("victim"), at(name)).unwrap();
        }
        symlink(at("elsewhere"), at("trials")).unwrap();

        write(&at("report.html"), b"new").unwrap();
        write_shared(&at("shared.json"), b"new").unwrap();
        for name in ["report.html", "shared.json"] {
            assert_eq!(fs::read(at(name)).unwrap(), b"new");
            assert!(!at(name).is_symlink());
        }
        assert!(!at("report.html.partial").exists());
        assert!(make_folder(&at("trials")).is_err());
        assert_eq!(fs::read(at("victim")).unwrap(), b"precious");
    }

    #[test]
    fn what_cannot_be_written_leaves_the_old_file_and_nothing_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("folder");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("inside"), "").unwrap();
        assert!(write_shared(&folder, b"new").is_err());
        assert!(write(&folder, b"new").is_err());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        assert!(folder.join("inside").exists());
    }
}
