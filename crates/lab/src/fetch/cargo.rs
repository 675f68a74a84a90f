//! Programs that are built from source beside the target folder, by the ordinary cargo client.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tare_schema::target::CargoDef;

use super::{Found, absolute, locate};
use crate::{home, tool};

/// A first build with everything it depends on, on one slow core.
const BUILD_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Folders and files looked at to see whether the sources have changed; a package has far fewer.
const SOURCES_MAX: usize = 10_000;

/// What cargo and rustup obey in the package's folder and in every folder above it.
const OBEYED: [&str; 6] = [
    ".cargo",
    ".cargo/config",
    ".cargo/config.toml",
    "Cargo.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
];

/// The package, and where its program comes to lie.
pub(super) struct Package<'a> {
    def: &'a CargoDef,
    /// Folder of the package.
    folder: PathBuf,
    /// Folder of build output.
    output: PathBuf,
}

impl<'a> Package<'a> {
    /// Build output goes where Tare's own program was built, so that nothing they share is built twice; else into the cache.
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
        }
    }

    fn bin(&self) -> PathBuf {
        self.output.join("release").join(&self.def.package)
    }

    fn found(&self) -> Found {
        Found {
            bin: self.bin(),
            source: format!("cargo {}", self.def.package),
        }
    }

    /// The program, when it is newer than everything it was made from.
    pub(super) fn present(&self) -> Option<Found> {
        let built = fs::metadata(self.bin())
            .and_then(|meta| meta.modified())
            .ok()?;
        let changed = newest(self.folders())?;
        (built >= changed).then(|| self.found())
    }

    /// Its own folder and those of the packages that its manifest names by path: what of ours it is made of.
    fn folders(&self) -> Vec<PathBuf> {
        let manifest = fs::read_to_string(self.folder.join("Cargo.toml")).unwrap_or_default();
        let named = manifest.lines().filter_map(|line| {
            let (_, path) = line.split_once("path = \"")?;
            Some(self.folder.join(path.split_once('"')?.0))
        });
        let others = named.filter(|folder| folder.join("Cargo.toml").is_file());
        others.chain([self.folder.clone()]).collect()
    }

    /// Builds it.
    pub(super) fn build(&self, say: &mut dyn FnMut(&str)) -> Result<Found, String> {
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
        if let Some(file) = home::of_stranger(&self.folder, &OBEYED) {
            return Err(format!(
                "cargo {name}: cargo would obey {}, which is somebody else's; remove it, or keep the sources elsewhere",
                file.display()
            ));
        }
        say(&format!(
            "building {name} (the first time takes a minute or two)"
        ));
        let words = [
            cargo.display().to_string(),
            "build".to_owned(),
            "--release".to_owned(),
            "--locked".to_owned(),
            "--quiet".to_owned(),
            format!("--package={name}"),
            format!("--manifest-path={}", manifest.display()),
            format!("--target-dir={}", self.output.display()),
        ];
        let output = tool::run_in(&self.folder, &words, &[], BUILD_LIMIT)?;
        if !output.success {
            return Err(format!(
                "cargo {name}: {}: {}",
                output.how,
                first_error(&output)
            ));
        }
        // cargo leaves a finished program alone, and its time with it: then it would be built again and again.
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

/// cargo's own words: the first error says more than the last line.
fn first_error(output: &tool::Output) -> String {
    let mut lines = output.stderr.lines();
    let error = lines.find(|line| line.starts_with("error"));
    error.unwrap_or_else(|| output.last_line()).to_owned()
}

/// When the folders' files changed last; `None` when one cannot be read or they have too many.
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
                // Cargo makes no new program of changed tests.
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
