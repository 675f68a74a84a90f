//! `tare kafka reassign watch`: follows what moves to its end.

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tare_kafka::admin::Admin;
use tare_kafka::admin::reassign::Moving;
use tare_schema::shown::shown_json;

use crate::commands::kafka::page::{bytes, count};
use crate::commands::kafka::shapes::Motion;
use crate::commands::kafka::{Manner, input_or_cluster};
use crate::exit::Exit;
use crate::screen::{print, print_raw};
use crate::signals;

use super::unthrottle_ours;

/// Between looks.
const PAUSE: Duration = Duration::from_millis(500);

/// Follows; Ctrl-C leaves it running.
pub fn run(admin: &mut Admin, manner: &Manner) -> anyhow::Result<ExitCode> {
    let interrupted = signals::interrupted_flag()?;
    let mut last = None;
    loop {
        let moving = admin.reassignments().map_err(input_or_cluster)?;
        let is_over = moving.is_empty();
        let words = words(&moving);
        if last.as_ref() != Some(&words) {
            match manner.json {
                true => line(admin, moving)?,
                false => print(&format!("{words}\n"))?,
            }
            last = Some(words);
        }
        if is_over {
            break;
        }
        if interrupted.load(Ordering::Relaxed) {
            eprintln!(
                "it goes on without being watched: `tare kafka reassign watch` follows it again and takes limits away at the end, `tare kafka reassign cancel` sends it back"
            );
            return Ok(Exit::Interrupted.into());
        }
        std::thread::sleep(PAUSE);
    }
    let throttles = unthrottle_ours(admin)?;
    if !manner.json && !throttles.is_empty() {
        print("limits on copying are taken away\n")?;
    }
    Ok(Exit::Done.into())
}

fn words(moving: &[Moving]) -> String {
    if moving.is_empty() {
        return "nothing is moving".to_owned();
    }
    let copied: i64 = moving.iter().filter_map(|one| one.copied_bytes).sum();
    let wanted: i64 = moving.iter().filter_map(|one| one.wanted_bytes).sum();
    let known = match wanted {
        0 => String::new(),
        _ => format!(
            ", {} of {} copied ({} %)",
            bytes(copied),
            bytes(wanted),
            copied * 100 / wanted
        ),
    };
    format!("{} moving{known}", count(moving.len(), "partition"))
}

/// One look, one line.
fn line(admin: &mut Admin, moving: Vec<Moving>) -> anyhow::Result<()> {
    let throttles = admin.throttles().map_err(input_or_cluster)?;
    let motion = Motion { moving, throttles };
    print_raw(&format!(
        "{}\n",
        shown_json(&serde_json::to_string(&motion)?)
    ))
}
