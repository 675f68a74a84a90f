//! `tare targets`: lists and fetches the software that Tare can start.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;
use tare_experiment::catalog::TARGET_FILE;
use tare_experiment::target::{Get, TargetVersions, VERSIONS_FILE, wrong_version};
use tare_lab::LabError;
use tare_lab::fetch::{Fetcher, Software};
use tare_lab::targets::{Target, Targets, builtin_folder};
use tare_record::record::TargetVersion;
use tare_record::topology::{InstanceRole, Security};

use crate::exit::{Exit, bad_input};
use crate::screen::{print, print_json, say};
use crate::values::{maybe, table};

/// Arguments of `tare targets`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Additional directory of target folders, before built-in targets of the same name; may be given several times.
    #[arg(long = "targets", value_name = "DIR", global = true)]
    folders: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
    /// What to do; without it, all targets are listed.
    #[command(subcommand)]
    action: Option<Action>,
}

/// What to do with targets.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Fetch the software of targets, ahead of a run.
    Fetch {
        /// Names of targets.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Remove what was fetched into the cache, and fetch it again.
        #[arg(long)]
        again: bool,
    },
    /// Add a version to a target: its checksum as the package index has it now, into `versions.yaml` of the target's folder.
    Pin {
        /// Name of the target.
        name: String,
        /// Version.
        version: String,
    },
}

/// One target in the output.
#[derive(Debug, Serialize)]
struct TargetRow<'a> {
    target: String,
    about: &'a str,
    roles: &'a [InstanceRole],
    protocols: &'a [String],
    security: &'a [Security],
    /// Sources of its software, in the order of trying.
    get: Vec<String>,
    folder: String,
    /// Versions that an experiment can choose besides the one of its folder.
    versions: Vec<&'a str>,
    /// The installed version.
    present: Option<TargetVersion>,
    /// Why the installed version cannot be used.
    problem: Option<String>,
    /// Installed versions of its further programs.
    programs: BTreeMap<String, TargetVersion>,
}

/// Lists targets, or fetches their software.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let targets = builtin_folder()
        .and_then(|builtin| Targets::load(&builtin, &args.folders))
        .map_err(classify_lab_error)?;
    let fetcher = Fetcher::from_env()?;
    let targets: Vec<Target> = match &args.action {
        None => targets.iter().cloned().collect(),
        Some(Action::Pin { name, version }) => {
            let target = targets.get(name).map_err(classify_lab_error)?;
            vec![pin(target, version)?]
        }
        Some(Action::Fetch { names, again }) => {
            let named: Result<Vec<Target>, LabError> =
                names.iter().map(|name| targets.named(name)).collect();
            let named = named.map_err(classify_lab_error)?;
            for target in &named {
                let further: Vec<Target> = target.programs().collect();
                for one in std::iter::once(target).chain(&further) {
                    let name = one.software_name();
                    let say = &mut |what: &str| say(format_args!("{name}: {what}"));
                    match again {
                        true => fetcher.provide_again(one, say)?,
                        false => fetcher.provide(one, say)?,
                    };
                }
            }
            named
        }
    };
    let rows: Vec<TargetRow<'_>> = targets.iter().map(|target| row(target, &fetcher)).collect();
    if args.json {
        print_json(&rows)?;
    } else {
        print(&text(&rows))?;
    }
    Ok(Exit::Done.into())
}

/// Adds a version to the folder of a target; returns the target at that version.
fn pin(target: &Target, version: &str) -> anyhow::Result<Target> {
    let name = &target.def.target;
    if let Some(reason) = wrong_version(version) {
        return Err(bad_input(reason));
    }
    if target.def.own_version() == Some(version) {
        return Err(bad_input(format!(
            "{version} is the version of {name} already: {TARGET_FILE} pins it"
        )));
    }
    let checksums = Fetcher::checksums(target, version)?;
    let mut versions = TargetVersions::of(&target.folder, &target.def).map_err(bad_input)?;
    let file = target.folder.join(VERSIONS_FILE);
    if let Some(known) = versions.0.get(version) {
        return match *known == checksums {
            true => Ok(target.at(version).map_err(bad_input)?),
            false => Err(bad_input(format!(
                "{}: version {version} is pinned with other checksums than the package index has now; remove it there if the \
                 new ones are right",
                file.display()
            ))),
        };
    }
    versions.0.insert(version.to_owned(), checksums);
    let text = versions.to_yaml(name);
    tare_conduct::write_synced(&file, text.as_bytes()).with_context(|| {
        format!(
            "{} cannot be written: copy the folder {} to one of yours, and name that with --targets",
            file.display(),
            target.folder.display()
        )
    })?;
    let target = Target::load(&target.folder).map_err(bad_input)?;
    target.at(version).map_err(bad_input)
}

/// An invalid target folder or name is bad input (exit code 2); software that cannot be read or fetched is not.
fn classify_lab_error(error: LabError) -> anyhow::Error {
    match error {
        LabError::UnknownTarget { .. }
        | LabError::Target(_)
        | LabError::File { .. }
        | LabError::Plan(_) => bad_input(error),
        other => other.into(),
    }
}

fn row<'a>(target: &'a Target, fetcher: &Fetcher) -> TargetRow<'a> {
    let def = &target.def;
    let (present, problem) = match fetcher.find(target) {
        Ok(Some(Software { version, .. })) => (Some(version), None),
        Ok(None) => (None, None),
        Err(error) => (None, Some(error.to_string())),
    };
    TargetRow {
        target: target.software_name(),
        about: &def.about,
        roles: &def.roles,
        protocols: &def.protocols,
        security: &def.security,
        get: def.get.iter().map(source).collect(),
        folder: target.folder.display().to_string(),
        versions: def.versions.keys().map(String::as_str).collect(),
        present,
        problem,
        programs: target
            .programs()
            .filter_map(|one| Some((one.software_name(), fetcher.find(&one).ok()??.version)))
            .collect(),
    }
}

fn source(get: &Get) -> String {
    match get {
        Get::Own => "Tare itself".to_owned(),
        Get::Path(program) => format!("{program} in PATH"),
        Get::Debian(package) => format!("Debian {}", package.packages.join(" ")),
        Get::Pip(wheel) => format!("pip {}=={}", wheel.package, wheel.version),
        Get::Cargo(package) => format!("built by cargo from {}", package.folder),
        Get::Maven(maven) => format!("maven {}", maven.artifacts.join(" ")),
        Get::Go(go) => format!("go {}@{}", go.module, go.version),
    }
}

fn text(rows: &[TargetRow<'_>]) -> String {
    let header = [
        "target",
        "version",
        "source",
        "roles",
        "protocols",
        "security",
        "further versions",
    ];
    let rows = rows.iter().map(|row| {
        let present = row.present.as_ref();
        let version = present.map(|present| &present.version);
        let version = version.or(row.problem.as_ref());
        let source = present.map(|present| present.source.clone());
        vec![
            row.target.clone(),
            maybe(version),
            source.unwrap_or_else(|| format!("from {}", row.get.join(", or "))),
            words(row.roles),
            row.protocols.join(" "),
            words(row.security),
            row.versions.join(" "),
        ]
    });
    table(&header, rows)
}

/// Enum values as they are written in files.
fn words<T: Serialize>(values: &[T]) -> String {
    let words: Vec<String> = values
        .iter()
        .filter_map(|value| serde_json::to_value(value).ok())
        .filter_map(|value| value.as_str().map(str::to_owned))
        .collect();
    words.join(" ")
}
