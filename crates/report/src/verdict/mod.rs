//! The verdict: sentences with their figures. Findings come first, then warnings, then notes.

mod caveats;
mod clauses;
mod excluded;
mod failures;
mod findings;
mod levels;
mod reasons;
mod warnings;
mod waterfall;

pub use clauses::list;
pub use failures::sentence as failure_sentence;

use tare_record::plan::Plan;
use tare_record::view::{Sentence, SentenceKind, View};

use crate::read::Run;

/// All sentences, from a view in which everything else is computed.
pub fn verdict(run: &Run, view: &View) -> Vec<Sentence> {
    let mut sentences = findings::findings(&run.plan, view);
    // Directly behind the first finding: it limits how far the rest can be trusted.
    let place = sentences.len().min(1);
    sentences.splice(place..place, warnings::baseline(run, view));
    let noticed = view.faults.iter().flat_map(|one| &one.sentences);
    sentences.extend(noticed.map(|text| sentence(SentenceKind::Finding, text.clone())));
    sentences.extend(warnings::warnings(run, view));
    let notes = findings::notes(&run.plan, view, &sentences);
    sentences.extend(notes);
    sentences
}

fn sentence(kind: SentenceKind, text: String) -> Sentence {
    Sentence { kind, text }
}

/// " at 2000 requests/s", " at replicas=3", or empty when no factor is varied.
pub fn at_level(plan: &Plan, level: &str) -> String {
    if plan.levels.len() < 2 && plan.levels.iter().all(|l| l.values.is_empty()) {
        return String::new();
    }
    format!(" at {}", level_words(plan, level))
}

/// A level's name; of a rate with the noun: `2000 requests/s`.
pub fn level_words(plan: &Plan, level: &str) -> String {
    match level.strip_suffix("/s") {
        Some(rate) if rate.chars().all(|c| c.is_ascii_digit() || c == '.') => {
            format!("{rate} {}/s", what_is_offered(plan, level))
        }
        _ => level.to_string(),
    }
}

/// The noun of a level's rate.
fn what_is_offered(plan: &Plan, level: &str) -> &'static str {
    let cells = plan.cells.iter().filter(|cell| cell.level == level);
    let mut roles = cells.flat_map(|cell| &cell.load).map(|role| &role.load);
    match roles.next() {
        Some(load) if load.mix.session.is_some() => "sessions",
        Some(load) if load.client.writes_records() => "records",
        _ => "requests",
    }
}
