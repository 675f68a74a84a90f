//! Confirms a new change for the worse by a run of both versions, interleaved.

use std::collections::BTreeMap;
use std::process::Command;

use serde::Deserialize;
use tare_experiment::find::Library;
use tare_record::api::{Confirmation, NightChange, VersionChange};
use tare_record::plan::Form;

use super::process::{self, Ended};
use super::{Place, page};

/// Confirms all new changes for the worse that are not acknowledged. Metrics and levels of one arm share a run.
pub fn confirm(place: &Place<'_>, changes: &mut [NightChange]) {
    let library = Library::in_directory(&place.options.home, &[]);
    let is_target = |name: &str| {
        library
            .catalog
            .target_names()
            .iter()
            .any(|known| known == name)
    };
    let mut runs: BTreeMap<String, Result<Comparison, String>> = BTreeMap::new();
    for change in changes {
        if !change.change.is_worse || !change.is_new || change.acknowledged.is_some() {
            continue;
        }
        let confirmation = match version_change(&change.change.changed, is_target) {
            Err(reason) => Confirmation::NotTestable { reason },
            Ok(version) => {
                let key = format!(
                    "{:?} {version:?}",
                    (&change.key.experiment, change.key.form, &change.key.arm)
                );
                let compared = runs
                    .entry(key)
                    .or_insert_with(|| compare(place, change, version));
                compared.as_ref().map_or_else(
                    |reason| Confirmation::NotTestable {
                        reason: reason.clone(),
                    },
                    |comparison| comparison.confirmation(change),
                )
            }
        };
        change.confirmation = Some(confirmation);
        (place.say)(&page::change_line(change));
    }
}

/// The one target whose version changed between the two runs.
fn version_change(
    changed: &[VersionChange],
    is_target: impl Fn(&str) -> bool,
) -> Result<&VersionChange, String> {
    let targets: Vec<&VersionChange> = changed.iter().filter(|one| is_target(&one.axis)).collect();
    match targets.as_slice() {
        [one] if one.before.is_empty() || one.after.is_empty() => Err(format!(
            "one of the two versions of {} is not known",
            one.axis
        )),
        [one] => Ok(one),
        [] => Err("the version of no target changed with it".to_owned()),
        several => {
            let names: Vec<&str> = several.iter().map(|one| one.axis.as_str()).collect();
            let names = tare_record::text::list(&names);
            Err(format!("the versions of {names} changed at the same time"))
        }
    }
}

/// What `tare ab --json` prints, as far as it is needed.
#[derive(Debug, Deserialize)]
struct Comparison {
    verdicts: Vec<Verdict>,
}

#[derive(Debug, Deserialize)]
struct Verdict {
    metric: String,
    level: String,
    outcome: VersionOutcome,
}

/// The new version against the old one.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum VersionOutcome {
    Worse,
    Better,
    Same,
    Undecided,
    None,
}

impl Comparison {
    fn confirmation(&self, change: &NightChange) -> Confirmation {
        let metric = change.key.metric.name();
        let mut verdicts = self.verdicts.iter();
        let found = verdicts.find(|one| one.metric == metric && one.level == change.key.level);
        match found.map(|verdict| verdict.outcome) {
            Some(VersionOutcome::Worse) => Confirmation::Confirmed,
            Some(VersionOutcome::Better | VersionOutcome::Same) => Confirmation::NotConfirmed,
            Some(VersionOutcome::Undecided) => Confirmation::Undecided,
            Some(VersionOutcome::None) | None => Confirmation::NotTestable {
                reason: format!(
                    "the comparison has no verdict on {metric} at {}",
                    change.key.level
                ),
            },
        }
    }
}

/// Runs both versions with `tare ab`.
fn compare(
    place: &Place<'_>,
    change: &NightChange,
    version: &VersionChange,
) -> Result<Comparison, String> {
    if let Some(stop) = place.until.reached() {
        return Err(stop.to_string());
    }
    let mut command = Command::new(&place.options.tare);
    command.env("TARE_HOME", &place.options.home);
    command.args([
        "ab",
        "--target",
        &version.axis,
        "--old",
        &version.before,
        "--new",
        &version.after,
    ]);
    command.args([
        &change.key.experiment,
        "--arm",
        &change.key.arm,
        "--all-levels",
        "--json",
        "--out",
    ]);
    command.arg(&place.runs);
    if change.key.form == Form::Quick {
        command.arg("--quick");
    }
    let messages = std::fs::File::create(place.night.join("confirm.messages"));
    command.stderr(messages.map_err(|error| error.to_string())?);
    let ended = process::run(&mut command, None, &place.until);
    let Ended { status, stop, said } =
        ended.map_err(|error| format!("it did not start: {error}"))?;
    if let Some(stop) = stop {
        return Err(stop.to_string());
    }
    match status.code() {
        Some(0 | 1) => serde_json::from_str(&said.document)
            .map_err(|error| format!("the comparison cannot be read: {error}")),
        _ => Err(said.error.unwrap_or_else(|| status.to_string())),
    }
}
