//! Programs that are built with cargo from sources next to the target folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tare_experiment::target::CargoDef;
use tare_record::locate::{absolute, locate};

use super::ProgramPath;
use crate::variables::ProgramKind;
use crate::{home, subprocess};

/// Timeout: a first build with all dependencies on one slow core.
const BUILD_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Files and folders checked for changed sources; a package has far fewer.
const SOURCES_MAX: usize = 10_000;

/// Files that configure cargo and rustup, in the package's folder and every folder above it.
const OBEYED: [&str; 6] = [
    ".cargo",
    ".cargo/config",
    ".cargo/config.toml",
    "Cargo.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
];

/// A package and its output folder.
pub(super) struct Package<'a> {
    def: &'a CargoDef,
    /// Folder of the package.
    folder: PathBuf,
    /// Folder of build output.
    output: PathBuf,
    /// Where the program is in a package, which has no sources.
    packaged: PathBuf,
}

impl<'a> Package<'a> {
    /// Output goes where Tare itself was built, so that shared dependencies are built once; else into the cache.
    pub(super) fn of(def: &'a CargoDef, target: &Path, own: &Path, cache: &Path) -> Package<'a> {
        let beside = own
            .parent()
            .filter(|folder| folder.ends_with("release"))
            .and_then(Path::parent)
            .filter(|folder| folder.join("CACHEDIR.TAG").is_file());
        Package {
            def,
            folder: absolute(&target.join(&def.folder)),
            output: beside.map_or_else(|| cache.join("cargo"), Path::to_owned),
            packaged: own.with_file_name(&def.package),
        }
    }

    fn bin(&self) -> PathBuf {
        match self.is_packaged() {
            true => self.packaged.clone(),
            false => self.output.join("release").join(&self.def.package),
        }
    }

    fn is_packaged(&self) -> bool {
        let sources = ["Cargo.toml", "src"].map(|name| self.folder.join(name));
        !sources.iter().any(|path| path.exists()) && self.packaged.is_file()
    }

    fn found(&self) -> ProgramPath {
        ProgramPath::outside(self.bin(), format!("cargo {}", self.def.package))
    }

    /// The program, if it is newer than all its sources, or there are none.
    pub(super) fn installed(&self) -> Option<ProgramPath> {
        if self.is_packaged() {
            return Some(self.found());
        }
        let built = fs::metadata(self.bin())
            .and_then(|meta| meta.modified())
            .ok()?;
        let changed = newest(self.folders())?;
        (built >= changed).then(|| self.found())
    }

    /// The package's folder and those of its path dependencies.
    fn folders(&self) -> Vec<PathBuf> {
        let manifest = fs::read_to_string(self.folder.join("Cargo.toml")).unwrap_or_default();
        let named = manifest.lines().filter_map(|line| {
            let (_, path) = line.split_once("path = \"")?;
            Some(self.folder.join(path.split_once('"')?.0))
        });
        let others = named.filter(|folder| folder.join("Cargo.toml").is_file());
        others.chain([self.folder.clone()]).collect()
    }

    pub(super) fn build(&self, say: &mut dyn FnMut(&str)) -> Result<ProgramPath, String> {
        let name = &self.def.package;
        let manifest = self.folder.join("Cargo.toml");
        if !manifest.is_file() {
            return Err(format!(
                "cargo {name}: there is no {}; run Tare from its checkout, or set {} to a program of your own",
                manifest.display(),
                super::variable_of(name)
            ));
        }
        let cargo = locate("cargo").ok_or_else(|| {
            format!("cargo {name}: no cargo here; install Rust from https://rustup.rs")
        })?;
        if let Some(file) = home::untrusted_file(&self.folder, &OBEYED) {
            return Err(format!(
                "cargo {name}: cargo would obey {}, which is somebody else's; remove it, or keep the sources elsewhere",
                file.display()
            ));
        }
        say(&format!(
            "building {name} (the first time takes a minute or two)"
        ));
        let words: [&str; 8] = [
            &cargo.display().to_string(),
            "build",
            "--release",
            "--locked",
            "--quiet",
            &format!("--package={name}"),
            &format!("--manifest-path={}", manifest.display()),
            &format!("--target-dir={}", self.output.display()),
        ];
        let output = subprocess::run_in(&self.folder, &words, ProgramKind::Cargo, BUILD_LIMIT)?;
        if !output.success {
            return Err(format!(
                "cargo {name}: {}: {}",
                output.how,
                first_error(&output)
            ));
        }
        // cargo does not touch a program that is up to date; with its old time it would be built again and again.
        let touched = fs::File::options().append(true).open(self.bin());
        touched
            .and_then(|file| file.set_modified(SystemTime::now()))
            .map_err(|error| {
                format!(
                    "cargo {name}: {} is not there: {error}",
                    self.bin().display()
                )
            })?;
        Ok(self.found())
    }
}

/// cargo's first error: it says more than the last line.
fn first_error(output: &subprocess::Output) -> String {
    let mut lines = output.stderr.lines();
    let error = lines.find(|line| line.starts_with("error"));
    error.unwrap_or_else(|| output.last_line()).to_owned()
}

/// Time of the last change in these folders; `None` when one cannot be read or has too many files.
fn newest(mut open: Vec<PathBuf>) -> Option<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut seen = 0;
    while let Some(path) = open.pop() {
        seen += 1;
        if seen > SOURCES_MAX {
            return None;
        }
        let meta = fs::metadata(&path).ok()?;
        if meta.is_dir() {
            for entry in fs::read_dir(&path).ok()? {
                let entry = entry.ok()?;
                // Changed tests do not rebuild the program.
                if entry.file_name() != "tests" {
                    open.push(entry.path());
                }
            }
        } else {
            newest = newest.max(meta.modified().ok()?);
        }
    }
    Some(newest)
}
