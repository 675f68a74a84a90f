//! Java archives from a Maven repository, downloaded with mvn and verified by checksum.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use tare_experiment::target::MavenDef;
use tare_record::regular::read_regular_text;

use super::{ProgramPath, debian, disk, fill, locate, package, sha256, sha256_of};
use crate::subprocess;
use crate::targets::Target;

/// Timeout: some 100 MB (with Maven's own attach-ins) over a slow line.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Timeout of `java -version`.
const QUERY_LIMIT: Duration = Duration::from_secs(20);
/// Maximum size of a target's file that is part of the checksum.
const TEXT_BYTES_MAX: u64 = 16 << 20;
/// Maven attach-in that copies the archives; pinned as they are.
const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";

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
        let maven = package("maven", "mvn");
        let mvn = match debian::installed(&maven) {
            Some(found) => found.bin,
            None => debian::install(&maven, say)?.bin,
        };
        let made = fill(&folder, |partial| {
            self.download(&mvn, partial, say)?;
            self.verify(partial)?;
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
        let output = subprocess::run(&words, &[], QUERY_LIMIT)?;
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

    fn download(
        &self,
        mvn: &Path,
        partial: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), String> {
        let jars = partial.join("jars");
        fs::create_dir_all(&jars).map_err(disk(partial))?;
        let pom = partial.join("pom.xml");
        fs::write(&pom, self.pom()).map_err(disk(&pom))?;
        say(&format!(
            "downloading {} with Maven",
            self.def.artifacts.join(" ")
        ));
        let repository = self.cache.join("maven/repository");
        let words: [&str; 9] = [
            &mvn.display().to_string(),
            "--batch-mode",
            "--quiet",
            "--strict-checksums",
            &format!("--file={}", pom.display()),
            PLUGIN,
            "-DincludeScope=runtime",
            &format!("-DoutputDirectory={}", jars.display()),
            &format!("-Dmaven.repo.local={}", repository.display()),
        ];
        // Without it mvn searches all parent folders for `.mvn`, with options and extensions.
        let basedir = partial.display().to_string();
        let env = [("MAVEN_BASEDIR", basedir.as_str())];
        let output = subprocess::run_in(partial, &words, &env, DOWNLOAD_LIMIT)?;
        if !output.success {
            return Err(explain(&output.text(), output.last_line()));
        }
        let agents = partial.join("agents");
        fs::create_dir_all(&agents).map_err(disk(&agents))?;
        for agent in &self.def.java_agents {
            let name = file_name(agent);
            fs::rename(jars.join(&name), agents.join(&name)).map_err(disk(&jars.join(&name)))?;
        }
        Ok(())
    }

    /// POM with the archives as dependencies.
    fn pom(&self) -> String {
        let mut dependencies = String::new();
        let alone = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>";
        let with = self.def.artifacts.iter().map(|one| (one, ""));
        for (coordinates, exclusions) in
            with.chain(self.def.java_agents.iter().map(|one| (one, alone)))
        {
            let words: Vec<&str> = coordinates.split(':').collect();
            let [group, name, version, classifier @ ..] = words.as_slice() else {
                continue;
            };
            let classifier = classifier.first().map_or_else(String::new, |word| {
                format!("<classifier>{word}</classifier>")
            });
            // Writing to a string cannot fail.
            let _ = writeln!(
                dependencies,
                "<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>{classifier}{exclusions}</dependency>"
            );
        }
        format!(
            "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\n<groupId>tare</groupId><artifactId>fetched</artifactId><version>1</version>\n<dependencies>\n{dependencies}</dependencies>\n</project>\n"
        )
    }

    /// Checks that the archives are exactly those of the lock file, with the same checksums.
    fn verify(&self, partial: &Path) -> Result<(), String> {
        let locked = parse_lock(&self.lock()?)?;
        let mut found = BTreeMap::new();
        for folder in ["jars", "agents"] {
            let folder = partial.join(folder);
            for entry in fs::read_dir(&folder).map_err(disk(&folder))? {
                let path = entry.map_err(disk(&folder))?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                found.insert(name.into_owned(), sha256(&path).map_err(disk(&path))?);
            }
        }
        if found == locked {
            return Ok(());
        }
        let new = self
            .cache
            .join("maven")
            .join(format!("{}.lock", self.target.def.target));
        let lines: String = found
            .iter()
            .map(|(name, sum)| format!("{sum}  {name}\n"))
            .collect();
        fs::write(&new, lines).map_err(disk(&new))?;
        Err(format!(
            "{}; they were not used (all checksums found are in {}: if the new ones are wanted, make it the {} of the target)",
            differences(&locked, &found),
            new.display(),
            self.def.lock
        ))
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
            let output = subprocess::run_in(partial, &words, &[], step.timeout.0)
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

/// `group:name:version:classifier` is `name-version-classifier.jar`.
fn file_name(coordinates: &str) -> String {
    let words: Vec<&str> = coordinates.split(':').skip(1).collect();
    format!("{}.jar", words.join("-"))
}

/// Version and major version; Java 8 calls itself 1.8.
fn java_version(message: &str) -> Option<(String, u32)> {
    let pattern = Regex::new(r#"version "((?:1\.)?(\d+)[^"]*)""#).ok()?;
    let captures = pattern.captures(message)?;
    Some((captures[1].to_owned(), captures[2].parse().ok()?))
}

/// Archive name → SHA-256.
fn parse_lock(text: &str) -> Result<BTreeMap<String, String>, String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let (sum, name) = line
                .split_once("  ")
                .filter(|(sum, _)| sum.len() == 64)
                .ok_or_else(|| format!("`{line}` in the lock is not a line of sha256sum"))?;
            Ok((name.to_owned(), sum.to_ascii_lowercase()))
        })
        .collect()
}

/// Changed, missing and additional archives as a sentence.
fn differences(locked: &BTreeMap<String, String>, found: &BTreeMap<String, String>) -> String {
    let list = |names: Vec<&String>, what: &str| {
        let words: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        (!words.is_empty()).then(|| format!("{what}: {}", words.join(", ")))
    };
    let other = |(name, sum): &(&String, &String)| found.get(*name).is_some_and(|s| s != *sum);
    let missing = |name: &&String| !found.contains_key(*name);
    let extra = |name: &&String| !locked.contains_key(*name);
    let all = [
        list(
            locked.iter().filter(other).map(|(name, _)| name).collect(),
            "another SHA-256 than in the lock",
        ),
        list(locked.keys().filter(missing).collect(), "not fetched"),
        list(found.keys().filter(extra).collect(), "not in the lock"),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    all.join("; ")
}

/// Summarises Maven's output in one sentence.
fn explain(message: &str, last: &str) -> String {
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if has(&["No space left on device"]) {
        return "no space left on the disk; free about 200 MB or set TARE_CACHE to another folder"
            .to_owned();
    }
    if has(&["Checksum validation failed"]) {
        return "the repository sent a file with a wrong checksum; it was not used".to_owned();
    }
    if has(&[
        "UnknownHostException",
        "Unknown host",
        "Temporary failure in name resolution",
        "Connection refused",
        "Connect timed out",
        "Network is unreachable",
    ]) {
        return "the Maven repository cannot be reached; check the network or the mirror in ~/.m2/settings.xml".to_owned();
    }
    let error = message.lines().find(|line| line.contains("[ERROR]"));
    format!("Maven said: {}", error.unwrap_or(last).trim())
}

#[cfg(test)]
mod tests;
