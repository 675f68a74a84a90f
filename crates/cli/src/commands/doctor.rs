//! `tare doctor`: what limits a measurement on this machine, and what to do about it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use tare_kubernetes::KnownMesh;
use tare_lab::fetch::{Fetcher, OWN_PROGRAMS, own_program_found};
use tare_lab::targets::{Target, Targets, builtin_folder};
use tare_lab::{calibrate, doctor};
use tare_record::record::{Check, EnvironmentRecord, Grade, TargetVersion};

use crate::commands::plan::{library, namespace};
use crate::commands::run::as_installed;
use crate::exit::{Exit, bad_input};
use crate::screen::{print, print_json};
use crate::values::table;

/// Arguments of `tare doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory of runs, on the disk to check.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    out: PathBuf,
    /// Additional directory of target folders; may be given several times.
    #[arg(long, value_name = "DIR")]
    targets: Vec<PathBuf>,
    /// Calibrate now: throughput of the idle machine's network and disk (a run does so if the last calibration is older than 24
    /// hours).
    #[arg(long)]
    calibrate: bool,
    /// Also check a Kubernetes cluster: that of this context of kubectl's configuration, or of the current one.
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    context: Option<String>,
    /// With --context: for runs in this namespace (`tare run --namespace`).
    #[arg(long, value_name = "NAME", requires = "context", value_parser = namespace)]
    namespace: Option<String>,
    /// Print machine and checks as JSON, in the format of `environment.json`.
    #[arg(long)]
    json: bool,
}

/// Examines the machine; ends with 3 when something prevents a measurement.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let checks = doctor::examine(&args.out, &[]);
    let mut record = doctor::describe("local", "loopback", checks);
    let cache = Fetcher::from_env()?.cache;
    record.calibration = if args.calibrate {
        Some(calibrate::measure_and_cache(&cache, &args.out)?)
    } else {
        calibrate::from_cache(&cache, &args.out)
    };
    record.checks.extend(OWN_PROGRAMS.map(check_program));
    add_targets(&args, &mut record)?;
    if let Some(context) = args.context {
        let named = Some(context).filter(|name| !name.is_empty());
        let meshes = known_meshes(&args.targets)?;
        let checks = tare_kubernetes::examine(named, args.namespace.as_deref(), &meshes);
        record.checks.extend(checks);
    }
    if args.json {
        print_json(&record)?;
    } else {
        print(&text(&record))?;
    }
    let exit = match doctor::worst(&record.checks) {
        Grade::Error => Exit::Environment,
        Grade::Ok | Grade::Warning => Exit::Done,
    };
    Ok(exit.into())
}

/// Meshes that a cluster may have.
fn known_meshes(targets: &[PathBuf]) -> anyhow::Result<Vec<KnownMesh>> {
    let catalog = library(&[], targets)?.catalog;
    let mut all = Vec::new();
    for name in catalog.mesh_names() {
        if let Some(def) = catalog.mesh(&name).map_err(bad_input)? {
            let others = def.detected.iter();
            let others = others.map(|one| (one.what.clone(), one.pods.clone()));
            all.push(KnownMesh {
                others: others.collect(),
                installed: as_installed(&catalog, def, false)?,
            });
        }
    }
    Ok(all)
}

/// Adds a check for each target and each further program of one: whether it is installed, and why not.
fn add_targets(args: &Args, record: &mut EnvironmentRecord) -> anyhow::Result<()> {
    let targets = Targets::load(&builtin_folder()?, &args.targets)?;
    let fetcher = Fetcher::from_env()?;
    for target in targets.iter() {
        let programs: Vec<Target> = target.programs().collect();
        for software in std::iter::once(target).chain(&programs) {
            if !record.targets.contains_key(&software.software_name()) {
                let check = check_target(&fetcher, software, &mut record.targets);
                record.checks.push(check);
            }
        }
    }
    Ok(())
}

/// Whether a program behind `tare` has been built.
fn check_program((name, command): (&str, &str)) -> Check {
    Check {
        name: format!("program tare-{name}"),
        found: match own_program_found(name) {
            Some(path) => path.display().to_string(),
            None => format!("not built yet; built when {command} needs it"),
        },
        value: None,
        unit: None,
        grade: Grade::Ok,
        advice: None,
    }
}

fn check_target(
    fetcher: &Fetcher,
    target: &Target,
    there: &mut BTreeMap<String, TargetVersion>,
) -> Check {
    let of = &target.software_name();
    let (found, grade, advice) = match fetcher.find(target) {
        Ok(Some(software)) => {
            let version = software.version;
            let found = format!("{} ({})", version.version, version.source);
            there.insert(of.clone(), version);
            (found, Grade::Ok, None)
        }
        Ok(None) => {
            let found = "not here yet; fetched when an experiment needs it";
            (found.to_owned(), Grade::Ok, None)
        }
        Err(error) => {
            let advice = format!("{error}; experiments without {of} still run");
            ("not usable".to_owned(), Grade::Warning, Some(advice))
        }
    };
    Check {
        name: format!("target {of}"),
        found,
        value: None,
        unit: None,
        grade,
        advice,
    }
}

fn text(record: &EnvironmentRecord) -> String {
    let checks = record.checks.iter().map(|check| {
        let mark = mark(check.grade).to_owned();
        vec![mark, check.name.clone(), check.found.clone()]
    });
    let mut text = format!(
        "{} · {} cores · {:.1} GB · {} · Linux {}\n\n{}",
        record.cpu_model,
        record.cores,
        record.memory_bytes as f64 / 1e9,
        record.os,
        record.kernel,
        table(&["", "check", "found"], checks),
    );
    text.push_str(&capacity_text(record));
    let advised = record.checks.iter();
    let advised = advised.filter_map(|check| Some((&check.name, check.advice.as_ref()?)));
    let advice: String = advised
        .map(|(name, advice)| format!("  {name}: {advice}\n"))
        .collect();
    text.push_str(&match advice.is_empty() {
        true => "\nnothing limits a measurement here\n".to_owned(),
        false => format!("\nwhat to do\n{advice}"),
    });
    text
}

/// The calibrated limits of the machine, or how to measure them.
fn capacity_text(record: &EnvironmentRecord) -> String {
    let Some(calibration) = &record.calibration else {
        return String::from(
            "\nthroughput of network and disk not measured in the last 24 hours: use --calibrate\n",
        );
    };
    let mut text = String::from("\nbaseline of this machine: throughput without load\n");
    for (what, found) in calibration.in_words() {
        text.push_str(&format!("  {what}: {found}\n"));
    }
    text
}

fn mark(grade: Grade) -> &'static str {
    match grade {
        Grade::Ok => "ok",
        Grade::Warning => "warning",
        Grade::Error => "ERROR",
    }
}
