//! `tare lab down`: stops running test beds.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use tare_lab::lab_state;

use super::LabSelector;
use crate::exit::Exit;
use crate::screen::say;

/// Longest wait for everything to exit; it includes the grace period of every process.
const LIMIT: Duration = Duration::from_secs(30);
/// The same for pods of a cluster: it includes a connection that is cut.
const LIMIT_ELSEWHERE: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(20);

/// Arguments of `tare lab down`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: LabSelector,
    /// Stop all running test beds.
    #[arg(long, conflicts_with = "pid")]
    all: bool,
}

/// Asks the owning processes to exit, and waits until they have.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let meant = match args.all {
        true => lab_state::all(None),
        false => vec![args.which.one()?],
    };
    for one in &meant {
        // An error means that it has just exited by itself: the loop below sees that.
        let _ = one.ask_to_end();
    }
    let begun = Instant::now();
    for one in &meant {
        // Not the file of its state: pods elsewhere are removed after that.
        while one.is_held() {
            let is_elsewhere = one.processes.iter().any(|process| process.enter.is_some());
            let (limit, outlives) = match is_elsewhere {
                false => (LIMIT, "nothing of the bed outlives it"),
                true => (
                    LIMIT_ELSEWHERE,
                    "the run keeper deletes the namespace two minutes later",
                ),
            };
            if begun.elapsed() > limit {
                bail!(
                    "process {} still holds {} after {} s: end it with `kill -9 {}`, {outlives}",
                    one.owner_pid,
                    one.arm,
                    limit.as_secs(),
                    one.owner_pid
                );
            }
            std::thread::sleep(PAUSE);
        }
        say(format_args!("{} is down", one.arm));
    }
    Ok(Exit::Done.into())
}
