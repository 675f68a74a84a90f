//! The commands of `tare`.

pub mod ab;
pub mod compare;
pub mod doctor;
pub mod export;
pub mod history;
pub mod internal;
pub mod lab;
pub mod load;
pub mod merge;
pub mod origin;
pub mod perfcheck;
pub mod plan;
pub mod report;
pub mod run;
pub mod schema;
pub mod serve;
pub mod size;
pub mod suite;
pub mod targets;
pub mod verdict;

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;
use serde::Serialize;
use tare_load::protocols::kafka;
use tare_record::version::{STARTED_BY, VERSION};

use crate::screen;

/// What `tare` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure an experiment and report the result.
    Run(run::Args),
    /// Show the plan of an experiment, its duration and its detectable differences.
    Plan(plan::Args),
    /// Generate load on a URL and measure it.
    Load(Box<load::Args>),
    /// Merge the latencies of several loads.
    Merge(merge::Args),
    /// Run a test server: echo, delays, errors, stalls.
    Origin(origin::Args),
    /// Compare two versions of a target, or a program of yours with one: is it slower?
    Ab(Box<ab::Args>),
    /// Show a run: terminal, HTML, Markdown, CSV or JSON.
    Report(report::Args),
    /// Write a run or a load in the format of another program.
    Export(export::Args),
    /// Compare two runs.
    Compare(compare::Args),
    /// Show values of experiments over all runs, and where they changed.
    History(history::Args),
    /// Run the experiments of a suite in turn, and show what changed.
    Suite(suite::Args),
    /// Size sidecars: CPU and memory of the parts of runs, and of a topology.
    Size(size::Args),
    /// Compare micro-benchmarks of a project with golden files or with an old revision.
    Perfcheck(perfcheck::Args),
    /// Run the test bed of one arm, to explore it.
    Lab(lab::Args),
    /// Administer Kafka clusters.
    #[command(disable_help_flag = true)]
    Kafka(Elsewhere),
    /// Serve a page to run experiments and loads, to watch and to compare them.
    Serve(serve::Args),
    /// Check this machine for limits of measurement.
    Doctor(doctor::Args),
    /// Print the JSON Schema of a file format.
    Schema(schema::Args),
    /// List targets, and fetch their software.
    Targets(targets::Args),
    /// Print a shell completion script.
    #[command(disable_help_flag = true)]
    Completions(Elsewhere),
    /// Print the manual page, or write those of all commands.
    #[command(disable_help_flag = true)]
    Man(Elsewhere),
    /// Run a load plan (started by an environment).
    #[command(hide = true)]
    Agent(internal::AgentArgs),
    /// Hold the processes of a run (started by `run`).
    #[command(hide = true)]
    Keeper(internal::KeeperArgs),
    /// Hold the links between the sites of a bed (started by an environment).
    #[command(hide = true)]
    Link(internal::LinkArgs),
}

/// Commands with the arguments [`Elsewhere`].
const ELSEWHERE: [&str; 3] = ["kafka", "completions", "man"];

/// Arguments of a command that is in another program.
#[derive(Debug, clap::Args)]
pub struct Elsewhere {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

impl Command {
    /// Runs the command.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Command::Run(args) => run::run(args),
            Command::Plan(args) => plan::run(args),
            Command::Load(args) => load::run(*args),
            Command::Merge(args) => merge::run(args),
            Command::Origin(args) => origin::run(args),
            Command::Ab(args) => ab::run(*args),
            Command::Report(args) => report::run(args),
            Command::Export(args) => export::run(args),
            Command::Compare(args) => compare::run(args),
            Command::History(args) => history::run(args),
            Command::Suite(args) => suite::run(args),
            Command::Size(args) => size::run(args),
            Command::Perfcheck(args) => perfcheck::run(args),
            Command::Lab(args) => lab::run(args),
            Command::Doctor(args) => doctor::run(args),
            Command::Serve(args) => serve::run(args),
            Command::Schema(args) => schema::run(args),
            Command::Targets(args) => targets::run(args),
            Command::Kafka(_) | Command::Completions(_) | Command::Man(_) => {
                match replace_by_kafka()? {}
            }
            Command::Agent(args) => internal::agent(&args),
            Command::Keeper(args) => internal::keeper(args),
            Command::Link(args) => internal::link(&args),
        }
    }
}

/// The path of a program of Tare beside this one; in a checkout it is built when it is first used.
fn own_program(name: &str) -> anyhow::Result<PathBuf> {
    let mut said = |words: &str| screen::say(format_args!("{words}"));
    tare_lab::fetch::own_program(name, &mut said).map_err(anyhow::Error::msg)
}

/// Replaces this process by a program of its own beside it: what that needs stays out of the generator's process and of the first
/// build. It gets its options as JSON.
fn replace_by(name: &str, options: &impl Serialize) -> anyhow::Result<Infallible> {
    let program = own_program(name)?;
    let options = serde_json::to_string(options).context("a path is not UTF-8")?;
    replace_by_program(&program, [options])
}

/// Goes on as the program that has the help which these words ask for: `help kafka`.
pub fn help_elsewhere(words: impl Iterator<Item = OsString>) -> anyhow::Result<()> {
    let mut words = words.skip_while(|word| word != "help").skip(1);
    let is_elsewhere = |word: OsString| ELSEWHERE.iter().any(|name| word == *name);
    match words.next().is_some_and(is_elsewhere) {
        true => ensure_kafka(),
        false => Ok(()),
    }
}

/// Goes on as the program that has the clients of Kafka, unless this one has them.
pub fn ensure_kafka() -> anyhow::Result<()> {
    match kafka::PRODUCE.is_installed() {
        true => Ok(()),
        false => match replace_by_kafka()? {},
    }
}

/// Replaces this process by the program that has the clients of Kafka, with the same arguments.
fn replace_by_kafka() -> anyhow::Result<Infallible> {
    let program = own_program("with-kafka")?;
    replace_by_program(&program, std::env::args_os().skip(1))
}

/// Replaces this process. The program compares the version that it is told with its own.
fn replace_by_program(
    program: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> anyhow::Result<Infallible> {
    let error = std::process::Command::new(program)
        .args(arguments)
        .env(STARTED_BY, VERSION)
        .exec();
    Err(anyhow::Error::new(error).context(format!("cannot start {}", program.display())))
}
