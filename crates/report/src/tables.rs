//! The tables of a report: the list of their builders, and their order and texts in outputs.

use tare_record::metric::{Metric, Unit};
use tare_record::plan::Compare;
use tare_record::record::TrialRecord;
use tare_record::view::{
    CellView, ColumnKind, ColumnOf, Figure, LevelView, Output, Table, TableCell, TableColumn,
    TableRow, View,
};

use crate::quantity::{self, MISSING};
use crate::read::Run;
use crate::trials::Trials;
use crate::{
    assertion, factor, failures, faults, links, network, profiles, requests, study_summary,
    target_counters, waterfall,
};

mod comparisons;
mod costs;
pub mod figures;
mod published;
mod trials;

/// All tables of a report, in the order of text outputs. A new table is a builder and a line here.
const BUILDERS: &[fn(&TableInputs<'_>) -> Vec<Table>] = &[
    assertion::table,
    links::rtts,
    figures::levels,
    costs::used,
    costs::moved,
    comparisons::levels,
    figures::level,
    figures::generator,
    costs::level,
    comparisons::overheads,
    comparisons::steps,
    network::pods,
    links::traffic,
    network::host,
    factor::tables,
    target_counters::tables,
    failures::table,
    comparisons::all,
    figures::throughput,
    requests::tables,
    faults::trials,
    faults::seconds,
    waterfall::tables,
    costs::parts,
    published::by_source,
    published::figures,
    study_summary::table,
    comparisons::noise,
    profiles::tables,
    trials::tables,
];

/// What tables are built from.
pub struct TableInputs<'a> {
    pub run: &'a Run,
    pub trials: &'a Trials<'a>,
    /// Its view, without tables and verdict.
    pub view: &'a View,
}

impl<'a> TableInputs<'a> {
    /// Whether arms are compared, and not levels.
    pub fn compares_arms(&self) -> bool {
        self.view.compare == Compare::Arms
    }

    /// Every level with each of its cells.
    pub fn cells(&self) -> impl Iterator<Item = (&'a LevelView, &'a CellView)> + Clone + use<'a> {
        let levels = self.view.levels.iter();
        levels.flat_map(|level| level.cells.iter().map(move |cell| (level, cell)))
    }

    /// The records of the trials whose medians are the figures of a cell.
    pub fn records(&self, level: &LevelView, cell: &CellView) -> Vec<&'a TrialRecord> {
        let fit = self.trials.fit(&(cell.arm.clone(), level.name.clone()));
        fit.iter().map(|one| one.record).collect()
    }

    /// A table like this one for each level. `rows` gives the rows of a cell; the arm is put before their cells.
    pub fn per_level(
        &self,
        table: &Table,
        rows: impl Fn(&LevelView, &CellView) -> Vec<TableRow>,
    ) -> Vec<Table> {
        let of_cell = |level: &LevelView, cell: &CellView| {
            let mut rows = rows(level, cell);
            for row in &mut rows {
                row.arm = Some(cell.arm.clone());
                row.cells.insert(0, cell.arm.as_str().into());
            }
            rows
        };
        let of_level = |level: &LevelView| Table {
            level: Some(level.name.clone()),
            rows: level
                .cells
                .iter()
                .flat_map(|cell| of_cell(level, cell))
                .collect(),
            ..table.clone()
        };
        self.view.levels.iter().map(of_level).collect()
    }

    /// A table like this one for each level, with a row for each of the things of a cell, behind its arm.
    pub fn per_level_of<T, const N: usize>(
        &self,
        table: &Table,
        things: fn(&CellView) -> &[T],
        columns: [ColumnOf<T>; N],
    ) -> Vec<Table> {
        let heads = table.clone().columns([TableColumn::group("arm")]);
        let heads = heads.columns(columns.iter().map(|(column, _)| column.clone()));
        self.per_level(&heads, |_, cell| {
            let columns = columns.clone();
            Table::default().fill(things(cell), columns).rows
        })
    }
}

/// The tables of a view; those without rows and sentences are left out.
pub fn tables(source: &TableInputs<'_>) -> Vec<Table> {
    let all = BUILDERS.iter().flat_map(|build| build(source));
    all.filter(|table| !table.rows.is_empty() || !table.footnotes.is_empty())
        .collect()
}

/// A column of names, each shown once for the rows that follow with the same, with its cells.
pub fn group<T>(label: &str, cell: fn(&T) -> TableCell) -> ColumnOf<T> {
    (TableColumn::group(label), cell)
}

pub fn name<T>(label: &str, cell: fn(&T) -> TableCell) -> ColumnOf<T> {
    (TableColumn::name(label), cell)
}

/// A column of figures with its cells.
pub fn figure<T>(label: &str, cell: fn(&T) -> TableCell) -> ColumnOf<T> {
    (TableColumn::figure(label), cell)
}

/// A column of text with its cells.
pub fn words<T>(label: &str, cell: fn(&T) -> TableCell) -> ColumnOf<T> {
    (TableColumn::words(label), cell)
}

pub fn text(text: &str) -> TableCell {
    text.into()
}

/// A cell of a value: `–` where there is none.
pub fn cell(value: Option<f64>, text: impl Fn(f64) -> String) -> TableCell {
    TableCell {
        text: value.map_or_else(|| MISSING.into(), text),
        value,
        ..TableCell::default()
    }
}

pub fn time(ns: Option<u64>) -> TableCell {
    cell(ns.map(|ns| ns as f64), |ns| {
        quantity::value(Unit::Nanoseconds, ns)
    })
}

pub fn share(share: Option<f64>) -> TableCell {
    cell(share, quantity::percent)
}

/// The cell of a level and an arm.
pub fn cell_at<'a>(view: &'a View, level: &str, arm: &str) -> Option<&'a CellView> {
    let level = view.levels.iter().find(|one| one.name == level)?;
    cell_of(level, arm)
}

/// The cell of an arm at a level.
pub fn cell_of<'a>(level: &'a LevelView, arm: &str) -> Option<&'a CellView> {
    level.cells.iter().find(|cell| cell.arm == arm)
}

/// The figure of a metric of a cell.
pub fn figure_of(cell: &CellView, metric: Metric) -> Option<&Figure> {
    cell.figures.iter().find(|figure| figure.metric == metric)
}

/// The text of a metric of a cell.
pub fn figure_text(cell: &CellView, metric: Metric) -> &str {
    figure_of(cell, metric).map_or(MISSING, |figure| &figure.text)
}

/// The tables of a text output in reading order: those of a level stand together.
pub fn ordered(view: &View, output: Output) -> Vec<&Table> {
    let mut tables: Vec<&Table> = view.tables.iter().collect();
    // Only a terminal has a limit of width.
    tables.retain(|table| {
        table.outputs.contains(&output) && (table.layout == 0 || output == Output::Terminal)
    });
    let place = |table: &&Table| {
        let mut levels = view.levels.iter();
        levels.position(|level| Some(&level.name) == table.level.as_ref())
    };
    for together in tables.chunk_by_mut(|a, b| a.level.is_some() == b.level.is_some()) {
        together.sort_by_key(place);
    }
    tables
}

/// The heading of a table in a text output.
pub fn heading(table: &Table) -> String {
    let title = &table.title;
    match &table.level {
        Some(level) if title.is_empty() || title.starts_with(' ') => format!("{level}{title}"),
        Some(level) => format!("{level}: {title}"),
        None => title.clone(),
    }
}

/// The columns that an output shows, and their texts. `narrowed`: steps of omission that were taken.
pub fn texts(table: &Table, output: Output, narrowed: u8) -> (Vec<&TableColumn>, Vec<Vec<String>>) {
    let is_shown = |column: &TableColumn| {
        (column.omit == 0 || column.omit > narrowed)
            && (column.outputs.is_empty() || column.outputs.contains(&output))
    };
    let shown: Vec<(usize, &TableColumn)> = table
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| is_shown(column))
        .collect();
    let mut before: Option<&TableRow> = None;
    let mut rows = Vec::new();
    for row in &table.rows {
        let text = |(place, column): &(usize, &TableColumn)| {
            let repeats = column.kind == ColumnKind::Group
                && before.is_some_and(|before| same_groups(table, *place, before, row));
            match row.cells.get(*place) {
                Some(cell) if !repeats && cell.detail.is_empty() => cell.text.clone(),
                Some(cell) if !repeats => format!("{} ({})", cell.text, cell.detail),
                _ => String::new(),
            }
        };
        rows.push(shown.iter().map(text).collect());
        before = Some(row);
    }
    (shown.into_iter().map(|(_, column)| column).collect(), rows)
}

/// Whether two rows have the same names in all columns of groups up to this one.
fn same_groups(table: &Table, last: usize, a: &TableRow, b: &TableRow) -> bool {
    let columns = table.columns.iter().take(last + 1).enumerate();
    let mut groups = columns.filter(|(_, column)| column.kind == ColumnKind::Group);
    groups.all(|(place, _)| a.cells.get(place) == b.cells.get(place))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn a_repeated_name_is_shown_once_and_a_narrow_terminal_omits_columns_in_steps() {
        let mut table = Table::new("t", "s", "t").columns([
            TableColumn::group("arm"),
            TableColumn::group("against"),
            TableColumn::figure("value"),
            TableColumn::figure("spare").omit(1),
            TableColumn::words("bar").only(Output::Terminal),
        ]);
        for (arm, against, value) in [("a", "x", "1"), ("a", "x", "2"), ("b", "x", "3")] {
            let value = TableCell::from(value).detail("d");
            table.push([arm.into(), against.into(), value, "4".into(), "█".into()]);
        }
        let (columns, rows) = texts(&table, Output::Terminal, 1);
        let labels: Vec<&str> = columns.iter().map(|column| column.label.as_str()).collect();
        assert_eq!(labels, ["arm", "against", "value", "bar"]);
        assert_eq!(rows[0], ["a", "x", "1 (d)", "█"]);
        assert_eq!(rows[1], ["", "", "2 (d)", "█"]);
        assert_eq!(rows[2], ["b", "x", "3 (d)", "█"]);
        assert_eq!(texts(&table, Output::Markdown, 0).0.len(), 4);
    }

    /// The product code of every source file below a folder.
    fn sources(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_string_lossy();
            if path.is_dir() {
                sources(&path, found);
            } else if [".rs", ".ts", ".tsx"].iter().any(|end| name.ends_with(end)) {
                let text = std::fs::read_to_string(&path).unwrap();
                found.extend(text.split("#[cfg(test)]").next().map(str::to_owned));
            }
        }
    }

    #[test]
    fn a_table_is_declared_in_its_file_and_in_the_list_of_builders_alone() {
        let mut files = Vec::new();
        for folder in ["src", "../record/src", "../../web/src"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            sources(&folder, &mut files);
        }
        let count = |wanted: &str| -> usize {
            let files = files.iter();
            files.map(|text| text.matches(wanted).count()).sum()
        };
        let ids: BTreeSet<&str> = files
            .iter()
            .flat_map(|text| text.split("Table::new(").skip(1))
            .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
            .collect();
        assert!(ids.len() >= BUILDERS.len(), "{ids:?}");
        for id in ids {
            assert_eq!(count(&format!("\"{id}\"")), 1, "{id}");
        }
        let list = include_str!("tables.rs").split("= &[").nth(1).unwrap();
        let list = list.split("];").next().unwrap();
        let builders: Vec<&str> = list.split_whitespace().collect();
        assert_eq!(builders.len(), BUILDERS.len(), "{builders:?}");
        for builder in builders {
            assert_eq!(count(builder), 1, "{builder}");
        }
    }
}
