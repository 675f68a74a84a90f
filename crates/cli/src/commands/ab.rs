//! `tare ab`: one arm with two versions of a target, interleaved: is the new one slower?

use std::fmt::Write as _;
use std::process::ExitCode;

use serde::Serialize;
use tare_experiment::target::wrong_version;
use tare_experiment::versions::{Only, PairLevels};
use tare_record::metric::{Metric, Unit};
use tare_record::view::{Family, Outcome, Overhead, View};

use crate::commands::plan::WithVersions;
use crate::commands::run;
use crate::exit::{Exit, bad_input};
use crate::screen::{print, print_json};

/// Names of the two arms.
const ARMS: [&str; 2] = ["old", "new"];

/// Arguments of `tare ab`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Target whose versions are compared.
    #[arg(long, value_name = "TARGET")]
    target: String,
    /// Old version: one of `tare targets`, or the path of a program.
    #[arg(
        long,
        value_name = "VERSION|PATH",
        required_unless_present = "old_version"
    )]
    old: Option<String>,
    /// New version: one of `tare targets`, or the path of a program.
    #[arg(
        long,
        value_name = "VERSION|PATH",
        required_unless_present = "new_version"
    )]
    new: Option<String>,
    /// Old version, never a path: for scripts that got it from somewhere.
    #[arg(long, value_name = "VERSION", conflicts_with = "old", value_parser = version)]
    old_version: Option<String>,
    /// New version, never a path.
    #[arg(long, value_name = "VERSION", conflicts_with = "new", value_parser = version)]
    new_version: Option<String>,
    /// Arm to measure [default: the last one that uses the target].
    #[arg(long, value_name = "ARM")]
    arm: Option<String>,
    /// Measure all levels of the experiment [default: the last one].
    #[arg(long)]
    all_levels: bool,
    #[command(flatten)]
    run: run::Args,
}

/// What `tare ab --json` prints.
#[derive(Debug, Serialize)]
struct AbResult<'a> {
    target: &'a str,
    old: &'a str,
    new: &'a str,
    experiment: &'a str,
    folder: String,
    /// Whether the new version is worse in at least one primary metric.
    slower: bool,
    verdicts: Vec<AbVerdict>,
}

/// The verdict on one metric at one level.
#[derive(Debug, Serialize)]
struct AbVerdict {
    metric: Metric,
    level: String,
    outcome: AbOutcome,
    /// The outcome as a sentence.
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum AbOutcome {
    Worse,
    Better,
    Same,
    Undecided,
    None,
}

/// Parses a version that must not be a path.
fn version(word: &str) -> Result<String, String> {
    match wrong_version(word) {
        Some(reason) => Err(reason.to_owned()),
        None => Ok(word.to_owned()),
    }
}

/// Measures both versions and says whether the new one is slower.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let [old, new] = [
        (&args.old_version, &args.old),
        (&args.new_version, &args.new),
    ]
    .map(|(version, any)| {
        // The parser has seen to it that there is one.
        version
            .as_ref()
            .or(any.as_ref())
            .cloned()
            .unwrap_or_default()
    });
    let mut inner = args.run;
    if inner.experiment.versions.is_some() || inner.resume.is_some() {
        return Err(bad_input(
            "tare ab has two versions, and its run is resumed by `tare run --resume`: leave out --versions and --resume",
        ));
    }
    let name = inner.experiment.name.take();
    inner.experiment.name = Some(name.unwrap_or_else(|| String::from("istio-performance/sidecar")));
    let only = Only::One {
        arm: args.arm.clone(),
        levels: match args.all_levels {
            true => PairLevels::All,
            false => PairLevels::Last,
        },
    };
    let pair = [(old.clone(), Some(ARMS[0])), (new.clone(), Some(ARMS[1]))];
    let versions = WithVersions::new(&args.target, pair.into_iter(), only);
    inner.experiment.versions = Some(versions.map_err(bad_input)?);
    let measured = run::measure(inner, run::Output::WithoutJson)?;
    let Some((view, folder)) = &measured.result else {
        return Ok(measured.exit.into());
    };
    let verdicts: Vec<AbVerdict> = verdicts(view).collect();
    let words = [&old, &new].map(|version| format!("{} {version}", args.target));
    let slower = verdicts.iter().any(|one| one.outcome == AbOutcome::Worse);
    match measured.json {
        true => print_json(&AbResult {
            target: &args.target,
            old: &old,
            new: &new,
            experiment: &view.run.experiment,
            folder: folder.display().to_string(),
            slower,
            verdicts,
        })?,
        false => print(&text(&words, &verdicts))?,
    }
    Ok(match (measured.exit, slower) {
        (Exit::Done, true) => Exit::Failed,
        (exit, _) => exit,
    }
    .into())
}

fn verdicts(view: &View) -> impl Iterator<Item = AbVerdict> {
    let primary = view.overheads.iter();
    let primary = primary.filter(|one| one.family == Family::Primary && one.arm == ARMS[1]);
    let one_level = view.levels.len() == 1;
    primary.map(move |one| {
        let outcome = outcome(one);
        let at = match one_level {
            true => String::new(),
            false => format!(" at {}", one.level),
        };
        let found = match outcome {
            AbOutcome::Worse | AbOutcome::Better => match one.unit {
                Unit::CpuSecondsPer1000 | Unit::Bytes | Unit::Cores => one.ratio_text.clone(),
                _ => format!("{}, {}", one.ratio_text, one.added_text),
            },
            AbOutcome::Undecided => format!(
                "{}, {}",
                one.ratio_text,
                one.outcome_text.trim_start_matches("undecided; ")
            ),
            AbOutcome::Same | AbOutcome::None => one.outcome_text.clone(),
        };
        AbVerdict {
            metric: one.metric,
            level: one.level.clone(),
            outcome,
            text: format!("{}{at} {found}", one.metric.label()),
        }
    })
}

fn outcome(one: &Overhead) -> AbOutcome {
    let grows = one.ratio.is_some_and(|ratio| ratio.estimate > 1.0);
    match &one.outcome {
        Outcome::Differs {
            within_margin: false,
        } => match grows == one.metric.is_rate() {
            true => AbOutcome::Better,
            false => AbOutcome::Worse,
        },
        Outcome::Differs {
            within_margin: true,
        }
        | Outcome::Same => AbOutcome::Same,
        Outcome::Undecided { .. } => AbOutcome::Undecided,
        Outcome::Descriptive | Outcome::None { .. } => AbOutcome::None,
    }
}

/// A line per metric, the worst first: `envoy ./envoy is slower than envoy 1.39.3: …`.
fn text([old, new]: &[String; 2], verdicts: &[AbVerdict]) -> String {
    let of = |outcome: AbOutcome| -> Vec<&AbVerdict> {
        verdicts
            .iter()
            .filter(|one| one.outcome == outcome)
            .collect()
    };
    let is_cost = |one: &AbVerdict| {
        matches!(
            one.metric.unit(),
            Unit::CpuSecondsPer1000 | Unit::Bytes | Unit::Cores
        )
    };
    let mut lines = String::new();
    for (outcome, slower, dearer) in [
        (AbOutcome::Worse, "is slower than", "needs more than"),
        (AbOutcome::Better, "is faster than", "needs less than"),
    ] {
        let (costs, times): (Vec<&AbVerdict>, Vec<&AbVerdict>) =
            of(outcome).into_iter().partition(|one| is_cost(one));
        for (words, some) in [(slower, times), (dearer, costs)] {
            for one in some {
                let _ = writeln!(lines, "{new} {words} {old}: {}", one.text);
            }
        }
    }
    for (outcome, words) in [
        (AbOutcome::Same, "the same within the margin"),
        (AbOutcome::Undecided, "undecided"),
        (AbOutcome::None, "not judged"),
    ] {
        for one in of(outcome) {
            let _ = writeln!(lines, "{words}: {}", one.text);
        }
    }
    lines
}
