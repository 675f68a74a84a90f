//! Programs that are built from a Go module with go, pinned by the module's checksum.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tare_experiment::target::GoDef;
use tare_record::locate::locate;

use super::{ProgramPath, disk, fill, sha256, sha256_of};
use crate::subprocess;
use crate::variables::ProgramKind;

/// Timeout: the module and its dependencies over a slow line.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Timeout: a first build on one slow, shared core.
const BUILD_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Step of the progress that is shown while packages are compiled.
const PROGRESS_STEP_PERCENT: usize = 10;
/// Timeout of copying the sources.
const COPY_LIMIT: Duration = Duration::from_secs(2 * 60);

/// What Go is told: nothing of the user's workspace or flags, no other toolchain than the one that is here, and no C: such programs
/// run on any machine of the same kind, whatever its libraries.
const VARIABLES: [(&str, &str); 4] = [
    ("GOWORK", "off"),
    ("GOFLAGS", "-mod=readonly"),
    ("GOTOOLCHAIN", "local"),
    ("CGO_ENABLED", "0"),
];
/// Files of a module; the largest has some thousands.
const FILES_MAX: usize = 100_000;

/// A module and where its program is built.
pub(super) struct Module<'a> {
    def: &'a GoDef,
    target: &'a str,
    cache: &'a Path,
}

/// Output of `go mod download -json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Downloaded {
    dir: Option<PathBuf>,
    sum: Option<String>,
    error: Option<String>,
}

impl<'a> Module<'a> {
    pub(super) fn of(def: &'a GoDef, target: &'a str, cache: &'a Path) -> Module<'a> {
        Module { def, target, cache }
    }

    /// The program from an earlier build.
    pub(super) fn installed(&self) -> Option<ProgramPath> {
        let bin = self.folder()?.join(self.target);
        bin.is_file().then(|| self.found(bin))
    }

    /// Downloads, verifies and builds.
    pub(super) fn build(&self, say: &mut dyn FnMut(&str)) -> Result<ProgramPath, String> {
        let name = self.name();
        let go = locate("go").ok_or_else(|| {
            format!(
                "go {name}: no go here; install Go from https://go.dev/dl and let it be in PATH"
            )
        })?;
        let folder = self
            .folder()
            .ok_or_else(|| format!("go {name}: the cache {} has no path", self.cache.display()))?;
        let built = fill(&folder, |partial| {
            let sources = self.download(&go, partial, say)?;
            self.compile(&go, &sources, partial, say)
        });
        built.map_err(|reason| format!("go {name}: {reason}"))?;
        Ok(self.found(folder.join(self.target)))
    }

    fn name(&self) -> String {
        format!("{}@{}", self.def.module, self.def.version)
    }

    fn found(&self, bin: PathBuf) -> ProgramPath {
        ProgramPath {
            source: format!("go {}", self.name()),
            cached: bin.parent().map(Path::to_owned),
            bin,
        }
    }

    /// The folder's name contains a checksum of everything that determines the build.
    fn folder(&self) -> Option<PathBuf> {
        let sum = sha256_of(&[format!("{:?}", self.def)]);
        let name = format!("{}-{}.d", self.target, sum.get(..12)?);
        // go runs in another folder: the path must be absolute.
        let cache = std::path::absolute(self.cache).ok()?;
        Some(cache.join("go").join(name))
    }

    /// A writable copy of the sources: Go's module cache is read-only.
    fn download(
        &self,
        go: &Path,
        partial: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, String> {
        // Outside of a module go does not download to its cache.
        let scratch = partial.join("go.mod");
        fs::write(&scratch, "module fetched\n").map_err(disk(&scratch))?;
        say(&format!("downloading {} with Go", self.name()));
        let go = go.display().to_string();
        let words: [&str; 5] = [&go, "mod", "download", "-json", &self.name()];
        let variables = ProgramKind::Go.with(&VARIABLES);
        let output = subprocess::run_in(partial, &words, variables, DOWNLOAD_LIMIT)?;
        let module_info: Downloaded = serde_json::from_str(&output.stdout)
            .map_err(|_| format!("go said: {}", output.last_line()))?;
        if let Some(error) = module_info.error {
            return Err(format!(
                "the module cannot be had ({error}); check the network or GOPROXY"
            ));
        }
        let (Some(dir), Some(sum)) = (module_info.dir, module_info.sum) else {
            return Err(format!("go said: {}", output.last_line()));
        };
        self.verified(&sum)?;
        // That is the sum of the archive in Go's cache. The folder beside it is what would be built, and a user may have changed it.
        let sources = partial.join("sources");
        let (from, to) = (dir.display().to_string(), sources.display().to_string());
        let words = ["cp", "--recursive", "--no-preserve=mode", &from, &to];
        let output = subprocess::run(&words, ProgramKind::Plain, COPY_LIMIT)?;
        if !output.success {
            return Err(format!("its sources: {}", output.last_line()));
        }
        self.verified(&sum_of(&sources, &self.name())?)?;
        for (path, text) in &self.def.files {
            let path = sources.join(path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(disk(folder))?;
            }
            fs::write(&path, text).map_err(disk(&path))?;
        }
        Ok(sources)
    }

    /// Compares Go's own checksum over all files of the module; its go.sum has those of its dependencies.
    fn verified(&self, sum: &str) -> Result<(), String> {
        if sum == self.def.sum {
            return Ok(());
        }
        Err(format!(
            "its checksum is {sum}, not {}; it was not used",
            self.def.sum
        ))
    }

    fn compile(
        &self,
        go: &Path,
        sources: &Path,
        partial: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), String> {
        say(&format!(
            "building {} (the first time takes some minutes)",
            self.name()
        ));
        // Without symbols: they double the size, and nothing here is debugged.
        let mut linker = vec![String::from("-s -w")];
        for (name, value) in &self.def.variables {
            linker.push(format!("-X '{name}={value}'"));
        }
        let go = go.display().to_string();
        let tags = format!("-tags={}", self.def.tags.join(","));
        let words: [&str; 8] = [
            &go,
            "build",
            "-v",
            "-trimpath",
            &tags,
            &format!("-ldflags={}", linker.join(" ")),
            &format!("-o={}", partial.join(self.target).display()),
            &self.def.package,
        ];
        let variables = ProgramKind::Go.with(&VARIABLES);
        let list = [&go, "list", "-deps", &tags, &self.def.package];
        let all = subprocess::run_in(sources, &list, variables, DOWNLOAD_LIMIT)?;
        // The dependencies lie in the same cache; Go compares only what it downloads.
        let verify = [&go, "mod", "verify"];
        let verified = subprocess::run_in(sources, &verify, variables, DOWNLOAD_LIMIT)?;
        if !verified.success {
            return Err(format!(
                "its dependencies in Go's cache are not as they were downloaded ({}): `go clean -modcache` removes them",
                verified.last_line()
            ));
        }
        let packages = all.stdout.lines().count();
        let mut shown = 0;
        let mut progress = |compiled: usize| {
            let percent = compiled * 100 / packages.max(1);
            if percent >= shown + PROGRESS_STEP_PERCENT {
                shown = percent;
                say(&format!(
                    "building {}: {compiled} of {packages} packages",
                    self.target
                ));
            }
        };
        let output = subprocess::run_in_with_progress(
            sources,
            &words,
            variables,
            BUILD_LIMIT,
            &mut progress,
        )?;
        if !output.success {
            return Err(format!("{}: {}", output.how, error_of(&output)));
        }
        for file in &self.def.keep {
            let name = Path::new(file).file_name().unwrap_or_default();
            let (from, to) = (sources.join(file), partial.join(name));
            fs::copy(&from, &to).map_err(disk(&from))?;
        }
        fs::remove_dir_all(sources).map_err(disk(sources))
    }
}

/// Go's checksum `h1` of a folder as the module `name` (`golang.org/x/mod/sumdb/dirhash`): over the SHA-256 and the name of each file.
fn sum_of(folder: &Path, name: &str) -> Result<String, String> {
    let mut files = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(within) = open.pop() {
        let path = folder.join(&within);
        for entry in fs::read_dir(&path).map_err(disk(&path))? {
            let entry = entry.map_err(disk(&path))?;
            let within = within.join(entry.file_name());
            let kind = entry.file_type().map_err(disk(&path))?;
            match within.to_str() {
                _ if kind.is_dir() => open.push(within),
                Some(file) if kind.is_file() && files.len() < FILES_MAX => {
                    files.push(format!("{name}/{file}"));
                }
                _ => {
                    return Err(format!(
                        "{} is no file of a module, or there are more than {FILES_MAX}",
                        folder.join(within).display()
                    ));
                }
            }
        }
    }
    files.sort();
    let mut digest = Sha256::new();
    for file in &files {
        let path = folder.join(&file[name.len() + 1..]);
        let sum = sha256(&path).map_err(disk(&path))?;
        digest.update(format!("{sum}  {file}\n"));
    }
    Ok(format!("h1:{}", BASE64.encode(digest.finalize())))
}

/// The last line that is not the name of a package that was compiled.
fn error_of(output: &subprocess::Output) -> &str {
    let mut lines = output.stderr.lines().rev();
    let error = lines.find(|line| line.trim().contains(' '));
    error.unwrap_or_else(|| output.last_line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_build_is_not_the_name_of_a_package() {
        let output = |stderr: &str| subprocess::Output {
            success: false,
            how: String::new(),
            stdout: String::new(),
            stderr: stderr.to_owned(),
        };
        let failed = output("a/b\n# a/c\nc.go:3:1: undefined: x\na/d\n");
        assert_eq!(error_of(&failed), "c.go:3:1: undefined: x");
        assert_eq!(error_of(&output("killed\n")), "killed");
    }

    fn def() -> GoDef {
        GoDef {
            module: "example.org/it".to_owned(),
            version: "v1.2.3".to_owned(),
            sum: "h1:right".to_owned(),
            package: "./cmd/it".to_owned(),
            tags: Vec::new(),
            variables: [].into(),
            files: [].into(),
            keep: Vec::new(),
        }
    }

    #[test]
    fn another_version_tag_or_file_is_another_folder() {
        let folder = |def: &GoDef| Module::of(def, "it", Path::new("/cache")).folder().unwrap();
        let first = folder(&def());
        assert!(first.starts_with("/cache/go"), "{}", first.display());
        let mut changed = [def(), def(), def()];
        changed[0].version = "v1.2.4".to_owned();
        changed[1].tags = vec!["lean".to_owned()];
        changed[2].files = [("a".to_owned(), "b".to_owned())].into();
        for def in &changed {
            assert_ne!(folder(def), first);
        }
        assert_eq!(folder(&def()), first);
    }

    #[test]
    fn a_module_with_another_checksum_is_not_used() {
        let def = def();
        let module = Module::of(&def, "it", Path::new("/cache"));
        assert_eq!(module.verified("h1:right"), Ok(()));
        let refused = module.verified("h1:other").unwrap_err();
        assert!(refused.contains("h1:other, not h1:right") && refused.contains("not used"));
    }

    const SUM: &str = "h1:fMYDudowA2ZwFf9g5BNGHajrTV4kjJZtj+Do9Q6Btrg=";

    #[test]
    fn a_folder_of_the_module_cache_that_was_changed_is_not_built() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("module/cmd/it")).unwrap();
        fs::create_dir(at("partial")).unwrap();
        fs::write(at("module/go.mod"), "module example.org/it\n").unwrap();
        fs::write(at("module/cmd/it/main.go"), "package main\n").unwrap();
        // A go that tells the right sum, that of the archive, whatever the folder beside it has.
        let script = format!(
            "#!/bin/sh\nenv >{}\necho '{{\"Dir\": \"{}\", \"Sum\": \"{SUM}\"}}'\n",
            at("environment").display(),
            at("module").display()
        );
        crate::fetch::tests::write_program(&at("go"), &script);
        let mut def = def();
        def.sum = SUM.to_owned();
        let module = Module::of(&def, "it", place.path());
        let download = || module.download(&at("go"), &at("partial"), &mut |_| ());
        let sources = download().unwrap();
        assert!(sources.join("cmd/it/main.go").is_file());

        fs::write(at("module/cmd/it/main.go"), "package other\n").unwrap();
        fs::remove_dir_all(sources).unwrap();
        let refused = download().unwrap_err();
        assert!(refused.contains("not used"), "{refused}");
        fs::remove_dir_all(at("partial/sources")).unwrap();
        fs::write(at("module/cmd/it/main.go"), "package main\n").unwrap();
        fs::write(at("module/cmd/it/added.go"), "package main\n").unwrap();
        assert!(download().is_err());

        let environment = fs::read_to_string(at("environment")).unwrap();
        // Neither a toolchain nor flags of the user's choice.
        for variable in [
            "GOTOOLCHAIN=local",
            "GOFLAGS=-mod=readonly",
            "GOWORK=off",
            "CGO_ENABLED=0",
        ] {
            assert!(
                environment.lines().any(|line| line == variable),
                "{environment}"
            );
        }
    }

    #[test]
    fn dependencies_that_were_changed_in_the_module_cache_are_not_built() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("partial/sources")).unwrap();
        let script = format!(
            "#!/bin/sh\ncase \"$1 $2\" in 'mod verify') cat {0}; test ! -s {0} ;; build*) : >{1} ;; esac\n",
            at("modified").display(),
            at("built").display()
        );
        crate::fetch::tests::write_program(&at("go"), &script);
        let def = def();
        let module = Module::of(&def, "it", place.path());
        let (sources, partial) = (at("partial/sources"), at("partial"));
        let compile = || module.compile(&at("go"), &sources, &partial, &mut |_| ());
        let said = "example.org/other v1.0.0: dir has been modified";
        fs::write(at("modified"), format!("{said}\n")).unwrap();
        let refused = compile().unwrap_err();
        assert!(
            refused.contains(said) && refused.contains("go clean -modcache"),
            "{refused}"
        );
        assert!(!at("built").exists());
        fs::write(at("modified"), "").unwrap();
        compile().unwrap();
        assert!(at("built").exists());
    }

    #[test]
    fn what_was_built_is_there_and_nothing_is_when_it_was_cut_short() {
        let cache = tempfile::tempdir().unwrap();
        let def = def();
        let module = Module::of(&def, "it", cache.path());
        let folder = module.folder().unwrap();
        let partial = folder.with_extension("partial");
        fs::create_dir_all(&partial).unwrap();
        fs::write(partial.join("it"), "").unwrap();
        assert!(module.installed().is_none());
        fs::rename(&partial, &folder).unwrap();
        let found = module.installed().unwrap();
        assert_eq!(found.bin, folder.join("it"));
        assert_eq!(found.source, "go example.org/it@v1.2.3");
    }
}
