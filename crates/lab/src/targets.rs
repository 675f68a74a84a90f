//! The targets that this machine can start: the built-in folders, overridden by the user's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub use tare_experiment::catalog::Target;
use tare_experiment::catalog::{MESH_FILE, TARGET_FILE};
use tare_experiment::problem::hint;
use tare_experiment::target::{OwnProgram, split_name};

use crate::LabError;
use crate::home::{check_target, home};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Targets(BTreeMap<String, Target>);

impl Targets {
    /// Reads the built-in targets and those of `extra` folders, each holding one folder per target.
    /// Of two targets with one name the later folder's wins, and all of them win over the built-in ones.
    ///
    /// # Errors
    /// The first folder that is wrong, with file, line and column; a folder that another user can change.
    pub fn load(builtin: &Path, extra: &[PathBuf]) -> Result<Targets, LabError> {
        let mut targets = Targets::default();
        for collection in std::iter::once(builtin).chain(extra.iter().map(PathBuf::as_path)) {
            for mesh in targets.add(collection)? {
                check_target(collection, &mesh)?;
                targets.add(&mesh)?;
            }
        }
        Ok(targets)
    }

    /// Adds the targets of a folder; returns the folders of meshes in it.
    fn add(&mut self, collection: &Path) -> Result<Vec<PathBuf>, LabError> {
        let unreadable = || format!("read the targets in {}", collection.display());
        let mut meshes = Vec::new();
        for entry in fs::read_dir(collection).map_err(LabError::io(unreadable()))? {
            let folder = entry.map_err(LabError::io(unreadable()))?.path();
            if folder.join(TARGET_FILE).is_file() {
                check_target(collection, &folder)?;
                let target = Target::load(&folder)?;
                self.0.insert(target.def.target.clone(), target);
            } else if folder.join(MESH_FILE).is_file() {
                meshes.push(folder);
            }
        }
        Ok(meshes)
    }

    /// A target by name.
    ///
    /// # Errors
    /// When there is none; names the nearest known target.
    pub fn get(&self, name: &str) -> Result<&Target, LabError> {
        self.0.get(name).ok_or_else(|| LabError::UnknownTarget {
            name: name.to_owned(),
            hint: hint(name, self.0.keys().map(String::as_str)),
        })
    }

    /// A target by the name of its software: `envoy`, or `envoy@1.38.3` for one of its versions.
    ///
    /// # Errors
    /// When there is no such target or version.
    pub fn named(&self, name: &str) -> Result<Target, LabError> {
        let (target, version) = split_name(name);
        let target = self.get(target)?;
        match version {
            Some(version) => target.at(version).map_err(LabError::Plan),
            None => Ok(target.clone()),
        }
    }

    /// With programs of the user as versions.
    #[must_use]
    pub fn with_programs(self, programs: &[OwnProgram]) -> Targets {
        let all = self.0.into_iter();
        Targets(
            all.map(|(name, target)| (name, target.with_programs(programs)))
                .collect(),
        )
    }

    /// All targets, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Target> {
        self.0.values()
    }
}

/// The built-in targets.
///
/// # Errors
/// As [`home`]: no such folder was found, or those found are not trusted.
pub fn builtin_folder() -> Result<PathBuf, LabError> {
    Ok(home()?.join("targets"))
}

#[cfg(test)]
mod tests;
