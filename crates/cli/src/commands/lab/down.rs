//! `tare lab down`: takes down what is up.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use tare_lab::standing;

use super::choose::Which;
use crate::exit::Exit;

/// Longest wait for everything to end: the grace of every process is in it.
const LIMIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// Arguments of `tare lab down`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Everything that is up.
    #[arg(long, conflicts_with = "lab")]
    all: bool,
}

/// Asks the holders to end, and waits until they have.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let meant = match args.all {
        true => standing::all(None),
        false => vec![args.which.one()?],
    };
    for one in &meant {
        // One that has just ended by itself needs not be asked: that it is gone is seen below.
        let _ = one.ask_to_end();
    }
    let begun = Instant::now();
    for one in &meant {
        while standing::all(None)
            .iter()
            .any(|left| left.holder_pid == one.holder_pid)
        {
            if begun.elapsed() > LIMIT {
                bail!(
                    "process {} still holds {} after {} s: end it with `kill -9 {}`, nothing of the bed outlives it",
                    one.holder_pid,
                    one.arm,
                    LIMIT.as_secs(),
                    one.holder_pid
                );
            }
            std::thread::sleep(PAUSE);
        }
        eprintln!("{} is down", one.arm);
    }
    Ok(Exit::Done.into())
}
