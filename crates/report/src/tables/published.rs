//! Published figures beside the measured ones: a row per figure, and a column per source.

use tare_record::metric::Metric;
use tare_record::plan::{Plan, Published, PublishedFigure};
use tare_record::view::{Family, Output, Table, TableCell, TableColumn, View};

use super::{TableInputs, cell_at, figure, figure_text, name, text, words};
use crate::cells::distinct;
use crate::failures::is_unjudged;
use crate::quantity::MISSING;

const SECTION: &str = "Published and measured figures";

/// Said of both tables.
const NOTE: &str =
    "Measured on other machines and with other versions: shown beside each other, not compared.";

/// Published and measured figures. A terminal shows them by source if there are several.
pub fn figures(source: &TableInputs<'_>) -> Vec<Table> {
    let outputs: &[Output] = match by_source(source).is_empty() {
        true => &Output::ALL,
        false => &[Output::Markdown, Output::Page],
    };
    let table = Table::new("published-figures", SECTION, "published and measured");
    let table = table.only(outputs).note(NOTE).fill(
        &source.view.published,
        [
            name("arm", |row| text(&row.arm)),
            (TableColumn::name("against").omit(1), |row| {
                text(&row.against)
            }),
            name("level", |row| text(row.level.as_deref().unwrap_or(MISSING))),
            name("metric", |row| text(row.metric.label())),
            figure("published", |row| text(&row.published)),
            figure("measured", |row| text(&row.measured)),
            (TableColumn::words("caveats").only(Output::Page), |row| {
                text(row.caveat.as_deref().unwrap_or(MISSING))
            }),
            words("source", |row| text(&row.source)),
        ],
    );
    // Where levels are compared, the rows are levels already.
    vec![match source.compares_arms() {
        true => table,
        false => table.without("level"),
    }]
}

/// A column for every source, if there are several, so that the figures of different products stay apart.
pub fn by_source(source: &TableInputs<'_>) -> Vec<Table> {
    let (plan, view): (&Plan, &View) = (&source.run.plan, source.view);
    let rows = view.published.iter();
    let sources = distinct(rows.clone().map(|row| row.source.as_str()));
    let keys = distinct(rows.map(|row| (row.level.as_deref().unwrap_or_default(), row.metric)));
    // Columns hold absolute figures; ratios are in rows.
    let is_absolute = |one: &Published| {
        matches!(
            one.figure,
            PublishedFigure::Value(_) | PublishedFigure::AddedNs(_)
        )
    };
    if sources.len() < 2 || !source.compares_arms() || !plan.published.iter().all(is_absolute) {
        return Vec::new();
    }
    let arms = view.arms.iter().filter(|arm| arm.not_run.is_none());
    let arms: Vec<&str> = arms.map(|arm| arm.name.as_str()).collect();
    let title = "published and measured by source: what is added, of the baseline its value";
    let mut table = Table::new("published-by-source", SECTION, title)
        .note(NOTE)
        .columns([TableColumn::group("level"), TableColumn::name("metric")])
        .columns(
            arms.iter()
                .map(|arm| TableColumn::figure(format!("{arm}, measured"))),
        )
        .columns(sources.iter().map(|name| TableColumn::figure(*name)));
    for (level, metric) in keys {
        let published = |source: &&str| {
            let mut all = view.published.iter();
            let found = all.find(|row| {
                (row.source.as_str(), row.metric) == (*source, metric)
                    && row.level.as_deref() == Some(level)
            });
            TableCell::from(found.map_or(MISSING, |row| row.published.as_str()))
        };
        let mut cells: Vec<TableCell> = vec![level.into(), metric.label().into()];
        let here = |arm: &&str| TableCell::from(measured(view, arm, level, metric));
        cells.extend(arms.iter().map(here));
        cells.extend(sources.iter().map(published));
        table.rows.push(cells.into());
    }
    vec![table]
}

/// The measured overhead of an arm; its value for the baseline, and where nothing is compared.
fn measured<'a>(view: &'a View, arm: &str, level: &str, metric: Metric) -> &'a str {
    let overhead = view.overheads.iter().find(|o| {
        (o.arm.as_str(), o.level.as_str(), o.metric) == (arm, level, metric)
            && o.family != Family::Step
    });
    // Without a verdict because of failures there is neither a difference nor a valid value.
    if let Some(overhead) = overhead.filter(|o| o.added.is_some() || is_unjudged(view, o)) {
        return &overhead.added_text;
    }
    cell_at(view, level, arm).map_or(MISSING, |cell| figure_text(cell, metric))
}
