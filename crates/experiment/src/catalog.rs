//! What experiments can use: directories of target and workload folders, and protocols. Later directories take precedence, so a
//! user's folder replaces a built-in one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tare_record::protocol::Protocols;

use crate::def::WorkloadDef;
use crate::document;
use crate::problem::Problems;
use crate::target::TargetDef;
use crate::yaml::{Mark, Node};

/// File that makes a folder a target folder.
pub const TARGET_FILE: &str = "target.yaml";

/// Directories of target and workload folders, and the protocols of edges and loads.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// Directories with a folder per workload.
    pub workloads: Vec<PathBuf>,
    /// Directories with a folder per target.
    pub targets: Vec<PathBuf>,
    /// All protocols.
    pub protocols: Protocols,
}

/// A workload with its YAML tree.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadFolder {
    /// Its file, as it was named.
    pub file: String,
    /// Definition of the workload.
    pub def: WorkloadDef,
    /// The same as a tree, with positions for error messages.
    pub root: Node,
}

/// A target: its definition, and the folder with its templates.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Its parsed `target.yaml`.
    pub def: TargetDef,
    /// Its folder.
    pub folder: PathBuf,
}

impl Target {
    /// Reads a target folder.
    ///
    /// # Errors
    /// All problems of its file.
    pub fn load(folder: &Path) -> Result<Target, Problems> {
        let file = folder.join(TARGET_FILE);
        let def = TargetDef::from_yaml(&document::read_text(&file)?, &file)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if name != def.target.as_str() {
            let message = format!(
                "says `target: {}`, but the folder is called \"{name}\": rename one of them",
                def.target
            );
            let file = file.display().to_string();
            return Err(Problems::one(&file, Mark::START, message));
        }
        Ok(Target {
            def,
            folder: folder.to_owned(),
        })
    }
}

impl Catalog {
    /// Names of all workloads.
    #[must_use]
    pub fn workload_names(&self) -> Vec<String> {
        names(&self.workloads, "workload.yaml")
    }

    /// Names of all targets.
    #[must_use]
    pub fn target_names(&self) -> Vec<String> {
        names(&self.targets, TARGET_FILE)
    }

    /// Reads a workload; `None`: there is no such folder.
    ///
    /// # Errors
    /// Problems of its file.
    pub fn workload(&self, name: &str) -> Result<Option<WorkloadFolder>, Problems> {
        let Some(path) = find(&self.workloads, name, "workload.yaml") else {
            return Ok(None);
        };
        let file = path.display().to_string();
        let text = document::read_text(&path)?;
        let (def, root) = document::read::<WorkloadDef>(&file, &text)?;
        if def.workload.0 != name {
            let message = format!("the folder is called \"{name}\": write workload: {name}");
            return Err(Problems::one(&file, root.mark_at(&["workload"]), message));
        }
        crate::resolve::check_workload(&file, &def, &root, self.protocols)?;
        Ok(Some(WorkloadFolder { file, def, root }))
    }

    /// Reads a target; `None`: there is no such folder.
    ///
    /// # Errors
    /// Problems of its file.
    pub fn target(&self, name: &str) -> Result<Option<Target>, Problems> {
        let file = find(&self.targets, name, TARGET_FILE);
        let folder = file.as_deref().and_then(Path::parent);
        folder.map(Target::load).transpose()
    }

    /// The searched directories as text, for messages when nothing was found.
    #[must_use]
    pub fn searched(directories: &[PathBuf]) -> String {
        let shown: Vec<String> = directories
            .iter()
            .map(|directory| directory.display().to_string())
            .collect();
        crate::problem::list(&shown)
    }
}

fn find(directories: &[PathBuf], name: &str, file: &str) -> Option<PathBuf> {
    // A name is a single folder name, never a path out of the directory.
    if tare_record::name::check_format("name", name).is_some() {
        return None;
    }
    directories
        .iter()
        .rev()
        .map(|directory| directory.join(name).join(file))
        .find(|path| path.is_file())
}

fn names(directories: &[PathBuf], file: &str) -> Vec<String> {
    let entries = directories.iter().flat_map(std::fs::read_dir);
    let folders = entries.flatten().flatten();
    let folders = folders.filter(|entry| entry.path().join(file).is_file());
    let names: BTreeSet<String> = folders
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.into_iter().collect()
}
