//! Confirms a new change for the worse by a run of both versions, interleaved.

use std::collections::BTreeMap;
use std::process::Command;

use serde::Deserialize;
use tare_experiment::find::Library;
use tare_experiment::target::wrong_version;
use tare_record::api::{Confirmation, NightChange, VersionChange};
use tare_record::plan::Form;

use super::process::{self, Ended};
use super::{Place, page};
use crate::values::{BINARY, FOLDER, TARE};

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
        // They are texts of run folders, from whomever: a version with a `/` would be the path of a program to run.
        [one] => match [&one.before, &one.after]
            .into_iter()
            .find_map(|version| wrong_version(version))
        {
            Some(reason) => Err(format!("a version of {} is none: {reason}", one.axis)),
            None => Ok(one),
        },
        [] => Err(without_version(changed)),
        several => {
            let names: Vec<&str> = several.iter().map(|one| one.axis.as_str()).collect();
            let names = tare_record::text::list(&names);
            Err(format!("the versions of {names} changed at the same time"))
        }
    }
}

/// Why there are no two versions to compare, where no target has another one.
fn without_version(changed: &[VersionChange]) -> String {
    let of_end = |end: &str| {
        let axes = changed.iter().map(|one| one.axis.as_str());
        axes.filter_map(|axis| axis.strip_suffix(end))
            .collect::<Vec<_>>()
    };
    let tare = changed.iter().any(|one| one.axis == TARE) || of_end(BINARY).contains(&TARE);
    let folders = of_end(FOLDER);
    match () {
        () if tare => {
            "the version of no target changed with it, but Tare itself did, which may be the cause"
                .to_owned()
        }
        () if !folders.is_empty() => format!(
            "the version of no target changed with it, but the target folder of {} did, which may be the cause",
            tare_record::text::list(&folders)
        ),
        () => "the version of no target changed with it".to_owned(),
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

/// The words of `tare ab`. Texts of run folders are values of options, whatever they begin with.
fn words(change: &NightChange, version: &VersionChange) -> Vec<String> {
    vec![
        String::from("ab"),
        format!("--target={}", version.axis),
        format!("--old-version={}", version.before),
        format!("--new-version={}", version.after),
        format!("--arm={}", change.key.arm),
        String::from("--all-levels"),
        String::from("--json"),
    ]
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
    command.args(words(change, version));
    if change.key.form == Form::Quick {
        command.arg("--quick");
    }
    command.arg("--out").arg(&place.runs);
    command.arg("--").arg(&change.key.experiment);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn change(axis: &str, before: &str, after: &str) -> VersionChange {
        VersionChange {
            axis: axis.to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
        }
    }

    fn reason(changed: &[VersionChange]) -> String {
        let is_target = |name: &str| ["envoy", "nginx"].contains(&name);
        version_change(changed, is_target).unwrap_err()
    }

    #[test]
    fn what_a_run_folder_says_is_a_version_and_never_a_program_or_an_option() {
        let right = change("envoy", "1.40.0", "1.41.0-rc.1+build_2");
        assert_eq!(
            version_change(std::slice::from_ref(&right), |_| true),
            Ok(&right)
        );
        let long = "1".repeat(65);
        for wrong in [
            "/tmp/x",
            "./x",
            "../../bin/x",
            "--program=envoy@x=/tmp/x",
            "-x",
            "a b",
            "1.40.0\n",
            &long,
        ] {
            for changed in [
                change("envoy", wrong, "1.41.0"),
                change("envoy", "1.40.0", wrong),
            ] {
                let said = reason(&[changed]);
                assert!(
                    said.contains("a version of envoy is none"),
                    "{wrong}: {said}"
                );
            }
        }
    }

    #[test]
    fn where_no_target_has_another_version_a_change_of_tare_is_named_as_a_possible_cause() {
        let of_tare = "Tare itself did, which may be the cause";
        for (axis, said) in [
            ("tare", of_tare),
            ("tare binary", of_tare),
            (
                "envoy folder",
                "the target folder of envoy did, which may be the cause",
            ),
            ("kernel", "the version of no target changed with it"),
        ] {
            let reason = reason(&[change(axis, "0011", "2233")]);
            assert!(reason.ends_with(said), "{axis}: {reason}");
        }
        // Both versions are then run by the Tare of now.
        let both = [
            change("tare binary", "0011", "2233"),
            change("envoy", "1.40.0", "1.41.0"),
        ];
        assert_eq!(version_change(&both, |name| name == "envoy"), Ok(&both[1]));
    }
}
