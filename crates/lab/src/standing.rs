//! Test beds that were put up to look around in: what is known of each, for whoever wants to enter it later.
//!
//! It lies in the folder of the bed's keeper, so that it goes when the bed goes, however that happens.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::environment::Inhabitant;
use crate::keeper;

/// File in the keeper's folder.
const FILE: &str = "standing.json";

/// Longest such file that is read.
const BYTES_MAX: u64 = 1 << 20;

/// A bed that is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Process that holds it: a SIGTERM takes it down.
    pub holder_pid: u32,
    /// Experiment.
    pub experiment: String,
    /// Arm.
    pub arm: String,
    /// Level.
    pub level: String,
    /// `namespaces` or `loopback`.
    pub addressing: String,
    /// What is in its pods.
    pub inhabitants: Vec<Inhabitant>,
    /// Where the callers of edges send their first byte, by edge.
    pub endpoints: BTreeMap<String, Vec<String>>,
}

impl Standing {
    /// Writes it where [`all`] finds it; the folder is that of the bed's keeper.
    ///
    /// # Errors
    /// When the folder does not take it.
    pub fn publish(&self, folder: &Path) -> Result<(), LabError> {
        let path = folder.join(FILE);
        let what = format!("write {}", path.display());
        let text = serde_json::to_vec_pretty(self).map_err(std::io::Error::other);
        // Whole or not at all: somebody may be reading.
        let fresh = folder.join(format!("{FILE}.new"));
        text.and_then(|text| fs::write(&fresh, text))
            .and_then(|()| fs::rename(&fresh, &path))
            .map_err(LabError::io(what))
    }
}

/// The beds that are up, those of this user, oldest holder first. `base` as the environment's; `None`: the usual one.
#[must_use]
pub fn all(base: Option<&Path>) -> Vec<Standing> {
    let base = base.map_or_else(keeper::default_base, Path::to_owned);
    let Ok(entries) = fs::read_dir(base) else {
        return Vec::new();
    };
    let mut found: Vec<Standing> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("tare-"))
        .filter_map(|entry| read(&entry.path().join(FILE)))
        .filter(|standing| crate::process::stat(standing.holder_pid).is_some_and(|p| p.is_alive()))
        .collect();
    found.sort_by_key(|standing| standing.holder_pid);
    found
}

/// Removes what crashed runs left behind (a power cut, a killed keeper), only what Tare made: the folders removed.
#[must_use]
pub fn clean(base: Option<&Path>) -> Vec<PathBuf> {
    keeper::sweep(&base.map_or_else(keeper::default_base, Path::to_owned))
}

fn read(path: &Path) -> Option<Standing> {
    let length = fs::metadata(path).ok()?.len();
    if length > BYTES_MAX {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says where by panicking")]

    use super::*;

    fn standing(holder_pid: u32) -> Standing {
        Standing {
            holder_pid,
            experiment: "study/small".into(),
            arm: "direct".into(),
            level: "400/s".into(),
            addressing: "namespaces".into(),
            inhabitants: Vec::new(),
            endpoints: BTreeMap::new(),
        }
    }

    #[test]
    fn a_bed_is_found_while_its_holder_lives_and_rubbish_is_not_a_bed() {
        let base = tempfile::tempdir().unwrap();
        for (name, pid) in [("tare-1-a", std::process::id()), ("tare-2-b", u32::MAX - 1)] {
            let folder = base.path().join(name);
            fs::create_dir(&folder).unwrap();
            standing(pid).publish(&folder).unwrap();
        }
        let rubbish = base.path().join("tare-3-c");
        fs::create_dir(&rubbish).unwrap();
        fs::write(rubbish.join(FILE), "{").unwrap();
        let found = all(Some(base.path()));
        assert_eq!(found, [standing(std::process::id())]);
    }
}
