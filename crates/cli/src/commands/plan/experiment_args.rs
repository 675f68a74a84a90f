//! The arguments that `plan` and `run` share: the experiment, its form, and overrides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::builder::TypedValueParser;
use tare_experiment::catalog::Catalog;
use tare_experiment::find::Library;
use tare_experiment::resolve::{Redirection, ResolveOptions, resolve};
use tare_experiment::target::{OwnProgram, wrong_version};
use tare_experiment::versions::{NamedVersion, Only, VersionArms, arm_of_version};
use tare_lab::fetch::{self, Fetcher};
use tare_record::plan::{Addressing, Form, Plan};

use super::environment_args::{EnvironmentArgs, EnvironmentKind};
use crate::arguments::words;
use crate::exit::bad_input;

/// An experiment and what is changed about it.
#[derive(Debug, Clone, clap::Args)]
pub struct ExperimentArgs {
    /// Experiment: a file, `study/name`, or an unambiguous name.
    #[arg(value_name = "NAME|FILE")]
    pub name: Option<String>,
    /// Use the quick form of the experiment: smaller, for a first impression.
    #[arg(long)]
    pub quick: bool,
    /// Measure the baseline once per block instead of twice: shorter, without the A/A check.
    #[arg(long)]
    pub no_aa: bool,
    /// Exact number of blocks [default: that of the experiment].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub blocks: Option<u32>,
    /// Seed of every random order [default: that of the experiment].
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=9_007_199_254_740_991))]
    pub seed: Option<u64>,
    /// Addressing of pods [default: that of the experiment].
    #[arg(long, value_parser = addressings())]
    pub addressing: Option<Addressing>,
    #[command(flatten)]
    pub place: EnvironmentArgs,
    /// External part, not started by Tare: `server=127.0.0.1:8080`, several addresses separated by commas; may be given several
    /// times.
    #[arg(long, value_name = "PART=HOST:PORT")]
    pub external: Vec<String>,
    /// Allow public addresses of external parts (neither loopback nor private): only with the operator's consent.
    #[arg(long)]
    pub allow_public_target: bool,
    /// Additional directory of target folders; may be given several times.
    #[arg(long, value_name = "DIR")]
    pub targets: Vec<PathBuf>,
    /// Program of yours as a version of a target, which the setting `version` can then choose; may be given several times.
    #[arg(long = "program", value_name = "TARGET@VERSION=PATH", value_parser = own_program)]
    pub programs: Vec<OwnProgram>,
    /// Measure every arm that uses a target once per version of it: versions of `tare targets`, or paths of programs.
    #[arg(long, value_name = "TARGET=VERSION,…", value_parser = versions)]
    pub versions: Option<WithVersions>,
    /// Additional directory of workload folders; may be given several times.
    #[arg(long, value_name = "DIR")]
    pub workloads: Vec<PathBuf>,
    /// Directory of runs.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
}

/// Versions to measure, and those of them that are programs of the user.
#[derive(Debug, Clone)]
pub struct WithVersions {
    pub arms: VersionArms,
    pub programs: Vec<OwnProgram>,
}

impl WithVersions {
    /// Versions of a target: names of versions, and paths of programs, which get the name of the arm as version.
    pub fn new(
        target: &str,
        versions: impl Iterator<Item = (String, Option<&'static str>)>,
        only: Only,
    ) -> Result<WithVersions, String> {
        let mut all: Vec<NamedVersion> = Vec::new();
        let mut programs = Vec::new();
        for (index, (words, arm)) in versions.enumerate() {
            let is_path = words.contains('/');
            let arm = match arm {
                Some(arm) => arm.to_owned(),
                None if is_path => format!("program-{}", index + 1),
                None => arm_of_version(&words),
            };
            if is_path {
                programs.push(OwnProgram {
                    target: target.to_owned(),
                    version: arm.clone(),
                    path: program_path(&words)?,
                });
            } else if let Some(reason) = wrong_version(&words) {
                return Err(format!("{words}: {reason}; a path has a `/`: ./{words}"));
            }
            let version = if is_path { arm.clone() } else { words.clone() };
            all.push(NamedVersion {
                version,
                words,
                arm,
            });
        }
        Ok(WithVersions {
            arms: VersionArms {
                target: target.to_owned(),
                versions: all,
                only,
            },
            programs,
        })
    }
}

/// Parses `TARGET=VERSION,…` of --versions.
fn versions(word: &str) -> Result<WithVersions, String> {
    let form = || String::from("write TARGET=VERSION,VERSION, such as envoy=1.39.3,1.40.0");
    let (target, versions) = word.split_once('=').ok_or_else(form)?;
    let versions: Vec<&str> = versions.split(',').map(str::trim).collect();
    if versions.len() < 2 || versions.iter().any(|version| version.is_empty()) {
        return Err(form());
    }
    let versions = versions.into_iter();
    WithVersions::new(
        target,
        versions.map(|one| (one.to_owned(), None)),
        Only::All,
    )
}

/// Parses `TARGET@VERSION=PATH` of --program.
pub fn own_program(word: &str) -> Result<OwnProgram, String> {
    let form = || String::from("write TARGET@VERSION=PATH, such as envoy@patched=./envoy");
    let (name, path) = word.split_once('=').ok_or_else(form)?;
    let (target, version) = name.split_once('@').ok_or_else(form)?;
    if let Some(reason) = wrong_version(version) {
        return Err(reason.to_owned());
    }
    Ok(OwnProgram {
        target: target.to_owned(),
        version: version.to_owned(),
        path: program_path(path)?,
    })
}

/// The absolute path of a program, which must exist.
pub fn program_path(path: &str) -> Result<PathBuf, String> {
    let found = Path::new(path).canonicalize();
    let found = found.map_err(|error| format!("{path}: {error}"))?;
    match found.is_file() {
        true => Ok(found),
        false => Err(format!("{path} is not a program")),
    }
}

/// The addressings of pods.
pub fn addressings() -> impl TypedValueParser<Value = Addressing> {
    words::<Addressing>(&[
        ("loopback", "One 127.x.y.z address per pod"),
        ("namespaces", "One network namespace per pod"),
        ("auto", "Network namespaces where possible, else loopback"),
    ])
}

/// The library with additional directories of workloads and of targets.
pub fn library(workloads: &[PathBuf], targets: &[PathBuf]) -> anyhow::Result<Library> {
    for directory in targets.iter().chain(workloads) {
        if !directory.is_dir() {
            return Err(bad_input(format!(
                "{}: there is no such directory",
                directory.display()
            )));
        }
    }
    let here = std::env::current_dir().context("the current directory cannot be read")?;
    let home = tare_lab::home::home().map_err(bad_input)?;
    // For messages: paths below the current directory are relative to it.
    let home = match home.strip_prefix(&here) {
        Ok(below) => below.to_path_buf(),
        Err(_) => home,
    };
    let library = Library::in_directory(&home, tare_load::protocols::infos());
    Ok(library.with(workloads, targets))
}

impl ExperimentArgs {
    /// The library of experiments, workloads and targets.
    pub fn library(&self) -> anyhow::Result<Library> {
        let library = library(&self.workloads, &self.targets)?;
        Ok(library.with_programs(self.own_programs().cloned().collect()))
    }

    /// Programs that the user named as versions of targets.
    pub fn own_programs(&self) -> impl Iterator<Item = &OwnProgram> {
        let of_versions = self.versions.iter().flat_map(|versions| &versions.programs);
        self.programs.iter().chain(of_versions)
    }

    /// The resolved plan. Software that a run would install counts as installed.
    pub fn plan(&self) -> anyhow::Result<Plan> {
        self.resolved(|| (!fetch::would_install_nftables()).then_some(Ok(())))
    }

    /// The resolved plan, after installing missing software that its arms need.
    pub fn plan_to_run(&self, say: &mut dyn FnMut(&str)) -> anyhow::Result<Plan> {
        self.resolved(|| Some(fetch::install_nftables(say)))
    }

    /// Resolves the plan; `install` says whether nftables is installed, or why it cannot be, and nothing if a run would install it.
    fn resolved(
        &self,
        install: impl FnOnce() -> Option<Result<(), String>>,
    ) -> anyhow::Result<Plan> {
        let library = self.library()?;
        let Some(name) = &self.name else {
            return Err(bad_input(format!(
                "no experiment named; there are: {}",
                library
                    .list()
                    .into_iter()
                    .map(|(name, _)| name)
                    .collect::<Vec<_>>()
                    .join(", ")
            )));
        };
        let source = library.find(name).map_err(bad_input)?;
        let mut choices = self.choices()?;
        let mut plan = resolve(&source, &library.catalog, &choices).map_err(bad_input)?;
        let mut source = source;
        if let Some(WithVersions { arms, .. }) = &self.versions {
            source = arms.apply(&source, &plan).map_err(bad_input)?;
            plan = resolve(&source, &library.catalog, &choices).map_err(bad_input)?;
        }
        choices.absent = absent(&plan, &library.catalog)?;
        if !choices.absent.is_empty() {
            plan = resolve(&source, &library.catalog, &choices).map_err(bad_input)?;
        }
        if !plan.redirects() {
            return Ok(plan);
        }
        // It is up to the pods of a cluster, whose image has nftables.
        if self.place.environment == EnvironmentKind::Kubernetes {
            return Ok(plan);
        }
        // Redirection needs nftables, and is not possible with loopback addresses.
        let installed = match plan.addressing {
            Addressing::Loopback => Some(Ok(())),
            _ => install(),
        };
        let Some(installed) = installed else {
            return Ok(plan);
        };
        let own = own_path()?;
        let can = installed.and_then(|()| tare_lab::local::can_redirect(&own, plan.addressing));
        choices.redirection = match can {
            Ok(()) => return Ok(plan),
            Err(reason) => Redirection::Impossible(reason),
        };
        resolve(&source, &library.catalog, &choices).map_err(bad_input)
    }

    fn choices(&self) -> anyhow::Result<ResolveOptions> {
        self.place.check()?;
        Ok(ResolveOptions {
            form: if self.quick { Form::Quick } else { Form::Full },
            cores: match self.place.environment {
                // Cores of nodes are not chosen.
                EnvironmentKind::Kubernetes => Vec::new(),
                _ => allowed_cores(Path::new("/proc/self/status")),
            },
            blocks: self.blocks,
            seed: self.seed,
            aa_check: self.no_aa.then_some(false),
            addressing: self.addressing,
            redirection: Redirection::Possible,
            control_plane: self.place.mesh,
            sites: self.place.sites(),
            absent: BTreeMap::new(),
            external: external(&self.external)?,
            reach: self.allow_public_target.into(),
        })
    }
}

/// Targets of a plan whose software is missing and cannot be fetched, each with where to get it.
fn absent(plan: &Plan, catalog: &Catalog) -> anyhow::Result<BTreeMap<String, String>> {
    let mut absent = BTreeMap::new();
    let instances = plan.arms.iter().flat_map(|arm| &arm.topology.instances);
    let names: BTreeSet<&str> = instances.map(|instance| instance.target.as_str()).collect();
    for name in names {
        let Some(target) = catalog.target(name).map_err(bad_input)? else {
            continue;
        };
        let Some(where_to_get) = &target.def.missing else {
            continue;
        };
        // A program that the user has chosen and that does not work is an error, not a missing one.
        if Fetcher::from_env()?.find(&target)?.is_none() {
            absent.insert(name.to_owned(), where_to_get.clone());
        }
    }
    Ok(absent)
}

/// Parses `PART=HOST:PORT,…` of --external.
fn external(words: &[String]) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for word in words {
        let Some((part, addresses)) = word.split_once('=') else {
            return Err(bad_input(format!(
                "--external {word}: write PART=HOST:PORT, such as server=127.0.0.1:8080"
            )));
        };
        let addresses = addresses.split(',').map(|one| one.trim().to_owned());
        all.entry(part.to_owned()).or_default().extend(addresses);
    }
    Ok(all)
}

/// Path of this program.
pub fn own_path() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("the path of tare itself cannot be read")
}

/// CPU affinity of this process; 0 to N - 1 when the kernel does not list it.
fn allowed_cores(status: &Path) -> Vec<u32> {
    let listed = std::fs::read_to_string(status).ok().and_then(|text| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        parse_cores(line.trim())
    });
    listed.unwrap_or_else(|| {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        (0..u32::try_from(count).unwrap_or(1)).collect()
    })
}

/// `0-3,6` → 0, 1, 2, 3, 6.
fn parse_cores(text: &str) -> Option<Vec<u32>> {
    let mut cores = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        cores.extend(first..=last);
    }
    Some(cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_parts_are_typed_with_their_addresses() {
        let typed = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            external(&words)
        };
        let found = typed(&["server=127.0.0.1:8080", "broker=a:1, b:2", "broker=c:3"]).unwrap();
        assert_eq!(found["server"], ["127.0.0.1:8080"]);
        assert_eq!(found["broker"], ["a:1", "b:2", "c:3"]);
        let said = typed(&["127.0.0.1:8080"]).unwrap_err().to_string();
        assert!(said.contains("PART=HOST:PORT"), "{said}");
    }

    #[test]
    fn the_kernels_list_of_cores_is_read() {
        assert_eq!(parse_cores("0-3,6"), Some(vec![0, 1, 2, 3, 6]));
        assert_eq!(parse_cores("1"), Some(vec![1]));
        assert_eq!(parse_cores("all"), None);
    }
}
