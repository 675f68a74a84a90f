//! Java archives from the Maven repository, downloaded with curl and verified by checksum. Nothing runs before that.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use tare_experiment::target::MavenDef;
use tare_record::locate::locate;
use tare_record::regular::read_regular_text;

use super::{ProgramPath, debian, disk, fill, package, sha256, sha256_of};
use crate::subprocess;
use crate::targets::Target;
use crate::variables::ProgramKind;

/// Timeout: some 50 MB over a slow line.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Timeout of `java -version`.
const QUERY_LIMIT: Duration = Duration::from_secs(20);
/// Maximum size of a target's file that is part of the checksum.
const TEXT_BYTES_MAX: u64 = 16 << 20;
/// Where the archives are.
const REPOSITORY: &str = "https://repo.maven.apache.org/maven2";
/// Maximum size of an archive, as curl takes it.
const ARCHIVE_BYTES_MAX: &str = "268435456";

/// A line of the lock: an archive by its path in the repository.
#[derive(Debug, PartialEq, Eq)]
struct Locked {
    path: String,
    sha256: String,
}

impl Locked {
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// The archives of one target and their folder.
pub(super) struct Archives<'a> {
    def: &'a MavenDef,
    target: &'a Target,
    cache: &'a Path,
}

impl<'a> Archives<'a> {
    pub(super) fn of(def: &'a MavenDef, target: &'a Target, cache: &'a Path) -> Archives<'a> {
        Archives { def, target, cache }
    }

    /// The archives from an earlier download, if a suitable Java is installed.
    pub(super) fn installed(&self) -> Option<ProgramPath> {
        let folder = self.folder().ok()?;
        let java = self.java().ok()?;
        is_complete(&folder).then(|| self.found(folder, &java))
    }

    /// Downloads, verifies and runs the target's steps.
    pub(super) fn fetch(&self, say: &mut dyn FnMut(&str)) -> Result<ProgramPath, String> {
        let name = self.def.artifacts.join(" ");
        let result = self.fetch_in_steps(say);
        result.map_err(|reason| format!("maven {name}: {reason}"))
    }

    fn fetch_in_steps(&self, say: &mut dyn FnMut(&str)) -> Result<ProgramPath, String> {
        let folder = self.folder()?;
        let java = match self.java() {
            Ok(java) => java,
            Err(_) => {
                debian::install(&package(&self.def.runtime, "java"), say)?;
                self.java()?
            }
        };
        if is_complete(&folder) {
            return Ok(self.found(folder, &java));
        }
        let client = package("curl", "curl");
        let curl = match debian::installed(&client) {
            Some(found) => found.bin,
            None => debian::install(&client, say)?.bin,
        };
        let made = fill(&folder, |partial| {
            self.download(&curl, partial, say)?;
            let done = self.steps(partial, &folder);
            // The link of steps that failed; the first error is the one to report.
            let _ = fs::remove_file(&folder);
            done
        });
        made.map(|()| self.found(folder, &java))
    }

    fn found(&self, folder: PathBuf, java: &str) -> ProgramPath {
        let name = self.def.artifacts.first().map_or("", String::as_str);
        ProgramPath {
            cached: Some(folder.clone()),
            bin: folder,
            source: format!("maven {name}, Java {java}"),
        }
    }

    /// The folder's name contains a checksum of everything that determines its contents.
    fn folder(&self) -> Result<PathBuf, String> {
        let mut texts = vec![format!("{:?}", self.def), self.lock()?];
        for word in self.def.after_fetch.iter().flat_map(|step| &step.command) {
            if let Some(file) = word.strip_prefix("{{ folder }}/") {
                let path = self.target.folder.join(file);
                texts.push(read_regular_text(&path, TEXT_BYTES_MAX).map_err(disk(&path))?);
            }
        }
        let sum = sha256_of(&texts);
        let name = format!("{}-{}.d", self.target.def.target, &sum[..12]);
        // Steps may run in another folder: the path must be absolute.
        let cache = std::path::absolute(self.cache).map_err(disk(self.cache))?;
        Ok(cache.join("maven").join(name))
    }

    fn lock(&self) -> Result<String, String> {
        let path = self.target.folder.join(&self.def.lock);
        read_regular_text(&path, TEXT_BYTES_MAX).map_err(disk(&path))
    }

    /// The version of the installed Java, if it is new enough.
    fn java(&self) -> Result<String, String> {
        let least = self.def.java;
        let java = locate("java").ok_or_else(|| format!("no java here; install Java {least}"))?;
        let words: [&str; 2] = [&java.display().to_string(), "-version"];
        let output = subprocess::run(&words, ProgramKind::Plain, QUERY_LIMIT)?;
        let text = output.text();
        let (version, major) = java_version(&text)
            .ok_or_else(|| format!("`java -version` tells no version: {}", output.last_line()))?;
        if major < least {
            return Err(format!(
                "java is version {version}; install Java {least} and let it come first in PATH"
            ));
        }
        Ok(version)
    }

    /// Downloads what the lock names, and checks it.
    fn download(
        &self,
        curl: &Path,
        partial: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), String> {
        let locked = self.locked()?;
        say(&format!(
            "downloading {} from the Maven repository",
            self.def.artifacts.join(" ")
        ));
        let agents: Vec<String> = self
            .def
            .java_agents
            .iter()
            .map(|one| path_of(one))
            .collect();
        let to = |one: &Locked| {
            let folder = if agents.contains(&one.path) {
                "agents"
            } else {
                "jars"
            };
            partial.join(folder).join(one.name())
        };
        // Targets run as other users, who must be able to read them; curl would make folders for this user alone.
        for folder in ["agents", "jars"] {
            let folder = partial.join(folder);
            fs::create_dir(&folder).map_err(disk(&folder))?;
        }
        let mut list = String::new();
        for one in &locked {
            // Writing to a string cannot fail.
            let _ = writeln!(
                list,
                "url = \"{REPOSITORY}/{}\"\noutput = {:?}",
                one.path,
                to(one)
            );
        }
        let file = partial.join("list.curl");
        fs::write(&file, list).map_err(disk(&file))?;
        let words: [&str; 15] = [
            &curl.display().to_string(),
            // First: the user's own configuration may have other outputs.
            "--disable",
            "--fail",
            "--silent",
            "--show-error",
            "--location",
            "--proto",
            "=https",
            "--parallel",
            "--retry",
            "3",
            "--max-filesize",
            ARCHIVE_BYTES_MAX,
            "--config",
            &file.display().to_string(),
        ];
        let output = subprocess::run_in(partial, &words, ProgramKind::Download, DOWNLOAD_LIMIT)?;
        let wrong = differences(&locked, |one| sha256(&to(one)).ok());
        match (wrong, output.success) {
            (None, _) => Ok(()),
            (Some(wrong), true) => Err(format!("{wrong}; they were not used")),
            (Some(wrong), false) => Err(explain(&output.text(), &wrong)),
        }
    }

    /// The archives of the lock, among them all that the target names.
    fn locked(&self) -> Result<Vec<Locked>, String> {
        let locked = parse_lock(&self.lock()?)?;
        let named = self.def.artifacts.iter().chain(&self.def.java_agents);
        for coordinates in named {
            let path = path_of(coordinates);
            if !locked.iter().any(|one| one.path == path) {
                return Err(format!(
                    "{} does not have {path}: make it anew with scripts/lock-maven",
                    self.def.lock
                ));
            }
        }
        Ok(locked)
    }

    /// Runs the target's steps. Meanwhile the folder's final path is a link to the partial folder: what a step makes may
    /// hold the path, as a class data archive does.
    fn steps(&self, partial: &Path, folder: &Path) -> Result<(), String> {
        if self.def.after_fetch.is_empty() {
            return Ok(());
        }
        let target = std::path::absolute(&self.target.folder).map_err(disk(&self.target.folder))?;
        // There is one from a fetch that was killed.
        let _ = fs::remove_file(folder);
        symlink(partial, folder).map_err(disk(folder))?;
        for step in &self.def.after_fetch {
            let words: Vec<String> = step
                .command
                .iter()
                .map(|word| {
                    word.replace("{{ bin }}", &folder.display().to_string())
                        .replace("{{ folder }}", &target.display().to_string())
                })
                .collect();
            let output = subprocess::run_in(partial, &words, ProgramKind::Plain, step.timeout.0)
                .map_err(|reason| format!("{}: {reason}", step.name))?;
            if !output.success {
                return Err(format!(
                    "{} {}: {}",
                    step.name,
                    output.how,
                    output.last_line()
                ));
            }
        }
        fs::remove_file(folder).map_err(disk(folder))
    }
}

/// Whether a folder is there: a link in its place is from a fetch that was killed.
fn is_complete(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir())
}

/// Path in the repository of `group:name:version:classifier`.
fn path_of(coordinates: &str) -> String {
    let words: Vec<&str> = coordinates.split(':').collect();
    let [group, name, version, ..] = words.as_slice() else {
        return coordinates.to_owned();
    };
    let file = words[1..].join("-");
    format!("{}/{name}/{version}/{file}.jar", group.replace('.', "/"))
}

/// Version and major version; Java 8 calls itself 1.8.
fn java_version(message: &str) -> Option<(String, u32)> {
    let pattern = Regex::new(r#"version "((?:1\.)?(\d+)[^"]*)""#).ok()?;
    let captures = pattern.captures(message)?;
    Some((captures[1].to_owned(), captures[2].parse().ok()?))
}

/// Lines of sha256sum, each with a path in the repository.
fn parse_lock(text: &str) -> Result<Vec<Locked>, String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-/".contains(c);
            let (sum, path) = line
                .split_once("  ")
                .filter(|(sum, path)| {
                    sum.len() == 64 && path.chars().all(is_plain) && !path.contains("..")
                })
                .ok_or_else(|| {
                    format!("`{line}` in the lock is not a line of sha256sum with a path in the repository")
                })?;
            Ok(Locked {
                path: path.to_owned(),
                sha256: sum.to_ascii_lowercase(),
            })
        })
        .collect()
}

/// Changed and missing archives as a sentence; `None` when there are none.
fn differences(locked: &[Locked], found: impl Fn(&Locked) -> Option<String>) -> Option<String> {
    let (mut other, mut missing) = (Vec::new(), Vec::new());
    for one in locked {
        match found(one) {
            None => missing.push(one.name()),
            Some(sum) if sum != one.sha256 => other.push(one.name()),
            Some(_) => {}
        }
    }
    let list = |names: Vec<&str>, what: &str| {
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    let all = [
        list(other, "another SHA-256 than in the lock"),
        list(missing, "not fetched"),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Summarises curl's output in one sentence.
fn explain(message: &str, wrong: &str) -> String {
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    // Its progress is among the lines.
    let said = message.lines().find(|line| line.starts_with("curl: "));
    let said = said.unwrap_or("nothing");
    // Exit codes of curl, in the brackets of its messages: 23 is a failed write.
    if has(&["No space left on device", "curl: (23)"]) {
        return "no space left on the disk; free about 200 MB or set TARE_CACHE to another folder"
            .to_owned();
    }
    if has(&[
        "curl: (5)",
        "curl: (6)",
        "curl: (7)",
        "curl: (28)",
        "curl: (35)",
    ]) {
        return format!(
            "the Maven repository cannot be reached ({said}); check the network or https_proxy"
        );
    }
    format!("{wrong}; they were not used; curl said: {said}")
}

#[cfg(test)]
mod tests;
