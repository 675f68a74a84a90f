//! `tare plan`: what an experiment would do, how long it takes, and what it could detect.

pub mod capacity;
mod environment_args;
mod experiment_args;
mod noise;
#[cfg(test)]
mod tests;
mod text;
pub mod times;

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use tare_experiment::estimate::{StartupTimes, estimate};
use tare_record::plan::{Capacity, Plan};
use tare_record::secrets::redacted;

pub use environment_args::{EnvironmentArgs, EnvironmentKind, namespace};
pub use experiment_args::{
    ExperimentArgs, WithVersions, addressings, library, own_path, own_program,
};
pub use text::not_run;

use crate::exit::Exit;
use crate::screen::{print, print_json};
use noise::Earlier;

/// Arguments of `tare plan`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// Print the resolved plan and the estimate as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs `tare plan`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let plan = args.experiment.plan()?;
    let earlier = noise::earlier(&args.experiment.out, &plan);
    let times = times::known(&args.experiment.library()?.catalog, &plan);
    let known = capacity::known(&args.experiment.out, &plan);
    if args.json {
        print_json(&as_json(&plan, &earlier, &times, known.as_ref())?)?;
    } else {
        print(&text::text(
            &plan,
            (&earlier, &times),
            &args.experiment.out,
            known.as_ref(),
        ))?;
    }
    Ok(Exit::Done.into())
}

/// The plan as in `plan.json`, with the estimate of its time and the detectable differences.
fn as_json(
    plan: &Plan,
    earlier: &Earlier,
    times: &StartupTimes,
    known: Option<&Capacity>,
) -> serde_json::Result<Value> {
    let kept_plan = redacted(plan)?;
    let kept = capacity::kept(plan, known);
    let estimate = estimate(&kept, times);
    let ns = |time: Option<Duration>| {
        time.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    };
    let detectable = match earlier {
        Earlier::None => Value::Null,
        Earlier::Run { folder, detectable } => json!({
            "run": folder.display().to_string(),
            "differences": detectable.iter().map(|one| json!({
                "level": one.level,
                "metric": one.metric,
                "relative": one.relative,
            })).collect::<Vec<_>>(),
        }),
    };
    Ok(json!({
        "plan": kept_plan,
        "estimate": {
            "trials_per_block": estimate.trials_per_block,
            "trials_min": estimate.trials.0,
            "trials_max": estimate.trials.1,
            "measuring_per_block_ns": ns(estimate.measuring),
            "block_ns": ns(estimate.block),
            "total_min_ns": ns(estimate.total.map(|total| total.0)),
            "total_max_ns": ns(estimate.total.map(|total| total.1)),
            "levels_may_be_left_out": kept.may_skip_levels(),
            "starts_not_yet_timed": times.unknown(plan),
        },
        "minimum_detectable": detectable,
        "not_proved": plan.not_proved().iter().map(|(one, arms)| json!({
            "edge": one.edge,
            "part": one.part,
            "reason": one.reason,
            "arms": arms,
        })).collect::<Vec<_>>(),
        "not_run": not_run(plan).iter().map(|(what, reason)| json!({"what": what, "reason": reason})).collect::<Vec<_>>(),
    }))
}
