//! What experiments can use: directories of target and workload folders, and protocols. Later directories take precedence, so a
//! user's folder replaces a built-in one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::def::WorkloadDef;
use crate::document;
use crate::problem::Problems;
use crate::protocol::Protocols;
use crate::target::TargetDef;
use crate::yaml::Node;

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

impl Catalog {
    /// Names of all workloads.
    #[must_use]
    pub fn workload_names(&self) -> Vec<String> {
        names(&self.workloads, "workload.yaml")
    }

    /// Names of all targets.
    #[must_use]
    pub fn target_names(&self) -> Vec<String> {
        names(&self.targets, "target.yaml")
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
            return Err(Problems::one(&file, root.place(&["workload"]), message));
        }
        crate::resolve::check_workload(&file, &def, &root, self.protocols)?;
        Ok(Some(WorkloadFolder { file, def, root }))
    }

    /// Reads a target; `None`: there is no such folder.
    ///
    /// # Errors
    /// Problems of its file.
    pub fn target(&self, name: &str) -> Result<Option<TargetDef>, Problems> {
        let Some(path) = find(&self.targets, name, "target.yaml") else {
            return Ok(None);
        };
        let file = path.display().to_string();
        let text = document::read_text(&path)?;
        let (def, root) = document::read::<TargetDef>(&file, &text)?;
        if def.target != name {
            let message = format!("the folder is called \"{name}\": write target: {name}");
            return Err(Problems::one(&file, root.place(&["target"]), message));
        }
        Ok(Some(def))
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
    if crate::name::check_format("name", name).is_some() {
        return None;
    }
    directories
        .iter()
        .rev()
        .map(|directory| directory.join(name).join(file))
        .find(|path| path.is_file())
}

fn names(directories: &[PathBuf], file: &str) -> Vec<String> {
    let mut found = BTreeSet::new();
    for directory in directories {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if Path::new(&entry.path()).join(file).is_file()
                && let Ok(name) = entry.file_name().into_string()
            {
                found.insert(name);
            }
        }
    }
    found.into_iter().collect()
}
