//! `tare plan`: what an experiment would do, how long it takes, and what it could detect.

pub mod capacity;
mod experiment_args;
mod json;
mod noise;
mod route_diagram;
#[cfg(test)]
mod tests;
mod text;
pub mod times;

use std::process::ExitCode;

pub use experiment_args::{AddressingArg, ExperimentArgs, own_path};
pub use text::not_run;

use crate::exit::Exit;
use crate::screen::{print, print_json};

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
        print_json(&json::value(&plan, &earlier, &times, known.as_ref()))?;
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
