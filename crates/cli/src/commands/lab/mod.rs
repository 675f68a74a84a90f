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
    /// Put one arm up and hold it until Ctrl-C, or `tare lab down`.
    Up(up::Args),
    /// Show what is up: pods, addresses, processes.
    Ps(ps::Args),
    /// Run a command in a pod: it sees the pod's network.
    Exec(exec::Args),
    /// Print what the processes of a pod have written.
    Logs(logs::Args),
    /// Take down what is up.
    Down(down::Args),
    /// Remove what crashed runs have left behind; only what Tare made.
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
