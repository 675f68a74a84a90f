//! All known targets: the built-in folders, overridden by the user's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tare_schema::regular::read_regular_text;
use tare_schema::target::{TargetDef, nearest};
use tare_schema::yaml::FILE_BYTES_MAX;

use crate::LabError;
use crate::home::{check_target, home};

/// File that makes a folder a target folder.
const DEFINITION: &str = "target.yaml";

/// One target: its definition and the folder with its templates.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Its parsed `target.yaml`.
    pub def: TargetDef,
    /// Its folder.
    pub folder: PathBuf,
}

impl Target {
    /// Reads one target folder.
    ///
    /// # Errors
    /// What is wrong with it, with file, line and column.
    pub fn load(folder: &Path) -> Result<Target, LabError> {
        let file = folder.join(DEFINITION);
        let text = read_regular_text(&file, FILE_BYTES_MAX as u64)
            .map_err(LabError::io(format!("read {}", file.display())))?;
        let def = TargetDef::from_yaml(&text, &file)?;
        let name = folder.file_name().map(|name| name.to_string_lossy());
        if name.as_deref() != Some(def.target.as_str()) {
            return Err(LabError::File {
                path: file,
                reason: format!(
                    "says `target: {}`, but its folder has another name; rename one of them",
                    def.target
                ),
            });
        }
        Ok(Target {
            def,
            folder: folder.to_owned(),
        })
    }
}

/// All targets by name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalogue {
    targets: BTreeMap<String, Target>,
}

impl Catalogue {
    /// Reads the built-in targets and those of `extra` folders, each holding one folder per target.
    /// Of two targets with one name the later folder's wins, and all of them win over the built-in ones.
    ///
    /// # Errors
    /// The first folder that is wrong, with file, line and column; a folder that another user can change.
    pub fn load(builtin: &Path, extra: &[PathBuf]) -> Result<Catalogue, LabError> {
        let mut catalogue = Catalogue::default();
        for collection in std::iter::once(builtin).chain(extra.iter().map(PathBuf::as_path)) {
            catalogue.add(collection)?;
        }
        Ok(catalogue)
    }

    fn add(&mut self, collection: &Path) -> Result<(), LabError> {
        let entries = fs::read_dir(collection).map_err(LabError::io(format!(
            "read the targets in {}",
            collection.display()
        )))?;
        for entry in entries {
            let folder = entry
                .map_err(LabError::io(format!("read {}", collection.display())))?
                .path();
            if folder.join(DEFINITION).is_file() {
                check_target(collection, &folder)?;
                let target = Target::load(&folder)?;
                self.targets.insert(target.def.target.clone(), target);
            }
        }
        Ok(())
    }

    /// A target by name.
    ///
    /// # Errors
    /// When there is none; names the nearest known target.
    pub fn get(&self, name: &str) -> Result<&Target, LabError> {
        self.targets
            .get(name)
            .ok_or_else(|| LabError::UnknownTarget {
                name: name.to_owned(),
                nearest: nearest(name, self.targets.keys().map(String::as_str)).map(str::to_owned),
                known: self.targets.keys().cloned().collect(),
            })
    }

    /// All targets, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Target> {
        self.targets.values()
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
