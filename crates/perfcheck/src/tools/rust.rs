//! Rust: Criterion, compiled once per package.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use super::{
    Place, Prepared, RUNS_PER_REPEAT, Reading, Runner, Tool, empty_folder, first_line, no_value,
    read_json,
};
use crate::error::CheckError;
use crate::process::{BUILD_LIMIT, Processes, REPEAT_LIMIT};

/// Times of one run, s; a benchmark that sets its own has those.
const OPTIONS: [&str; 6] = [
    "--warm-up-time",
    "0.05",
    "--measurement-time",
    "0.1",
    // Resamples for its own intervals, which are not used.
    "--nresamples",
    "1001",
];
/// Number of samples: with many the first ones are short. Where an iteration is long, and in the first run, the least that Criterion takes.
const SAMPLES: [&str; 2] = ["60", "10"];
/// An iteration that is long, ns.
const LONG: f64 = 2e6;
/// Depth of the folders of its results: group, function, parameter, `new`.
const DEPTH_MAX: usize = 8;

/// Folder in that of the builds for the builds of old revisions: what they depend on is built once, and not again for each.
const OLD_TARGET: &str = "tare-perfcheck";

pub struct Criterion;

/// A benchmark of a program.
struct Function {
    program: PathBuf,
    /// Folder of the package, in which cargo runs benchmarks.
    folder: PathBuf,
    id: String,
    /// Number of samples; known after the first run.
    samples: OnceCell<&'static str>,
}

struct Built {
    scratch: PathBuf,
    functions: Vec<Function>,
}

/// A message of `cargo --message-format json`, as far as it is needed.
#[derive(Deserialize)]
struct Message {
    target: Option<Target>,
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    package_id: Option<String>,
    message: Option<Diagnostic>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

/// What the compiler says.
#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    rendered: Option<String>,
}

impl Tool for Criterion {
    fn name(&self) -> &'static str {
        "criterion"
    }

    fn may_have(&self, file: &str) -> bool {
        file == "Cargo.toml"
    }

    /// Whether the package itself depends on Criterion, and not only its workspace.
    fn has(&self, content: &str) -> bool {
        let mut is_dependencies = false;
        content.lines().map(str::trim).any(|line| {
            if let Some(section) = line.strip_prefix('[') {
                let section = section.trim_end_matches(']');
                is_dependencies =
                    section.ends_with("dependencies") && !section.starts_with("workspace");
                return section.ends_with("dependencies.criterion")
                    && !section.starts_with("workspace");
            }
            let key = line.split(['=', '.', ' ']).next();
            is_dependencies && key == Some("criterion")
        })
    }

    fn markers(&self) -> &'static [&'static str] {
        &["Cargo.toml"]
    }

    fn prepare(&self, place: &Place, processes: &Processes<'_>) -> Result<Prepared, CheckError> {
        let old_target = match place.is_old {
            true => Some(target_of(&place.home, processes)?.join(OLD_TARGET)),
            false => None,
        };
        let cargo = |program: &str, words: &[&str]| {
            let mut command = Command::new(program);
            command.args(words).current_dir(&place.folder);
            command.envs(old_target.iter().map(|target| ("CARGO_TARGET_DIR", target)));
            command
        };
        let version = processes.succeed(
            "asking Rust for its version",
            &mut cargo("rustc", &["--version"]),
            REPEAT_LIMIT,
        )?;
        let mut build = cargo("cargo", &["bench", "--no-run", "--message-format=json"]);
        let built = processes.run(&mut build, BUILD_LIMIT)?;
        let lines = built.stdout.lines();
        let messages: Vec<Message> = lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        if !built.status.success() {
            let errors = messages.iter().filter_map(|one| one.message.as_ref());
            let errors = errors.filter(|one| one.level == "error");
            let errors: String = errors.filter_map(|one| one.rendered.as_deref()).collect();
            return Err(CheckError::Environment(format!(
                "building the Rust benchmarks of {} failed:\n{errors}{}",
                place.folder.display(),
                built.stderr.trim()
            )));
        }
        let mut versions = BTreeMap::from([("rustc".to_owned(), first_line(&version.stdout))]);
        let ids = messages.iter().filter_map(|one| one.package_id.as_deref());
        // `registry+https://github.com/rust-lang/crates.io-index#criterion@0.7.0`
        if let Some(version) = ids.filter_map(|id| id.split_once("#criterion@")).next() {
            versions.insert("criterion".into(), version.1.to_owned());
        }
        let (mut names, mut functions) = (Vec::new(), Vec::new());
        for message in messages {
            for (name, function) in functions_of(message, processes)? {
                names.push(name);
                functions.push(function);
            }
        }
        Ok(Prepared {
            versions,
            names,
            runner: Box::new(Built {
                scratch: place.scratch.join("criterion"),
                functions,
            }),
        })
    }
}

/// The folder of the builds of a package.
fn target_of(folder: &Path, processes: &Processes<'_>) -> Result<PathBuf, CheckError> {
    let mut ask = Command::new("cargo");
    ask.args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(folder);
    let said = processes.succeed(
        "asking Cargo for its folder of builds",
        &mut ask,
        REPEAT_LIMIT,
    )?;
    let metadata: Option<Value> = serde_json::from_str(&said.stdout).ok();
    let target = metadata
        .as_ref()
        .and_then(|all| all.get("target_directory")?.as_str());
    Ok(target.map_or_else(|| folder.join("target"), PathBuf::from))
}

/// The benchmarks of a program with their names, if the message is about one.
fn functions_of(
    message: Message,
    processes: &Processes<'_>,
) -> Result<Vec<(String, Function)>, CheckError> {
    let (Some(program), Some(target), Some(manifest)) =
        (message.executable, message.target, message.manifest_path)
    else {
        return Ok(Vec::new());
    };
    if target.kind != ["bench"] {
        return Ok(Vec::new());
    }
    let folder = manifest.parent().unwrap_or(Path::new("/")).to_owned();
    let mut list = Command::new(&program);
    list.args(["--bench", "--list"]).current_dir(&folder);
    let listed = processes.succeed("listing the Rust benchmarks", &mut list, REPEAT_LIMIT)?;
    let ids = listed.stdout.lines();
    let ids = ids.filter_map(|line| line.strip_suffix(": benchmark"));
    let functions = ids.map(|id| {
        let function = Function {
            program: program.clone(),
            folder: folder.clone(),
            id: id.to_owned(),
            samples: OnceCell::new(),
        };
        (format!("{}/{id}", target.name), function)
    });
    Ok(functions.collect())
}

impl Runner for Built {
    fn runs_per_repeat(&self) -> usize {
        RUNS_PER_REPEAT
    }

    fn repeat(
        &self,
        place: usize,
        name: &str,
        processes: &Processes<'_>,
    ) -> Result<Vec<Reading>, CheckError> {
        let one = &self.functions[place];
        empty_folder(&self.scratch)?;
        let mut command = Command::new(&one.program);
        command
            .args(["--bench", "--exact", "--noplot"])
            .args(OPTIONS)
            .arg("--sample-size")
            .arg(one.samples.get().unwrap_or(&SAMPLES[1]));
        command.arg(&one.id).current_dir(&one.folder);
        command
            .env("CRITERION_HOME", &self.scratch)
            .env("CARGO_MANIFEST_DIR", &one.folder);
        let ended = processes.succeed(name, &mut command, REPEAT_LIMIT)?;
        let mut found = Vec::new();
        results(&self.scratch, DEPTH_MAX, &mut found);
        match found.as_slice() {
            [folder] => {
                let sample = read_json(&folder.join("sample.json"))?;
                let time = parse(&sample).ok_or_else(|| no_value(name, &ended.last_lines()))?;
                if one.samples.get().is_some() {
                    return Ok(vec![Reading::time(name, time)]);
                }
                let _ = one.samples.set(SAMPLES[usize::from(time > LONG)]);
                self.repeat(place, name, processes)
            }
            _ => Err(no_value(name, &ended.last_lines())),
        }
    }
}

/// Folders of results below this one: `new`, with `sample.json`.
fn results(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
    {
        if path.ends_with("new") && path.join("sample.json").is_file() {
            found.push(path);
        } else if depth > 0 {
            results(&path, depth - 1, found);
        }
    }
}

/// The least time per iteration of a sample, ns.
fn parse(sample: &Value) -> Option<f64> {
    let numbers = |key: &str| Some(sample.get(key)?.as_array()?.iter().map(Value::as_f64));
    let samples = numbers("times")?.zip(numbers("iters")?);
    samples
        .filter_map(|(time, iterations)| Some(time? / iterations.filter(|some| *some > 0.0)?))
        .reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_time_of_a_sample_is_read() {
        // Criterion 0.7.0.
        let output = include_str!("../../tests/outputs/criterion-sample.json");
        let time = parse(&serde_json::from_str(output).unwrap()).unwrap();
        assert!((time - 266_541.857_143).abs() < 1e-3, "{time}");
    }

    #[test]
    fn a_package_has_benchmarks_if_it_depends_on_criterion_itself() {
        let has = |text: &str| Criterion.has(text);
        assert!(has(
            "[dev-dependencies]\nserde = \"1\"\ncriterion = \"0.7\"\n"
        ));
        assert!(has("[dev-dependencies]\ncriterion.workspace = true\n"));
        assert!(has("[dev-dependencies.criterion]\nversion = \"0.7\"\n"));
        assert!(has(
            "[target.'cfg(unix)'.dev-dependencies]\ncriterion = \"0.7\"\n"
        ));
        assert!(!has("[workspace.dependencies]\ncriterion = \"0.7\"\n"));
        assert!(!has(
            "[dev-dependencies]\ncriterion-plot = \"0.5\"\n[package]\nname = \"criterion\"\n"
        ));
    }
}
