//! What a reader has to know beside the table: sessions that are missing, benchmarks that are gone, a machine that was busy.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tare_record::api::{GOLDEN_FILE, GoldenFile, GoldenSession, PerfcheckReport};
use tare_record::text::list;
use tare_report::quantity::counted;
use tare_stats::outcome::BLOCKS_MIN;

use super::Setting;
use crate::discover::Project;
use crate::measure::ProjectValues;

/// Most names in a sentence.
const NAMES_MAX: usize = 5;

impl Setting<'_> {
    /// What a reader has to know beside the table.
    pub(super) fn note(
        &self,
        found: &[Project],
        goldens: &BTreeMap<PathBuf, GoldenFile>,
        measured: &[ProjectValues],
        report: &mut PerfcheckReport,
    ) {
        let projects = found.iter().zip(measured);
        if report.against.is_some() {
            let added = measured.iter().flat_map(|one| &one.added);
            let removed = measured.iter().flat_map(|one| &one.removed);
            for (names, what) in [
                (added.collect::<Vec<_>>(), "not in the old revision"),
                (removed.collect(), "only in the old revision"),
            ] {
                report.notes.extend(about(&names, what));
            }
            return;
        }
        let mut said = Vec::new();
        for (project, measured) in projects {
            let file = project.folder.join(GOLDEN_FILE);
            let sessions = self.sessions(goldens, project);
            self.note_missing(project, sessions, measured, report);
            if said.contains(&file) {
                continue;
            }
            let path = match self.relative(&project.folder).as_str() {
                "" => GOLDEN_FILE.to_owned(),
                folder => format!("{folder}/{GOLDEN_FILE}"),
            };
            let others = goldens
                .get(&project.folder)
                .map_or(0, |golden| golden.machines.len());
            let note = match (sessions.len(), others) {
                (0, 0) => format!("there is no {path}: --update begins it"),
                (0, _) => format!(
                    "{path} has no values of this machine ({}), and those of others are not compared: --update adds some, \
                     --against REV needs none",
                    self.machine
                ),
                (1..BLOCKS_MIN, _) => format!(
                    "{path} has {} of this machine: with fewer than {BLOCKS_MIN} the intervals do not hold what changes between \
                     sessions, so a difference may be none; --update adds one",
                    counted(sessions.len() as u64, "session", "sessions")
                ),
                (BLOCKS_MIN.., _) => String::new(),
            };
            let fewer = sessions
                .last()
                .map(repeats_of)
                .filter(|most| *most > report.repeats);
            if let Some(most) = fewer {
                report.notes.push(format!(
                    "{path} has {most} repeats: {} deviate more, and the intervals do not hold that",
                    report.repeats
                ));
            }
            if !note.is_empty() {
                report.notes.push(note);
            }
            said.push(file);
        }
    }

    /// Benchmarks that the last session has and this one has not.
    fn note_missing(
        &self,
        project: &Project,
        sessions: &[GoldenSession],
        measured: &ProjectValues,
        report: &mut PerfcheckReport,
    ) {
        let Some(last) = sessions.last().filter(|_| self.pattern.is_none()) else {
            return;
        };
        let label = format!("{}: ", project.tool.name());
        let own = last.values.keys().filter(|name| name.starts_with(&label));
        let is_measured = |name: &&String| {
            measured.series.keys().any(|(known, _)| known == *name)
                || measured
                    .failed
                    .iter()
                    .any(|(failed, _)| name.starts_with(failed.as_str()))
        };
        let gone: Vec<&String> = own.filter(|name| !is_measured(name)).collect();
        report
            .notes
            .extend(about(&gone, "in the golden file and not measured"));
    }
}

/// A sentence about some names; `None` without any.
fn about(names: &[&String], what: &str) -> Option<String> {
    let shown: Vec<&str> = names
        .iter()
        .take(NAMES_MAX)
        .map(|name| name.as_str())
        .collect();
    match names.len() {
        0 => None,
        all if all > NAMES_MAX => Some(format!(
            "{what}: {} and {} more",
            shown.join(", "),
            all - NAMES_MAX
        )),
        _ => Some(format!("{what}: {}", list(&shown))),
    }
}

/// Repeats of a session: the most that a benchmark has.
pub(super) fn repeats_of(session: &GoldenSession) -> u32 {
    let counts = session
        .values
        .values()
        .flat_map(|units| units.values().map(Vec::len));
    u32::try_from(counts.max().unwrap_or_default()).unwrap_or(u32::MAX)
}
