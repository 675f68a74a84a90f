//! Versions of a target: the one of its definition, pinned ones in `versions.yaml`, and programs that the user names.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tare_record::schemas::JsonSchema;
use tare_record::text;
use tare_record::topology::{Instance, Settings, VERSION_SETTING};

use super::{Get, TargetDef};
use crate::catalog::Target;
use crate::document;
use crate::problem::{Problems, list};
use crate::yaml::Mark;

/// File of pinned versions in a target folder.
pub const VERSIONS_FILE: &str = "versions.yaml";

/// Checksums of the file that holds the program: SHA-256 in hexadecimal, by machine (`x86_64`, `aarch64`).
type Checksums = BTreeMap<String, String>;

/// Pinned versions of a target besides that of `target.yaml`: the content of `versions.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("x-word" = "versions of the target"))]
pub struct TargetVersions(pub BTreeMap<String, Checksums>);

/// Where a version comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    /// The first source of the target, with other checksums.
    Pinned(Checksums),
    /// A program of the user.
    Program(PathBuf),
}

/// A program that the user names as a version of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnProgram {
    /// The target.
    pub target: String,
    /// Name of the version, as the setting `version` has it.
    pub version: String,
    /// The program.
    pub path: PathBuf,
}

/// Name of an instance's software: its target, or `envoy@1.38.3` where a setting chooses a version.
#[must_use]
pub fn software_name(instance: &Instance, of_targets: &BTreeMap<String, Settings>) -> String {
    let of_target = || {
        of_targets
            .get(&instance.target)?
            .get(VERSION_SETTING)?
            .as_str()
    };
    match instance.version().or_else(of_target) {
        Some(version) => format!("{}@{version}", instance.target),
        None => instance.target.clone(),
    }
}

/// Target and version of a name such as `envoy@1.38.3`.
#[must_use]
pub fn split_name(name: &str) -> (&str, Option<&str>) {
    match name.split_once('@') {
        Some((target, version)) => (target, Some(version)),
        None => (name, None),
    }
}

impl TargetVersions {
    /// The pinned versions in a target folder.
    ///
    /// # Errors
    /// Problems of the file; there need not be one.
    pub fn of(folder: &Path, def: &TargetDef) -> Result<TargetVersions, Problems> {
        let path = folder.join(VERSIONS_FILE);
        if !path.exists() {
            return Ok(TargetVersions::default());
        }
        let file = path.display().to_string();
        let (versions, root) =
            document::read::<TargetVersions>(&file, &document::read_text(&path)?)?;
        let mut problems = Problems::default();
        if !versions.0.is_empty() && !def.can_be_pinned() {
            let message = "only a target whose first source is `pip` can have pinned versions";
            problems.add(&file, Mark::START, message);
        }
        for (version, checksums) in &versions.0 {
            if let Some(message) = wrong_version(version) {
                problems.add(&file, root.key_mark_at(&[version]), message);
            }
            for (machine, sum) in checksums {
                let is_sha256 = sum.len() == 64 && sum.bytes().all(|one| one.is_ascii_hexdigit());
                if !is_sha256 {
                    let mark = root.mark_at(&[version, machine]);
                    problems.add(&file, mark, "a SHA-256 has 64 hexadecimal digits");
                }
            }
        }
        problems.into_result(versions)
    }

    /// The content of the file.
    #[must_use]
    pub fn to_yaml(&self, target: &str) -> String {
        let mut yaml = format!(
            "# Versions that `targets: {{{target}: {{version: …}}}}` can choose, each with the SHA-256 of its wheel by machine.\n\
             # `tare targets pin {target} VERSION` adds one.\n"
        );
        for (version, checksums) in &self.0 {
            // Writing to a string cannot fail.
            let _ = writeln!(yaml, "\"{version}\":");
            for (machine, sum) in checksums {
                let _ = writeln!(yaml, "  {machine}: {sum}");
            }
        }
        yaml
    }
}

/// Why this cannot be the name of a version.
#[must_use]
pub fn wrong_version(version: &str) -> Option<&'static str> {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || ".-_+".contains(one);
    let starts = version.starts_with(|one: char| one.is_ascii_alphanumeric());
    (!starts || version.len() > 64 || !version.chars().all(is_plain))
        .then_some("a version has letters, digits, `.`, `-`, `_` and `+`, at most 64")
}

impl TargetDef {
    /// Whether versions can be pinned by checksum.
    #[must_use]
    pub fn can_be_pinned(&self) -> bool {
        matches!(self.get.first(), Some(Get::Pip(_)))
    }

    /// The version of the definition, where its first source has an exact one.
    #[must_use]
    pub fn own_version(&self) -> Option<&str> {
        match self.get.first()? {
            Get::Pip(wheel) => Some(&wheel.version),
            Get::Go(module) => Some(&module.version),
            _ => None,
        }
    }

    /// Checks a value of the setting `version`.
    pub(super) fn check_version(&self, value: &serde_json::Value) -> Result<(), String> {
        let target = &self.target;
        let Some(version) = value.as_str() else {
            let found = text::preview(&value.to_string());
            return Err(format!(
                "target {target}: a version is a text: write \"{found}\" in quotes"
            ));
        };
        if self.own_version() == Some(version) || self.versions.contains_key(version) {
            return Ok(());
        }
        let known = self.own_version().into_iter().map(str::to_owned);
        let known: Vec<String> = known.chain(self.versions.keys().cloned()).collect();
        let known = match known.is_empty() {
            true => String::from("it has no versions to choose from"),
            false => format!("there are {}", list(&known)),
        };
        let version = text::preview(version);
        let next = match self.can_be_pinned() {
            true => format!(
                "`tare targets pin {target} {version}` adds one, `--program {target}@{version}=PATH` names a program of your own"
            ),
            false => format!("`--program {target}@{version}=PATH` names a program of your own"),
        };
        Err(format!(
            "target {target} has no version \"{version}\": {known}; {next}"
        ))
    }

    /// Adds the user's programs for this target.
    pub(crate) fn add_programs(&mut self, programs: &[OwnProgram]) {
        let own = programs.iter().filter(|one| one.target == self.target);
        self.versions.extend(own.map(|one| {
            let program = Version::Program(one.path.clone());
            (one.version.clone(), program)
        }));
    }
}

impl Target {
    /// The target at one of its versions.
    ///
    /// # Errors
    /// A version that it does not have.
    pub fn at(&self, version: &str) -> Result<Target, String> {
        self.def.check_version(&serde_json::Value::from(version))?;
        let mut target = self.clone();
        match (self.def.versions.get(version), target.def.get.first_mut()) {
            (Some(Version::Program(path)), _) => {
                target.def.get = vec![Get::Path(path.display().to_string())];
            }
            (Some(Version::Pinned(checksums)), Some(Get::Pip(wheel))) => {
                version.clone_into(&mut wheel.version);
                wheel.sha256.clone_from(checksums);
                target.def.get.truncate(1);
            }
            _ => target.def.get.truncate(1),
        }
        target.version = Some(version.to_owned());
        Ok(target)
    }
}
