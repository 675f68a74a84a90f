//! `tare doctor`: what limits a measurement on this machine, and what to do about it.

use std::path::PathBuf;
use std::process::ExitCode;

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use tare_lab::calibrate;
use tare_lab::doctor;
use tare_lab::fetch::Fetcher;
use tare_lab::targets::{Target, Targets, builtin_folder};
use tare_schema::record::{Check, EnvironmentRecord, Grade};

use crate::exit::Exit;
use crate::screen::{print, print_json};

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
    add_targets(&args, &mut record)?;
    if args.json {
        print_json(&record)?;
    } else {
        print(&in_words(&record))?;
    }
    let exit = match doctor::worst(&record.checks) {
        Grade::Prevents => Exit::Environment,
        Grade::Good | Grade::Limits => Exit::Done,
    };
    Ok(exit.into())
}

/// Adds a check for each target: whether its software is installed, and why not.
fn add_targets(args: &Args, record: &mut EnvironmentRecord) -> anyhow::Result<()> {
    let targets = Targets::load(&builtin_folder()?, &args.targets)?;
    let fetcher = Fetcher::from_env()?;
    for target in targets.iter() {
        let name = format!("target {}", target.def.target);
        record
            .checks
            .push(check_target(&fetcher, target, name, &mut record.targets));
    }
    Ok(())
}

fn check_target(
    fetcher: &Fetcher,
    target: &Target,
    name: String,
    there: &mut std::collections::BTreeMap<String, tare_schema::record::TargetVersion>,
) -> Check {
    let (found, grade, advice) = match fetcher.find(target) {
        Ok(Some(software)) => {
            let version = software.version;
            let found = format!("{} ({})", version.version, version.source);
            there.insert(target.def.target.clone(), version);
            (found, Grade::Good, None)
        }
        Ok(None) => {
            let found = String::from("not here yet; fetched when an experiment needs it");
            (found, Grade::Good, None)
        }
        Err(error) => {
            let advice = format!(
                "{error}; experiments without {} still run",
                target.def.target
            );
            (String::from("not usable"), Grade::Limits, Some(advice))
        }
    };
    Check {
        name,
        found,
        value: None,
        unit: None,
        grade,
        advice,
    }
}

fn in_words(record: &EnvironmentRecord) -> String {
    let mut table = Table::new();
    table
        .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(["", "check", "found"]);
    for check in &record.checks {
        table.add_row([mark(check.grade), &check.name, &check.found]);
    }
    let mut text = format!(
        "{} · {} cores · {:.1} GB · {} · Linux {}\n\n{table}\n",
        record.cpu_model,
        record.cores,
        record.memory_bytes as f64 / 1e9,
        record.os,
        record.kernel,
    );
    text.push_str(&capacity_text(record));
    let advised: Vec<&Check> = record
        .checks
        .iter()
        .filter(|c| c.advice.is_some())
        .collect();
    if advised.is_empty() {
        text.push_str("\nnothing limits a measurement here\n");
        return text;
    }
    text.push_str("\nwhat to do\n");
    for check in advised {
        let advice = check.advice.as_deref().unwrap_or_default();
        text.push_str(&format!("  {}: {advice}\n", check.name));
    }
    text
}

/// The calibrated limits of the machine, or how to measure them.
fn capacity_text(record: &EnvironmentRecord) -> String {
    let Some(calibration) = &record.calibration else {
        return String::from(
            "\nwhat network and disk carry was not measured in the last 24 hours: --calibrate does it\n",
        );
    };
    let mut text = String::from("\nwhat this machine carries with nothing on it\n");
    for (what, found) in calibration.in_words() {
        text.push_str(&format!("  {what}: {found}\n"));
    }
    text
}

fn mark(grade: Grade) -> &'static str {
    match grade {
        Grade::Good => "good",
        Grade::Limits => "limits",
        Grade::Prevents => "PREVENTS",
    }
}
