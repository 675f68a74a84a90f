//! The tables of a waterfall: a row per step with a bar, and each step in every order.

use tare_schema::view::{WaterfallSequence, WaterfallStep, WaterfallView};

use super::Grid;
use crate::quantity;

/// Characters of a bar.
const BAR: usize = 24;

/// The steps of one order, from the first arm to the last.
pub fn steps(view: &WaterfallView, sequence: &WaterfallSequence) -> Grid {
    let mut grid = Grid::new(&["step", "bar", "adds", "of all", "then"], 1);
    let reach = sequence
        .steps
        .iter()
        .filter_map(|step| step.to)
        .chain(sequence.start)
        .fold(0.0, f64::max);
    let mut row = |cells: [String; 5]| grid.rows.push(cells.to_vec());
    let whole = |to: Option<f64>| to.map_or_else(String::new, |to| bar(0.0, to, reach));
    row([
        sequence.first.clone(),
        whole(sequence.start),
        String::new(),
        String::new(),
        sequence.start_text.clone(),
    ]);
    for step in &sequence.steps {
        row([
            format!("+ {}", step.what),
            floating(step, reach),
            step.added_text.clone(),
            step.share_text.clone(),
            step.to.map_or_else(
                || quantity::MISSING.into(),
                |to| quantity::value(view.unit, to),
            ),
        ]);
    }
    let last = sequence.steps.last().map(|step| step.arm.as_str());
    row([
        last.unwrap_or_default().to_owned(),
        whole(sequence.end),
        sequence.total_text.clone(),
        "all".into(),
        sequence.end_text.clone(),
    ]);
    grid
}

/// The increments of each step in every order that has it.
pub fn parts(view: &WaterfallView) -> Grid {
    let mut header = vec!["part"];
    header.extend(view.sequences.iter().map(|sequence| sequence.name.as_str()));
    let mut grid = Grid::new(&header, 1);
    for part in &view.parts {
        let mut row = vec![part.what.clone()];
        row.extend(part.added_texts.iter().cloned());
        grid.rows.push(row);
    }
    grid
}

fn floating(step: &WaterfallStep, reach: f64) -> String {
    match (step.from, step.to) {
        (Some(from), Some(to)) => bar(from, to, reach),
        _ => String::new(),
    }
}

/// A bar from one value to the other; a decrease is hatched.
fn bar(from: f64, to: f64, reach: f64) -> String {
    if reach <= 0.0 {
        return String::new();
    }
    let at = |value: f64| ((value.max(0.0) / reach) * BAR as f64).round() as usize;
    let (low, high) = (at(from.min(to)), at(from.max(to)));
    let (body, least) = if to < from {
        ("░", "◁")
    } else {
        ("█", "▏")
    };
    let body = match high - low {
        0 => least.to_owned(),
        long => body.repeat(long),
    };
    format!("{}{body}", "·".repeat(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_begins_where_the_one_before_it_ends() {
        assert_eq!(bar(0.0, 6.0, 24.0), "██████");
        assert_eq!(bar(6.0, 9.0, 24.0), "······███");
        assert_eq!(bar(9.0, 7.0, 24.0), "·······░░");
        assert_eq!(bar(7.0, 7.1, 24.0), "·······▏");
        assert_eq!(bar(7.0, 6.9, 24.0), "·······◁");
    }
}
