//! A user's own objects in a running mesh: files of a folder, copied to the control plane whenever they change.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use tare_lab::environment::TestBed;
use tare_record::counter::REJECTION_REASONS;
use tare_record::files::read_user_file;
use tare_record::regular::write_new;

use crate::exit::bad_input;

/// Largest file of objects.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Most files of a folder.
const FILES_MAX: usize = 1000;
/// How long after a change rejections of it are looked for.
const WATCHED: Duration = Duration::from_secs(15);
/// Interval of looking for them.
const PAUSE: Duration = Duration::from_secs(1);
/// Beginning of the copies' names: they replace none of the mesh's own files.
const PREFIX: &str = "user-";

/// A folder of objects, and the folders of the control plane's instances.
#[derive(Debug)]
pub struct Objects {
    from: PathBuf,
    /// Folder of objects below that of an instance.
    below: String,
    into: Vec<PathBuf>,
    seen: Files,
    /// Why the folder could not be read the last time.
    unreadable: Option<String>,
}

/// Files of objects by path, each with its time of change and its length.
type Files = BTreeMap<PathBuf, (SystemTime, u64)>;

impl Objects {
    /// Objects of `from` for the mesh of an arm, whose instances have the folder `below` for them.
    ///
    /// # Errors
    /// When there is no such folder, or the arm has no control plane that takes objects.
    pub fn new(from: &Path, below: Option<String>) -> anyhow::Result<Objects> {
        let below = below.ok_or_else(|| {
            bad_input(
                "--objects: this arm has no control plane that takes objects: name an arm with such a mesh (docs/MESHES.md)",
            )
        })?;
        files(from).map_err(bad_input)?;
        Ok(Objects {
            from: from.to_owned(),
            below,
            into: Vec::new(),
            seen: Files::new(),
            unreadable: None,
        })
    }

    /// Adds an instance of the control plane by its folder.
    pub fn add_instance(&mut self, folder: &Path) {
        self.into.push(folder.join(&self.below));
    }

    /// Copies what has changed since the last time; returns what was done, a line for each file.
    ///
    /// # Errors
    /// When the control plane's folder cannot be written.
    pub fn apply(&mut self) -> anyhow::Result<Vec<String>> {
        let files = match files(&self.from) {
            Ok(files) => files,
            // An editor may just be replacing it. It is said once.
            Err(why) => {
                let is_new = self.unreadable.as_ref() != Some(&why);
                self.unreadable = Some(why.clone());
                return Ok(if is_new { vec![why] } else { Vec::new() });
            }
        };
        self.unreadable = None;
        let mut lines = Vec::new();
        for (path, meta) in &files {
            if self.seen.get(path) == Some(meta) {
                continue;
            }
            match read_user_file(path, FILE_BYTES_MAX) {
                Ok(text) => {
                    self.write(path, &text)?;
                    lines.push(format!("applied {}", path.display()));
                }
                Err(why) => lines.push(format!("not applied: {why}")),
            }
        }
        for path in self.seen.keys().filter(|path| !files.contains_key(*path)) {
            for folder in &self.into {
                let _ = fs::remove_file(folder.join(copy_name(path)));
            }
            lines.push(format!("removed {}", path.display()));
        }
        self.seen = files;
        Ok(lines)
    }

    /// Control planes see a renamed file as a whole, and ignore names that begin with a dot.
    fn write(&self, path: &Path, text: &[u8]) -> anyhow::Result<()> {
        for folder in &self.into {
            let name = copy_name(path);
            let partial = folder.join(format!(".{name}"));
            let whole = folder.join(name);
            // The folder is the control plane's: a link in it is replaced, not followed.
            write_new(&partial, 0o644, text)
                .and_then(|()| fs::rename(&partial, &whole))
                .with_context(|| format!("cannot write {}", whole.display()))?;
        }
        Ok(())
    }
}

/// What the control plane and the proxies have rejected, as they say it.
#[derive(Debug, Default)]
pub struct Rejections {
    /// Number of times by instance and reason.
    seen: BTreeMap<(String, String), f64>,
    changed: Option<Instant>,
    read: Option<Instant>,
}

impl Rejections {
    /// Looks for rejections during the next seconds.
    pub fn expect(&mut self) {
        self.changed = Some(Instant::now());
    }

    /// New rejections, a line for each.
    pub fn new_lines(&mut self, bed: &mut dyn TestBed) -> Vec<String> {
        let within = |since: Option<Instant>, limit| since.is_some_and(|at| at.elapsed() < limit);
        if !within(self.changed, WATCHED) || within(self.read, PAUSE) {
            return Vec::new();
        }
        self.read = Some(Instant::now());
        // An instance that does not run now is read the next time.
        let all = bed.counters().unwrap_or_default();
        let mut lines = Vec::new();
        for counters in all {
            for reading in counters.readings {
                let Some(reason) = reading.label.filter(|_| reading.name == REJECTION_REASONS)
                else {
                    continue;
                };
                let seen = (counters.instance.clone(), reason);
                let before = self.seen.get(&seen).copied().unwrap_or_default();
                if reading.value > before {
                    lines.push(format!("rejected ({}): {}", seen.0, seen.1));
                    self.seen.insert(seen, reading.value);
                }
            }
        }
        lines
    }
}

/// The YAML files of a folder.
fn files(from: &Path) -> Result<Files, String> {
    let unreadable = |error| format!("{} cannot be read: {error}", from.display());
    let mut files = Files::new();
    for entry in fs::read_dir(from).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_yaml = ["yaml", "yml"]
            .iter()
            .any(|end| path.extension() == Some(OsStr::new(end)));
        let Ok(meta) = fs::metadata(&path) else {
            continue;
        };
        if is_yaml && meta.is_file() {
            let changed = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.insert(path, (changed, meta.len()));
        }
        if files.len() > FILES_MAX {
            return Err(format!(
                "{} has more than {FILES_MAX} files",
                from.display()
            ));
        }
    }
    Ok(files)
}

fn copy_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{PREFIX}{name}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says where by panicking")]

    use super::*;

    #[test]
    fn files_are_applied_when_they_change_and_removed_when_they_go() {
        let folder = tempfile::tempdir().unwrap();
        let (from, into) = (folder.path().join("from"), folder.path().join("into"));
        fs::create_dir(&from).unwrap();
        fs::create_dir(&into).unwrap();
        fs::write(into.join("services.yaml"), "own").unwrap();
        let mut objects = Objects::new(&from, Some("into".to_owned())).unwrap();
        objects.add_instance(folder.path());
        assert!(objects.apply().unwrap().is_empty());
        fs::write(from.join("services.yaml"), "kind: VirtualService").unwrap();
        fs::write(from.join("notes.txt"), "no object").unwrap();
        assert_eq!(objects.apply().unwrap().len(), 1);
        assert!(objects.apply().unwrap().is_empty(), "nothing has changed");
        let copy = into.join("user-services.yaml");
        assert_eq!(fs::read_to_string(&copy).unwrap(), "kind: VirtualService");
        fs::write(from.join("services.yaml"), "kind: DestinationRule").unwrap();
        assert_eq!(objects.apply().unwrap().len(), 1);
        assert_eq!(fs::read_to_string(&copy).unwrap(), "kind: DestinationRule");
        fs::remove_file(from.join("services.yaml")).unwrap();
        assert!(objects.apply().unwrap()[0].starts_with("removed"));
        assert!(!copy.exists());
        fs::remove_dir_all(&from).unwrap();
        assert_eq!(objects.apply().unwrap().len(), 1, "it is gone");
        assert!(objects.apply().unwrap().is_empty(), "said once");
        assert_eq!(
            fs::read_to_string(into.join("services.yaml")).unwrap(),
            "own"
        );
    }

    #[test]
    fn a_folder_that_is_not_there_and_an_arm_without_a_control_plane_are_bad_input() {
        let missing = Objects::new(Path::new("/no/such"), Some("objects".to_owned()));
        assert!(missing.unwrap_err().to_string().contains("/no/such"));
        let no_mesh = Objects::new(Path::new("/tmp"), None);
        assert!(no_mesh.unwrap_err().to_string().contains("control plane"));
    }
}
