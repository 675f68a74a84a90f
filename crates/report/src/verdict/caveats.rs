//! Caveats of published figures: one note per source.

use tare_record::plan::Plan;
use tare_record::view::PublishedView;

use super::clauses::{list, object};
use super::level_words;
use crate::cells::distinct;

/// A note per source that has a caveat, in the order of the figures.
pub fn caveats(plan: &Plan, published: &[PublishedView]) -> Vec<String> {
    let with_caveat = published.iter().filter(|figure| figure.caveat.is_some());
    let sources = distinct(with_caveat.map(|figure| figure.source.as_str()));
    // Sources with the same caveat share a note.
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    for source in sources {
        let mut figures: Vec<&PublishedView> = published.iter().collect();
        figures.retain(|figure| figure.source == source);
        let caveat = caveat_text(plan, &figures);
        match notes.iter_mut().find(|(known, _)| *known == caveat) {
            Some((_, alike)) => alike.push(source.to_owned()),
            None => notes.push((caveat, vec![source.to_owned()])),
        }
    }
    let note = |(caveat, sources): &(String, Vec<String>)| match sources.as_slice() {
        [one] => format!("{one} is not directly comparable: {caveat}"),
        _ => format!("{} are not directly comparable: {caveat}", list(sources)),
    };
    notes.iter().map(note).collect()
}

/// The most frequent caveat of a source is stated for the source; the others are stated for their figures.
fn caveat_text(plan: &Plan, figures: &[&PublishedView]) -> String {
    let mut known_caveats: Vec<(&str, usize)> = Vec::new();
    for figure in figures {
        let Some(caveat) = figure.caveat.as_deref() else {
            continue;
        };
        match known_caveats.iter_mut().find(|(known, _)| *known == caveat) {
            Some((_, count)) => *count += 1,
            None => known_caveats.push((caveat, 1)),
        }
    }
    // A stable sort: of equally frequent caveats the first one wins.
    known_caveats.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut text = String::new();
    for (place, (caveat, _)) in known_caveats.iter().enumerate() {
        if place == 0 {
            text = format!("{caveat}.");
        } else {
            let names = names(plan, caveat, figures);
            text.push_str(&format!(" Of {}: {caveat}.", list(&names)));
        }
    }
    text
}

/// Names of the figures with this caveat: their metrics, or their arms if a figure without it has one of these metrics.
fn names(plan: &Plan, caveat: &str, all: &[&PublishedView]) -> Vec<String> {
    let has_caveat = |figure: &&PublishedView| figure.caveat.as_deref() == Some(caveat);
    let (of, others): (Vec<&PublishedView>, Vec<&PublishedView>) =
        all.iter().copied().partition(has_caveat);
    let metrics: Vec<String> = of.iter().map(|figure| name(plan, figure)).collect();
    let is_shared = |other: &&PublishedView| metrics.contains(&name(plan, other));
    distinct(match others.iter().any(is_shared) {
        true => of.iter().map(|figure| figure.arm.clone()).collect(),
        false => metrics,
    })
}

fn name(plan: &Plan, figure: &PublishedView) -> String {
    let metric = object(figure.metric);
    match &figure.level {
        Some(level) if plan.levels.len() > 1 => format!("{metric} at {}", level_words(plan, level)),
        _ => metric.to_owned(),
    }
}
