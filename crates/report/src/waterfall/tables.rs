//! The tables of a waterfall: a row per step with a bar, and each step in every order.

use tare_record::view::{
    Output, Table, TableCell, TableColumn, WaterfallSequence, WaterfallStep, WaterfallView,
};

use crate::quantity::{self, MISSING};
use crate::tables::TableInputs;

/// Characters of a bar.
const BAR: usize = 24;

/// The steps of each order of each waterfall, which the page draws, and its components in every order.
pub fn tables(source: &TableInputs<'_>) -> Vec<Table> {
    let of_one = |view: &WaterfallView| {
        let sequences = view.sequences.iter();
        let mut tables: Vec<Table> = sequences.map(|one| steps(view, one)).collect();
        tables.push(parts(view));
        tables
    };
    source.view.waterfalls.iter().flat_map(of_one).collect()
}

/// The steps of one order, from the first arm to the last.
fn steps(view: &WaterfallView, sequence: &WaterfallSequence) -> Table {
    let blocks = quantity::counted(u64::from(sequence.blocks), "block", "blocks");
    let (label, name) = (&view.label, &sequence.name);
    let title = format!("{label}, order {name} ({blocks})");
    let mut table = Table::new("waterfall-steps", "Waterfall", title)
        .only(&Output::TEXT)
        .columns([
            TableColumn::name("step"),
            TableColumn::words("bar").only(Output::Terminal).omit(2),
            TableColumn::figure("adds"),
            TableColumn::figure("of all"),
            TableColumn::figure("then").omit(1),
        ]);
    table.level = Some(view.level.clone());
    if let Some(missing) = &sequence.missing {
        table.footnotes.push(missing.clone());
        return table;
    }
    table.footnotes.push(format!("Order: {}", sequence.order));
    let reach = sequence
        .steps
        .iter()
        .filter_map(|step| step.to)
        .chain(sequence.start)
        .fold(0.0, f64::max);
    let whole = |to: Option<f64>| to.map_or_else(String::new, |to| bar(0.0, to, reach));
    table.push([
        sequence.first.as_str().into(),
        whole(sequence.start).into(),
        "".into(),
        "".into(),
        sequence.start_text.as_str().into(),
    ]);
    for step in &sequence.steps {
        let then = step.to.map(|to| quantity::value(view.unit, to));
        table.push([
            format!("+ {}", step.what).into(),
            floating(step, reach).into(),
            step.added_text.as_str().into(),
            step.share_text.as_str().into(),
            then.unwrap_or_else(|| MISSING.into()).into(),
        ]);
    }
    let last = sequence.steps.last().map(|step| step.arm.as_str());
    table.push([
        last.unwrap_or_default().into(),
        whole(sequence.end).into(),
        sequence.total_text.as_str().into(),
        "all".into(),
        sequence.end_text.as_str().into(),
    ]);
    table
}

/// The increments of each step in every order that has it.
fn parts(view: &WaterfallView) -> Table {
    let title = format!("parts of the {} by order", view.label);
    let sequences = view.sequences.iter();
    let mut table = Table::new("waterfall-parts", "Waterfall", title)
        .columns([TableColumn::name("part")])
        .columns(sequences.map(|sequence| TableColumn::figure(&sequence.name)));
    table.level = Some(view.level.clone());
    table.footnotes.clone_from(&view.checks);
    for part in &view.parts {
        let texts = std::iter::once(&part.what).chain(&part.added_texts);
        let cells: Vec<TableCell> = texts.map(|text| text.as_str().into()).collect();
        table.rows.push(cells.into());
    }
    table
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
