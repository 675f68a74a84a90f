//! The main figures: latency, throughput and memory, and the generator's measurement error.

use tare_record::metric::Metric;
use tare_record::view::{
    CellView, LevelView, Output, Table, TableCell, TableColumn, View, ViewState,
};

use super::{TableInputs, cell, cell_of, figure, figure_text, share, time};
use crate::quantity::{self, MISSING};

/// Metrics with the heads of their columns, and the steps at which a narrow terminal omits them: arms compared, levels compared.
const COLUMNS: [(Metric, &str, [u8; 2]); 11] = [
    (Metric::Median, "median", [0, 0]),
    (Metric::P90, "p90", [2, 2]),
    (Metric::P99, "p99", [0, 0]),
    (Metric::P999, "p99.9", [3, 1]),
    (Metric::Max, "max", [0, 1]),
    (Metric::Throughput, "throughput", [0, 0]),
    (Metric::RecordsProduced, "records produced", [0, 0]),
    (Metric::BytesProduced, "bytes produced", [0, 0]),
    (Metric::RecordsConsumed, "records consumed", [0, 0]),
    (Metric::BytesConsumed, "bytes consumed", [0, 0]),
    (Metric::Memory, "memory", [1, 2]),
];

/// The metrics that have a value in any of these cells. Those of records replace throughput.
fn known<'a>(cells: impl Iterator<Item = &'a CellView> + Clone) -> Vec<Metric> {
    let has = |metric: Metric| {
        cells
            .clone()
            .any(|cell| figure_text(cell, metric) != MISSING)
    };
    let has_records = has(Metric::RecordsProduced) || has(Metric::RecordsConsumed);
    let metrics = COLUMNS.iter().map(|(metric, ..)| *metric);
    metrics
        .filter(|metric| has(*metric) && !(has_records && *metric == Metric::Throughput))
        .collect()
}

/// The columns of these metrics.
fn columns(source: &TableInputs<'_>, metrics: &[Metric]) -> Vec<TableColumn> {
    let shown = COLUMNS.iter().filter(|one| metrics.contains(&one.0));
    shown
        .map(|(_, label, [arms, levels])| {
            let step = if source.compares_arms() { arms } else { levels };
            TableColumn::figure(*label).omit(*step)
        })
        .collect()
}

/// The figures of a cell, behind its arm.
fn row(view: &View, cell: &CellView, metrics: &[Metric]) -> Vec<TableCell> {
    let text = |metric: &Metric| -> TableCell {
        let text = figure_text(cell, *metric);
        match *metric == Metric::Throughput && !cell.rate_reached && cell.trials_fit > 0 {
            true => format!("{text} NOT REACHED").into(),
            false => text.into(),
        }
    };
    let mut cells = vec![TableCell::from(arm_name(view, cell))];
    cells.extend(metrics.iter().map(text));
    cells
}

/// The arm's name, marked if it was not run, has no fit trial or was saturated.
fn arm_name(view: &View, cell: &CellView) -> String {
    let not_run = view
        .arms
        .iter()
        .any(|arm| arm.name == cell.arm && arm.not_run.is_some());
    if not_run {
        format!("{} (not run)", cell.arm)
    } else if cell.trials_fit == 0 {
        format!("{} (no fit trial)", cell.arm)
    } else if cell.trials_saturated > 0 {
        format!("{} (saturated)", cell.arm)
    } else {
        cell.arm.clone()
    }
}

/// Arms compared: the figures of every arm at each level; columns without a value are omitted.
pub fn level(source: &TableInputs<'_>) -> Vec<Table> {
    if !source.compares_arms() {
        return Vec::new();
    }
    let view = source.view;
    let of_level = |level: &LevelView| {
        let metrics = known(level.cells.iter());
        let provisional = match view.run.state {
            ViewState::Provisional => " (provisional)",
            _ => "",
        };
        let beyond = level.beyond_knee.as_ref();
        let beyond = beyond.map(|reason| format!("  BEYOND THE KNEE: {reason}"));
        let title = format!("{provisional}{}", beyond.unwrap_or_default());
        let table = Table::new("level-figures", "Figures", title).only(&Output::TEXT);
        let cells = level.cells.iter();
        Table {
            level: Some(level.name.clone()),
            rows: cells.map(|cell| row(view, cell, &metrics).into()).collect(),
            footnotes: level.missing.clone(),
            ..table
                .columns([TableColumn::name("arm")])
                .columns(columns(source, &metrics))
        }
    };
    view.levels.iter().map(of_level).collect()
}

/// Levels compared: a row for each cell.
pub fn levels(source: &TableInputs<'_>) -> Vec<Table> {
    if source.compares_arms() {
        return Vec::new();
    }
    let view = source.view;
    let metrics = known(source.cells().map(|(_, cell)| cell));
    let mut table = Table::new("figures-of-levels", "Figures", "levels")
        .only(&Output::TEXT)
        .columns([TableColumn::name("level"), TableColumn::name("arm")])
        .columns(columns(source, &metrics));
    for (level, cell) in source.cells() {
        let mut cells = row(view, cell, &metrics);
        cells.insert(0, level.name.as_str().into());
        table.rows.push(cells.into());
    }
    let missing = view.levels.iter().flat_map(|level| &level.missing);
    table.footnotes = missing.cloned().collect();
    vec![of_one_arm(source, table)]
}

/// A table without its column of arms if there is only one arm.
pub fn of_one_arm(source: &TableInputs<'_>, table: Table) -> Table {
    match source.view.arms.len() {
        1 => table.without("arm"),
        _ => table,
    }
}

/// The noun for exchanges in a view: records where records are counted.
pub fn exchanges(view: &View) -> &'static str {
    let mut cells = view.levels.iter().flat_map(|level| &level.cells);
    let has_records = cells.any(|cell| {
        [Metric::RecordsProduced, Metric::RecordsConsumed]
            .iter()
            .any(|metric| figure_text(cell, *metric) != MISSING)
    });
    if has_records { "records" } else { "requests" }
}

/// Response time and service time, and the generator's errors. A row per cell that was measured.
pub fn generator(source: &TableInputs<'_>) -> Vec<Table> {
    let title = "response time (from the intended start), the generator's lateness (p99), bunched starts, trials repeated";
    let table = Table::new("generator-errors", "Load generator", title);
    let on_page = |label: &str| TableColumn::figure(label).only(Output::Page);
    source.per_level_of(
        &table,
        measured,
        [
            (TableColumn::figure("response p50").omit(2), |of| {
                figure_text(of, Metric::ResponseMedian).into()
            }),
            figure("response p99", |of| {
                figure_text(of, Metric::ResponseP99).into()
            }),
            (TableColumn::figure("service p50").omit(1), |of| {
                figure_text(of, Metric::ServiceMedian).into()
            }),
            (TableColumn::figure("service p99").omit(1), |of| {
                figure_text(of, Metric::ServiceP99).into()
            }),
            (on_page("lateness p50"), |of| {
                time(of.generator.lateness_p50_ns)
            }),
            figure("lateness", |of| time(of.generator.lateness_p99_ns)),
            figure("bunched", |of| share(of.generator.bunched_share)),
            figure("repeated", |of| share(of.repeated_share)),
            (on_page("receive lag p99"), |of| {
                time(of.generator.receive_lag_p99_ns)
            }),
            (on_page("generator core busy"), |of| {
                share(of.generator.agent_cpu_share)
            }),
            (on_page("kernel timestamps"), |of| {
                share(of.generator.counts.kernel_timestamp_share())
            }),
            (on_page("of which upper bounds"), |of| {
                share(of.generator.counts.upper_bound_share())
            }),
            (on_page("timestamps before send"), |of| {
                let count = of.generator.counts.timestamps_before_send;
                cell(Some(count as f64), quantity::count)
            }),
        ],
    )
}

fn measured(cell: &CellView) -> &[CellView] {
    match cell.trials_made {
        0 => &[],
        _ => std::slice::from_ref(cell),
    }
}

/// Throughput of loads without an offered rate, a column per arm. If levels are compared, their own table has it.
pub fn throughput(source: &TableInputs<'_>) -> Vec<Table> {
    let view = source.view;
    if !source.compares_arms()
        || view.levels.len() < 2
        || source.cells().any(|(_, cell)| cell.offered_per_s.is_some())
    {
        return Vec::new();
    }
    let title = "throughput by level: successful responses per second, median of the blocks";
    let mut table = Table::new("throughput-by-level", "Throughput", title)
        .only(&Output::TEXT)
        .columns([TableColumn::name("level")])
        .columns(view.arms.iter().map(|arm| TableColumn::figure(&arm.name)));
    for level in &view.levels {
        let mut cells = vec![TableCell::from(level.name.as_str())];
        cells.extend(view.arms.iter().map(|arm| {
            let cell = cell_of(level, &arm.name);
            TableCell::from(cell.map_or(MISSING, |cell| figure_text(cell, Metric::Throughput)))
        }));
        table.rows.push(cells.into());
    }
    vec![table]
}
