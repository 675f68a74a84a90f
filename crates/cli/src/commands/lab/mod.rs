//! `tare lab`: starts one arm of an experiment and keeps it running for inspection.

mod clean;
mod down;
mod exec;
mod logs;
mod ps;
mod select;
mod up;

use std::process::ExitCode;

/// Arguments of `tare lab`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    action: Action,
}

/// What to do with test beds.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Start the test bed of one arm and keep it running until Ctrl-C or `tare lab down`.
    Up(up::Args),
    /// List running test beds: pods, addresses, processes.
    Ps(ps::Args),
    /// Run a command in a pod, with the pod's network.
    Exec(exec::Args),
    /// Print the logs of a pod's processes.
    Logs(logs::Args),
    /// Stop a test bed.
    Down(down::Args),
    /// Remove leftovers of crashed runs of Tare.
    Clean,
}

/// Runs the subcommand.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.action {
        Action::Up(args) => up::run(args),
        Action::Ps(args) => ps::run(&args),
        Action::Exec(args) => exec::run(&args),
        Action::Logs(args) => logs::run(&args),
        Action::Down(args) => down::run(&args),
        Action::Clean => clean::run(),
    }
}
