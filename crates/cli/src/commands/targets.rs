//! `tare targets`: lists and fetches the software that Tare can start.

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;
use tare_experiment::target::Get;
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
}

/// One target in the output.
#[derive(Debug, Serialize)]
struct TargetRow<'a> {
    target: &'a str,
    about: &'a str,
    roles: &'a [InstanceRole],
    protocols: &'a [String],
    security: &'a [Security],
    /// Sources of its software, in the order of trying.
    get: Vec<String>,
    folder: String,
    /// The installed version.
    present: Option<TargetVersion>,
    /// Why the installed version cannot be used.
    problem: Option<String>,
}

/// Lists targets, or fetches their software.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let targets = builtin_folder()
        .and_then(|builtin| Targets::load(&builtin, &args.folders))
        .map_err(classify_lab_error)?;
    let fetcher = Fetcher::from_env()?;
    let targets = match &args.action {
        None => targets.iter().collect(),
        Some(Action::Fetch { names, again }) => {
            let named: Result<Vec<&Target>, LabError> =
                names.iter().map(|name| targets.get(name)).collect();
            let named = named.map_err(classify_lab_error)?;
            for target in &named {
                let further: Vec<Target> = target.programs().collect();
                for one in std::iter::once(*target).chain(&further) {
                    let say = &mut |what: &str| say(format_args!("{}: {what}", one.def.target));
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

/// An invalid target folder or name is bad input (exit code 2); software that cannot be read or fetched is not.
fn classify_lab_error(error: LabError) -> anyhow::Error {
    match error {
        LabError::UnknownTarget { .. } | LabError::Target(_) | LabError::File { .. } => {
            bad_input(error)
        }
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
        target: &def.target,
        about: &def.about,
        roles: &def.roles,
        protocols: &def.protocols,
        security: &def.security,
        get: def.get.iter().map(source).collect(),
        folder: target.folder.display().to_string(),
        present,
        problem,
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
    ];
    let rows = rows.iter().map(|row| {
        let present = row.present.as_ref();
        let version = present.map(|present| &present.version);
        let version = version.or(row.problem.as_ref());
        let source = present.map(|present| present.source.clone());
        vec![
            row.target.to_owned(),
            maybe(version),
            source.unwrap_or_else(|| format!("from {}", row.get.join(", or "))),
            words(row.roles),
            row.protocols.join(" "),
            words(row.security),
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
