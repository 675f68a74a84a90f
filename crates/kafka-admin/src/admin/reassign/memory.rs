//! Throttles that Tare has set, each in a file until it is removed: nobody else's are removed, and a later command finds those of one
//! that was killed.

use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tare_record::regular::read_regular;

use super::Throttles;
use crate::admin::error::{AdminError, Result};

/// Largest file: that of tens of thousands of partitions.
const BYTES_MAX: u64 = 16 << 20;
/// Most files that are read.
const FILES_MAX: usize = 1000;

/// A folder with what was set and is not removed yet.
#[derive(Debug, Clone)]
pub struct ThrottleMemory {
    folder: PathBuf,
}

/// What was set in one cluster at once.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    cluster: String,
    throttles: Throttles,
}

impl ThrottleMemory {
    /// The folder is made when there is something to remember.
    #[must_use]
    pub fn new(folder: PathBuf) -> ThrottleMemory {
        ThrottleMemory { folder }
    }

    /// Notes what is about to be set; the file.
    pub(super) fn keep(&self, cluster: &str, throttles: &Throttles) -> Result<PathBuf> {
        let kept = Kept {
            cluster: cluster.to_owned(),
            throttles: throttles.clone(),
        };
        let number = RandomState::new().build_hasher().finish();
        let path = self.folder.join(format!("{number:016x}.json"));
        self.write(&path, &kept).map_err(|error| {
            AdminError::Input(format!(
                "the throttle cannot be noted in {} ({error}), so that nobody would know whose it is: make the folder writable, or reassign without a throttle",
                self.folder.display()
            ))
        })?;
        Ok(path)
    }

    fn write(&self, path: &Path, kept: &Kept) -> io::Result<()> {
        let mut folder = DirBuilder::new();
        folder.recursive(true).mode(0o700).create(&self.folder)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(&serde_json::to_vec(kept)?)?;
        file.sync_all()?;
        fs::File::open(&self.folder)?.sync_all()
    }

    /// What was set in a cluster and is not removed yet, with the file of each.
    pub(super) fn of(&self, cluster: &str) -> Vec<(PathBuf, Throttles)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let read = entries.take(FILES_MAX).filter_map(|entry| {
            let bytes = read_regular(&entry.path(), BYTES_MAX).ok()?;
            // One that was not written to its end was not set either.
            let kept: Kept = serde_json::from_slice(&bytes).ok()?;
            (kept.cluster == cluster).then(|| (entry.path(), kept.throttles))
        });
        read.collect()
    }

    /// Forgets what is removed.
    pub(super) fn forget<'a>(&self, files: impl IntoIterator<Item = &'a PathBuf>) {
        for file in files {
            // What stays is compared with the cluster's values again the next time.
            let _ = fs::remove_file(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_was_set_is_known_to_a_later_command_for_its_cluster_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let memory = || ThrottleMemory::new(folder.path().join("throttles"));
        let throttles = Throttles {
            brokers: BTreeMap::from([(1, 1000)]),
            topics: BTreeMap::new(),
        };
        assert!(memory().of("a").is_empty());
        let file = memory().keep("a", &throttles).unwrap();
        fs::write(file.with_file_name("cut.json"), "{\"cluster\":").unwrap();
        assert_eq!(memory().of("a"), [(file.clone(), throttles)]);
        assert!(memory().of("b").is_empty());
        memory().forget([&file]);
        assert!(memory().of("a").is_empty());
    }

    #[test]
    fn a_throttle_that_cannot_be_noted_is_not_set() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let memory = ThrottleMemory::new(file.join("throttles"));
        let error = memory.keep("a", &Throttles::default()).unwrap_err();
        assert!(error.to_string().contains("without a throttle"), "{error}");
    }
}
