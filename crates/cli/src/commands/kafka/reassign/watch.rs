//! `tare kafka reassign watch`: follows reassignments to their end.

use std::process::ExitCode;
use std::time::Duration;

use tare_kafka_admin::admin::Admin;
use tare_kafka_admin::admin::reassign::Moving;
use tare_schema::shown::shown_json;

use crate::commands::kafka::json_schema::Motion;
use crate::commands::kafka::output::{bytes, count};
use crate::commands::kafka::{CommonArgs, classify_admin_error};
use crate::exit::Exit;
use crate::screen::{is_closed, print, print_raw, say};
use crate::signals::Interruption;

use super::remove_own_throttles;

/// Polling interval.
const PAUSE: Duration = Duration::from_millis(500);

/// Follows the reassignments; Ctrl-C ends the watching only.
pub fn run(admin: &mut Admin, common: &CommonArgs) -> anyhow::Result<ExitCode> {
    let interruption = Interruption::listen()?;
    let mut last = None;
    loop {
        let moving = admin.reassignments().map_err(classify_admin_error)?;
        let is_over = moving.is_empty();
        let words = words(&moving);
        if last.as_ref() != Some(&words) {
            match common.json {
                true => line(admin, moving)?,
                false => print(&format!("{words}\n"))?,
            }
            last = Some(words);
        }
        if is_over {
            break;
        }
        if interruption.is_requested() || is_closed() {
            say(
                "it goes on without being watched: `tare kafka reassign watch` follows it again and takes limits away at the end, `tare kafka reassign cancel` sends it back",
            );
            return Ok(Exit::of_cut(interruption.signal()).into());
        }
        std::thread::sleep(PAUSE);
    }
    let throttles = remove_own_throttles(admin)?;
    if !common.json && !throttles.is_empty() {
        print("replication throttles removed\n")?;
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

/// Prints the present state as one line of JSON.
fn line(admin: &mut Admin, moving: Vec<Moving>) -> anyhow::Result<()> {
    let throttles = admin.throttles().map_err(classify_admin_error)?;
    let motion = Motion { moving, throttles };
    print_raw(&format!(
        "{}\n",
        shown_json(&serde_json::to_string(&motion)?)
    ))
}
