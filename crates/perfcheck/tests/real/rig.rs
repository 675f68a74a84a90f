//! A repository with a copy of a project, and the program on it.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tare_record::api::{
    BenchmarkOutcome, GoldenUpdate, PerfReference, PerfcheckOptions, PerfcheckReport, ScreenOptions,
};
use tare_record::record::MachineRecord;

/// A project in a repository of its own, committed once.
pub struct Place {
    folder: tempfile::TempDir,
    pub options: PerfcheckOptions,
    variables: Vec<(String, PathBuf)>,
}

impl Place {
    /// A copy of a project of `tests/projects`.
    pub fn of(project: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/projects")
            .join(project);
        copy(&sources, &folder.path().join("project"));
        fs::create_dir(folder.path().join("tmp")).unwrap();
        // Cargo.toml of a project in the workspace would be a part of it.
        let manifest = folder.path().join("project/manifest.toml");
        if manifest.exists() {
            fs::rename(&manifest, manifest.with_file_name("Cargo.toml")).unwrap();
        }
        let place = Place {
            options: PerfcheckOptions {
                folder: folder.path().join("project"),
                benchmarks: None,
                repeats: None,
                margin: 0.05,
                reference: PerfReference::Golden,
                update: GoldenUpdate::Keep,
                yes: true,
                json: true,
                junit: None,
                markdown: None,
                machine: MachineRecord {
                    machine_id: Some("0123".into()),
                    kernel: "6.18".into(),
                    cpu_model: "a processor".into(),
                    cores: 2,
                    memory_bytes: 8_000_000_000,
                },
                screen: ScreenOptions {
                    width: 120,
                    colour: false,
                },
            },
            folder,
            variables: Vec::new(),
        };
        place.git(&["init", "-q"]);
        place.commit();
        place
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.options.folder.join(name)
    }

    /// Where the program makes its private folders.
    pub fn tmp(&self) -> PathBuf {
        self.folder.path().join("tmp")
    }

    pub fn variable(&mut self, name: &str, path: PathBuf) {
        self.variables.push((name.to_owned(), path));
    }

    pub fn git(&self, words: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args([
            "-c",
            "user.name=test",
            "-c",
            "user.email=test@localhost",
            "-C",
        ]);
        let output = git.arg(&self.options.folder).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "a change"]);
    }

    /// Replaces a text in a file: the slowdown.
    pub fn plant(&self, file: &str, before: &str, after: &str) {
        let text = fs::read_to_string(self.at(file)).unwrap();
        assert!(text.contains(before), "{file}: {before}");
        fs::write(self.at(file), text.replace(before, after)).unwrap();
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tare-perfcheck"));
        command.arg(serde_json::to_string(&self.options).unwrap());
        command.env("TMPDIR", self.tmp());
        // Those of the tests are about Tare's own sources.
        command
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .env_remove("CARGO_TARGET_DIR");
        for (name, path) in &self.variables {
            command.env(name, path);
        }
        command.stdin(Stdio::null());
        command
    }

    pub fn run(&self) -> Output {
        self.command().output().unwrap()
    }

    /// Starts it in a process group of its own, as a shell does.
    pub fn start(&self) -> Child {
        let mut command = self.command();
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command.spawn().unwrap()
    }

    /// The result of a run with this exit code.
    pub fn report(&self, exit_code: i32) -> PerfcheckReport {
        let output = self.run();
        assert_eq!(output.status.code(), Some(exit_code), "{output:#?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Adds this many sessions to the golden file.
    pub fn add_sessions(&mut self, count: usize) {
        self.options.update = GoldenUpdate::Add;
        for _ in 0..count {
            self.report(0);
        }
        self.options.update = GoldenUpdate::Keep;
    }

    /// What is left of the private folders.
    pub fn left(&self) -> usize {
        fs::read_dir(self.tmp()).unwrap().count()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => {
                fs::copy(entry.path(), to).unwrap();
            }
        }
    }
}

/// The outcome of a benchmark in a unit.
pub fn outcome(report: &PerfcheckReport, benchmark: &str, unit: &str) -> BenchmarkOutcome {
    let mut all = report.benchmarks.iter();
    let found = all.find(|one| one.benchmark == benchmark && one.unit == unit);
    found
        .unwrap_or_else(|| panic!("no {benchmark} in {unit}: {report:#?}"))
        .outcome
}

/// All benchmarks with their units, in order of their names.
pub fn names(report: &PerfcheckReport) -> Vec<String> {
    let all = report.benchmarks.iter();
    let mut names: Vec<String> = all
        .map(|one| format!("{} {}", one.benchmark, one.unit))
        .collect();
    names.sort();
    names
}
