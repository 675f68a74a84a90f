//! Overheads of arms, levels against the first, and the smallest difference that a run could find.

use tare_record::metric::Metric;
use tare_record::view::{
    Family, LevelView, Outcome, Output, Overhead, Table, TableCell, TableColumn,
};

use super::figures::of_one_arm;
use super::{TableInputs, cell, figure, group, name, text, words};
use crate::cells::distinct;
use crate::quantity::{self, MISSING};

/// The overheads of the arms at each level.
pub fn overheads(source: &TableInputs<'_>) -> Vec<Table> {
    of_levels(source, Family::Primary, "overhead")
}

/// The incremental overheads of the arms at each level.
pub fn steps(source: &TableInputs<'_>) -> Vec<Table> {
    of_levels(source, Family::Step, "incremental overhead")
}

fn of_levels(source: &TableInputs<'_>, family: Family, title: &str) -> Vec<Table> {
    if !source.compares_arms() {
        return Vec::new();
    }
    let levels = source.view.levels.iter();
    levels
        .map(|level| of_level(source, level, family, title))
        .collect()
}

fn of_level(source: &TableInputs<'_>, level: &LevelView, family: Family, title: &str) -> Table {
    let all = source.view.overheads.iter();
    let mut chosen: Vec<&Overhead> = all
        .filter(|o| o.level == level.name && o.family == family)
        .collect();
    // Overheads are ordered by metric; the table is ordered by arm.
    let names: Vec<(&str, &str)> = chosen.iter().map(|one| pair(one)).collect();
    chosen.sort_by_key(|one| names.iter().position(|name| *name == pair(one)));
    let table = Table::new("overheads", "Overhead", title).only(&Output::TEXT);
    let table = table.fill(
        &chosen,
        [
            group("arm", |one| text(&one.arm)),
            group("against", |one| text(&one.against)),
            name("metric", |one| text(one.metric.label())),
            figure("added", |one| text(&one.added_text)),
            (TableColumn::figure("relative").omit(1), |one| {
                text(&one.ratio_text)
            }),
            words("outcome", |one| short_outcome(one).into()),
        ],
    );
    with_common_baseline(Table {
        level: Some(level.name.clone()),
        ..table
    })
}

/// Both arms of a comparison.
fn pair(overhead: &Overhead) -> (&str, &str) {
    (&overhead.arm, &overhead.against)
}

/// A common baseline is named once, in the title.
fn with_common_baseline(mut table: Table) -> Table {
    let Some(against) = table.constant("against").map(str::to_owned) else {
        return table;
    };
    table.title = format!("{} against {against}", table.title);
    table.without("against")
}

/// The outcome for a table, shorter than in the verdict.
fn short_outcome(overhead: &Overhead) -> String {
    match &overhead.outcome {
        Outcome::Undecided {
            more_blocks: Some(more),
        } => format!(
            "undecided (+{})",
            quantity::counted(u64::from(*more), "block", "blocks")
        ),
        Outcome::Undecided { more_blocks: None } => "undecided (over 100 blocks)".into(),
        Outcome::None { .. } => "no verdict".into(),
        _ => overhead.outcome_text.clone(),
    }
}

/// Levels compared: each against the first.
pub fn levels(source: &TableInputs<'_>) -> Vec<Table> {
    if source.compares_arms() {
        return Vec::new();
    }
    let view = source.view;
    let mut chosen: Vec<&Overhead> = Vec::new();
    for level in &view.levels {
        let all = view.overheads.iter();
        chosen.extend(all.filter(|o| o.family == Family::Primary && o.level == level.name));
    }
    let table = Table::new("levels-compared", "Overhead", "levels compared").only(&Output::TEXT);
    let table = table.fill(
        &chosen,
        [
            group("level", |one| text(&one.level)),
            group("arm", |one| text(&one.arm)),
            group("against", |one| text(&one.against_level)),
            name("metric", |one| text(one.metric.label())),
            figure("ratio", |one| {
                let ratio = one.ratio.as_ref();
                ratio.map_or_else(|| MISSING.into(), quantity::times).into()
            }),
            (TableColumn::figure("difference").omit(1), |one| {
                text(&one.added_text)
            }),
            words("outcome", |one| short_outcome(one).into()),
        ],
    );
    vec![of_one_arm(source, with_common_baseline(table))]
}

/// Every comparison, on the page.
pub fn all(source: &TableInputs<'_>) -> Vec<Table> {
    let title = "every comparison as a table";
    let table = Table::new("every-comparison", "Overhead", title).only(&[Output::Page]);
    let table = table.fill(
        &source.view.overheads,
        [
            name("level", |one| text(&one.level)),
            name("arm", |one| text(&one.arm)),
            name("compared with", |one| {
                match one.against_level == one.level {
                    true => text(&one.against),
                    false => format!("{}, {}", one.against, one.against_level).into(),
                }
            }),
            name("metric", |one| text(one.metric.label())),
            figure("difference (95 %)", |one| text(&one.added_text)),
            figure("relative (95 %)", |one| text(&one.ratio_text)),
            figure("margin", |one| {
                cell(one.margin, |margin| {
                    format!("± {}", quantity::percent(margin))
                })
            }),
            figure("pairs", |one| one.pairs.to_string().into()),
            words("outcome", |one| text(&one.outcome_text)),
        ],
    );
    vec![table]
}

/// The minimum detectable difference of each metric and level, and the A/A check, on the page.
pub fn noise(source: &TableInputs<'_>) -> Vec<Table> {
    let view = source.view;
    let heading = "Minimum detectable difference";
    let mut table = Table::new("minimum-detectable", heading, heading)
        .only(&[Output::Page])
        .note("The smallest difference that is found with a power of 80 %; small print: the residual from block to block.");
    let noise = |level: &str, metric: Metric| {
        let mut all = view.noise.iter();
        all.find(|one| one.level == level && one.metric == metric)
    };
    let levels = distinct(view.noise.iter().map(|one| one.level.as_str()));
    table = table
        .columns([TableColumn::name("metric")])
        .columns(levels.iter().map(|level| TableColumn::figure(*level)));
    for metric in Metric::ALL {
        if !view.noise.iter().any(|one| one.metric == metric) {
            continue;
        }
        let mut cells = vec![TableCell::from(metric.label())];
        cells.extend(levels.iter().map(|level| {
            let found = noise(level, metric);
            let residual = found.and_then(|one| one.residual).map(quantity::percent);
            cell(
                found.and_then(|one| one.minimum_detectable),
                quantity::percent,
            )
            .detail(residual.map_or_else(String::new, |share| format!("residual {share}")))
        }));
        table.rows.push(cells.into());
    }
    if table.rows.is_empty() {
        table.footnotes.push("Too few blocks to tell.".into());
    }
    table.footnotes.push(baseline_check(source));
    vec![table]
}

/// What the comparison of the baseline with itself showed.
fn baseline_check(source: &TableInputs<'_>) -> String {
    let Some(check) = &source.view.baseline_check else {
        return "The baseline ran once in each block.".into();
    };
    let found: Vec<String> = check
        .differences
        .iter()
        .map(|one| format!("{} {} at {}", one.metric.label(), one.ratio_text, one.level))
        .collect();
    let seen = match found.is_empty() {
        true => "no difference was shown".into(),
        false => format!("it differs from itself in {}", found.join(", ")),
    };
    let comparisons = check.comparisons;
    format!("The baseline measured twice, {comparisons} comparisons: {seen}.")
}
