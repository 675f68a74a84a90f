//! Programs that are built from a Go module with go, pinned by the module's checksum.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tare_experiment::target::GoDef;

use super::{ProgramPath, disk, fill, locate, sha256_of};
use crate::subprocess;

/// Timeout: the module and its dependencies over a slow line.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Timeout: a first build on one slow, shared core.
const BUILD_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Step of the progress that is shown while packages are compiled.
const PROGRESS_STEP_PERCENT: usize = 10;
/// Timeout of copying the sources.
const COPY_LIMIT: Duration = Duration::from_secs(2 * 60);

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
        let output = subprocess::run_in(partial, &words, &[("GOWORK", "off")], DOWNLOAD_LIMIT)?;
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
        let sources = partial.join("sources");
        let (from, to) = (dir.display().to_string(), sources.display().to_string());
        let words = ["cp", "--recursive", "--no-preserve=mode", &from, &to];
        let output = subprocess::run(&words, &[], COPY_LIMIT)?;
        if !output.success {
            return Err(format!("its sources: {}", output.last_line()));
        }
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
        // Programs without C run on any machine of the same kind, whatever its libraries.
        let env = [
            ("GOWORK", "off"),
            ("GOFLAGS", "-mod=readonly"),
            ("CGO_ENABLED", "0"),
        ];
        let list = [&go, "list", "-deps", &tags, &self.def.package];
        let all = subprocess::run_in(sources, &list, &env, DOWNLOAD_LIMIT)?;
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
        let output =
            subprocess::run_in_with_progress(sources, &words, &env, BUILD_LIMIT, &mut progress)?;
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
