//! Finds experiments by name. Defines the directories of experiments, workloads and targets.

use std::path::{Path, PathBuf};

use tare_record::protocol::Protocols;

use crate::catalog::Catalog;
use crate::document;
use crate::problem::{Problems, hint, list};
use crate::resolve::ExperimentSource;
use crate::target::OwnProgram;

/// Directories of experiments, workloads and targets.
#[derive(Debug, Clone)]
pub struct Library {
    /// Directories with a folder per study and a file per experiment.
    pub experiments: Vec<PathBuf>,
    /// Workloads, targets and protocols.
    pub catalog: Catalog,
}

/// Why an experiment was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// The named path does not exist.
    #[error("{0}: there is no such file")]
    NoFile(String),
    /// No experiment has this name.
    #[error("there is no experiment \"{name}\" in {searched}{hint}")]
    Unknown {
        /// The given name.
        name: String,
        /// The searched directories.
        searched: String,
        /// The nearest names, or all.
        hint: String,
    },
    /// Several experiments have this name.
    #[error("\"{name}\" could be {}: name the study as well", list(candidates))]
    Ambiguous {
        /// The given name.
        name: String,
        /// All matching names.
        candidates: Vec<String>,
    },
    /// The experiment cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Problems),
}

impl Library {
    /// The library in a checkout or installation: the folders `experiments`, `workloads` and `targets` of one directory.
    #[must_use]
    pub fn in_directory(home: &Path, protocols: Protocols) -> Library {
        Library {
            experiments: vec![home.join("experiments")],
            catalog: Catalog {
                workloads: vec![home.join("workloads")],
                targets: vec![home.join("targets")],
                protocols,
                programs: Vec::new(),
            },
        }
    }

    /// Adds directories, which take precedence over the present ones.
    #[must_use]
    pub fn with(mut self, workloads: &[PathBuf], targets: &[PathBuf]) -> Library {
        self.catalog.workloads.extend(workloads.iter().cloned());
        self.catalog.targets.extend(targets.iter().cloned());
        self
    }

    /// Adds programs of the user as versions of targets.
    #[must_use]
    pub fn with_programs(mut self, programs: Vec<OwnProgram>) -> Library {
        self.catalog.programs = programs;
        self
    }

    /// All experiments, as `study/stem` with their files.
    #[must_use]
    pub fn list(&self) -> Vec<(String, PathBuf)> {
        let studies = self.experiments.iter().flat_map(|folder| entries(folder));
        let files = studies.flat_map(|study| entries(&study));
        let mut all: Vec<(String, PathBuf)> = files
            .filter(|file| matches!(file.extension(), Some(end) if end == "yaml" || end == "yml"))
            .map(|file| (name_of(&file, &self.experiments), file))
            .collect();
        all.sort();
        all
    }

    /// Finds and reads an experiment by path, by `study/stem`, or by a unique stem.
    ///
    /// # Errors
    /// If there is none or more than one (with the candidates), or it cannot be read.
    pub fn find(&self, name: &str) -> Result<ExperimentSource, FindError> {
        let path = self.path(name)?;
        Ok(ExperimentSource {
            experiment: name_of(&path, &self.experiments),
            file: path.display().to_string(),
            text: document::read_text(&path)?,
        })
    }

    fn path(&self, name: &str) -> Result<PathBuf, FindError> {
        let path = Path::new(name);
        if path.is_file() {
            return Ok(path.to_path_buf());
        }
        let all = self.list();
        let matching: Vec<&(String, PathBuf)> = all
            .iter()
            .filter(|(full, _)| full == name || full.rsplit('/').next() == Some(name))
            .collect();
        match matching.as_slice() {
            [(_, file)] => Ok(file.clone()),
            [] if name.ends_with(".yaml") || name.ends_with(".yml") => {
                Err(FindError::NoFile(name.to_owned()))
            }
            [] => {
                let mut words: Vec<&str> = all.iter().map(|(full, _)| full.as_str()).collect();
                // A name without a study is compared with stems too.
                if !name.contains('/') {
                    words.extend(all.iter().filter_map(|(full, _)| full.rsplit('/').next()));
                }
                Err(FindError::Unknown {
                    name: name.to_owned(),
                    searched: Catalog::searched(&self.experiments),
                    hint: hint(name, words),
                })
            }
            several => Err(FindError::Ambiguous {
                name: name.to_owned(),
                candidates: several.iter().map(|(full, _)| full.clone()).collect(),
            }),
        }
    }
}

/// `study/stem` for a file below an experiments directory, else its stem.
fn name_of(path: &Path, experiments: &[PathBuf]) -> String {
    let stem = |path: &Path| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let study = path.parent().filter(|study| {
        study.parent().is_some_and(|parent| {
            let same = |directory: &PathBuf| {
                directory == parent
                    || matches!((directory.canonicalize(), parent.canonicalize()), (Ok(a), Ok(b)) if a == b)
            };
            experiments.iter().any(same)
        })
    });
    match study.and_then(Path::file_name) {
        Some(study) => format!("{}/{}", study.to_string_lossy(), stem(path)),
        None => stem(path),
    }
}

/// Entries of a folder; none if it is no folder.
fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let read = std::fs::read_dir(directory).into_iter().flatten().flatten();
    read.map(|entry| entry.path())
}
