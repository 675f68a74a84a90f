//! `tare load --session FILE --dry-run`: prints what one session would send, without sending it.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use tare_load::session::Rehearsed;
use tare_schema::load::LoadPlan;
use tare_schema::shown::shown;
use tare_schema::units::Period;

use crate::exit::{Exit, bad_input};
use crate::screen::print;

/// Prints the requests of one session.
pub fn run(plan: &LoadPlan) -> anyhow::Result<ExitCode> {
    let rehearsed = tare_load::rehearse_plan(plan).map_err(bad_input)?;
    let mut text = String::new();
    let mut exit = Exit::Done;
    for one in &rehearsed {
        match one {
            Rehearsed::Sends { name, bytes } => {
                writeln!(text, "── {}", shown(name))?;
                for line in String::from_utf8_lossy(bytes).lines() {
                    writeln!(text, "   {line}")?;
                }
            }
            Rehearsed::Pauses { ns } => {
                writeln!(text, "── pause of {}", Period(Duration::from_nanos(*ns)))?;
            }
            Rehearsed::Fails { why } => {
                writeln!(text, "── fails: {}", shown(why))?;
                exit = Exit::Failed;
            }
            Rehearsed::GoesOn => writeln!(text, "── and so on")?,
        }
    }
    let sends = |one: &&Rehearsed| matches!(one, Rehearsed::Sends { .. });
    let requests = rehearsed.iter().filter(sends).count();
    writeln!(
        text,
        "\n{requests} requests; <name> stands for what would be captured, and nothing was sent"
    )?;
    print(&text)?;
    Ok(exit.into())
}
