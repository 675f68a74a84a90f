//! What experiments can use: directories of target and workload folders, and protocols. Later directories take precedence, so a
//! user's folder replaces a built-in one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tare_record::protocol::Protocols;

use crate::def::{MeshDef, WorkloadDef};
use crate::document;
use crate::problem::Problems;
use crate::target::{OwnProgram, TargetDef, TargetVersions, Version};
use crate::yaml::{Mark, Node};

/// File that makes a folder a target folder.
pub const TARGET_FILE: &str = "target.yaml";
/// File that makes a folder of targets a mesh.
pub const MESH_FILE: &str = "mesh.yaml";

/// Directories of target and workload folders, and the protocols of edges and loads.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// Directories with a folder per workload.
    pub workloads: Vec<PathBuf>,
    /// Directories with a folder per target.
    pub targets: Vec<PathBuf>,
    /// All protocols.
    pub protocols: Protocols,
    /// Programs of the user as versions of targets.
    pub programs: Vec<OwnProgram>,
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
    /// Its version, if it is one that a setting chooses.
    pub version: Option<String>,
}

impl Target {
    /// Reads a target folder.
    ///
    /// # Errors
    /// All problems of its file.
    pub fn load(folder: &Path) -> Result<Target, Problems> {
        let file = folder.join(TARGET_FILE);
        let mut def = TargetDef::from_yaml(&document::read_text(&file)?, &file)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if name != def.target.as_str() {
            let message = format!(
                "says `target: {}`, but the folder is called \"{name}\": rename one of them",
                def.target
            );
            let file = file.display().to_string();
            return Err(Problems::one(&file, Mark::START, message));
        }
        let pinned = TargetVersions::of(folder, &def)?.0.into_iter();
        def.versions = pinned
            .map(|(version, checksums)| (version, Version::Pinned(checksums)))
            .collect();
        Ok(Target {
            def,
            folder: folder.to_owned(),
            version: None,
        })
    }

    /// Name of its software: `envoy`, or `envoy@1.38.3` for one of its versions.
    #[must_use]
    pub fn software_name(&self) -> String {
        match &self.version {
            Some(version) => format!("{}@{version}", self.def.target),
            None => self.def.target.clone(),
        }
    }

    /// With programs of the user as versions.
    #[must_use]
    pub fn with_programs(mut self, programs: &[OwnProgram]) -> Target {
        self.def.add_programs(programs);
        self
    }

    /// Its further programs, each as a target: they are fetched, and chosen by the user, by names of their own.
    pub fn programs(&self) -> impl Iterator<Item = Target> + '_ {
        self.def.programs.iter().map(|(name, program)| Target {
            def: TargetDef {
                target: name.clone(),
                get: program.get.clone(),
                version: program.version.clone(),
                programs: BTreeMap::new(),
                ..self.def.clone()
            },
            folder: self.folder.clone(),
            version: None,
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
        names(&self.target_collections(), TARGET_FILE)
    }

    /// Names of all meshes.
    #[must_use]
    pub fn mesh_names(&self) -> Vec<String> {
        names(&self.targets, MESH_FILE)
    }

    /// Whether there is a mesh of this name.
    #[must_use]
    pub fn is_mesh(&self, name: &str) -> bool {
        find(&self.targets, name, MESH_FILE).is_some()
    }

    /// Reads a mesh; `None`: there is no such folder.
    ///
    /// # Errors
    /// Problems of its file.
    pub fn mesh(&self, name: &str) -> Result<Option<MeshDef>, Problems> {
        let Some(path) = find(&self.targets, name, MESH_FILE) else {
            return Ok(None);
        };
        let file = path.display().to_string();
        let (def, root) = document::read::<MeshDef>(&file, &document::read_text(&path)?)?;
        if def.mesh.0 != name {
            let message = format!("the folder is called \"{name}\": write mesh: {name}");
            return Err(Problems::one(&file, root.mark_at(&["mesh"]), message));
        }
        Ok(Some(def))
    }

    /// The target directories, and after each one the folders of meshes in it.
    fn target_collections(&self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for directory in &self.targets {
            all.push(directory.clone());
            let one = std::slice::from_ref(directory);
            let meshes = names(one, MESH_FILE).into_iter();
            all.extend(meshes.map(|mesh| directory.join(mesh)));
        }
        all
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
        let file = find(&self.target_collections(), name, TARGET_FILE);
        let folder = file.as_deref().and_then(Path::parent);
        let target = folder.map(Target::load).transpose()?;
        Ok(target.map(|target| target.with_programs(&self.programs)))
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
