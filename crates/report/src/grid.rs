//! The tables of a report as plain text cells: one layout for terminal and Markdown.

use tare_schema::metric::{Metric, Unit};
use tare_schema::view::{CellView, Family, LevelView, Outcome, Overhead, PartView, View};

use crate::latency::MaybeLowerBound;
use crate::quantity::{self, MISSING};

pub mod failures;
pub mod faults;
pub mod levels;
pub mod network;
pub mod published;
pub mod requests;
pub mod waterfall;

/// A table of text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grid {
    /// Heads of the columns.
    pub header: Vec<String>,
    /// Rows, each as wide as the header.
    pub rows: Vec<Vec<String>>,
    /// Leading columns of names; the others are figures.
    pub names: usize,
}

impl Grid {
    pub(crate) fn new(header: &[&str], names: usize) -> Grid {
        Grid {
            header: header.iter().map(|h| (*h).to_string()).collect(),
            rows: Vec::new(),
            names,
        }
    }

    /// The grid without the columns of these heads.
    pub fn without(&self, heads: &[&str]) -> Grid {
        let keep: Vec<usize> = (0..self.header.len())
            .filter(|column| !heads.contains(&self.header[*column].as_str()))
            .collect();
        let pick = |row: &Vec<String>| keep.iter().map(|column| row[*column].clone()).collect();
        Grid {
            header: pick(&self.header),
            rows: self.rows.iter().map(pick).collect(),
            names: keep.iter().filter(|column| **column < self.names).count(),
        }
    }

    /// The text of a column, if it is the same in every row where it is not empty.
    pub fn constant(&self, head: &str) -> Option<&str> {
        let column = self.header.iter().position(|h| h == head)?;
        let mut texts = self
            .rows
            .iter()
            .map(|row| row[column].as_str())
            .filter(|t| !t.is_empty());
        let first = texts.next()?;
        texts.all(|text| text == first).then_some(first)
    }
}

/// Metrics of the latency table with the heads of their columns.
const COLUMNS: [(Metric, &str); 11] = [
    (Metric::Median, "median"),
    (Metric::P90, "p90"),
    (Metric::P99, "p99"),
    (Metric::P999, "p99.9"),
    (Metric::Max, "max"),
    (Metric::Throughput, "throughput"),
    (Metric::RecordsWritten, "records written"),
    (Metric::BytesWritten, "bytes written"),
    (Metric::RecordsRead, "records read"),
    (Metric::BytesRead, "bytes read"),
    (Metric::Memory, "memory"),
];

/// The columns of the latency table that have a value in any of these cells. Columns of records replace throughput.
fn columns<'a>(cells: impl Iterator<Item = &'a CellView> + Clone) -> Vec<(Metric, &'static str)> {
    let has = |metric: Metric| cells.clone().any(|cell| text(cell, metric) != MISSING);
    let has_records = has(Metric::RecordsWritten) || has(Metric::RecordsRead);
    COLUMNS
        .into_iter()
        .filter(|(metric, _)| has(*metric) && !(has_records && *metric == Metric::Throughput))
        .collect()
}

fn text(cell: &CellView, metric: Metric) -> String {
    let figure = cell.figures.iter().find(|figure| figure.metric == metric);
    figure.map_or_else(|| MISSING.to_string(), |figure| figure.text.clone())
}

fn row(cell: &CellView, shown: &[(Metric, &str)]) -> Vec<String> {
    let value = |metric: Metric| {
        let mut value = text(cell, metric);
        if metric == Metric::Throughput && !cell.rate_reached && cell.trials_fit > 0 {
            value.push_str(" NOT REACHED");
        }
        value
    };
    shown.iter().map(|(metric, _)| value(*metric)).collect()
}

/// Latency, throughput and memory of every arm at a level; columns without a value are omitted.
pub fn figures(view: &View, level: &LevelView) -> Grid {
    let shown = columns(level.cells.iter());
    let mut header = vec!["arm"];
    header.extend(shown.iter().map(|(_, head)| *head));
    let mut grid = Grid::new(&header, 1);
    for cell in &level.cells {
        let mut cells = vec![arm_name(view, cell)];
        cells.extend(row(cell, &shown));
        grid.rows.push(cells);
    }
    grid
}

/// The noun for exchanges in a view: records where records are counted.
pub fn exchanges(view: &View) -> &'static str {
    let mut cells = view.levels.iter().flat_map(|level| &level.cells);
    let has_records = cells.any(|cell| {
        text(cell, Metric::RecordsWritten) != MISSING || text(cell, Metric::RecordsRead) != MISSING
    });
    if has_records { "records" } else { "requests" }
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

fn cost(part: &PartView) -> (String, String) {
    let unit = Unit::CpuSecondsPer1000;
    let cpu = quantity::figure(unit, part.cpu_s_per_1000.map(MaybeLowerBound::exact));
    let memory = part
        .rss_peak_bytes
        .map(|bytes| MaybeLowerBound::exact(bytes as f64));
    (cpu, quantity::figure(Unit::Bytes, memory))
}

/// The costs in a cell of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// CPU-seconds per 1000 requests.
    Cpu,
    /// Peak memory.
    Memory,
    /// Both.
    Both,
}

impl Cost {
    fn text(self, cpu: &str, memory: &str) -> String {
        match self {
            Cost::Cpu => cpu.to_string(),
            Cost::Memory => memory.to_string(),
            Cost::Both => pair(cpu, memory),
        }
    }
}

/// Costs of each part: a column per part, and one for the sum of the parts under test.
pub fn costs_wide(level: &LevelView, shown: Cost) -> Grid {
    let mut instances: Vec<&str> = Vec::new();
    for part in level.cells.iter().flat_map(|cell| &cell.parts) {
        if !instances.contains(&part.instance.as_str()) {
            instances.push(&part.instance);
        }
    }
    let mut header = vec!["arm", "all"];
    header.extend(&instances);
    let mut grid = Grid::new(&header, 1);
    for cell in &level.cells {
        let total = |metric: Metric| {
            let figure = cell.figures.iter().find(|figure| figure.metric == metric);
            figure.map_or_else(|| MISSING.to_string(), |figure| figure.text.clone())
        };
        let all = shown.text(&total(Metric::Cpu), &total(Metric::Memory));
        let mut row = vec![cell.arm.clone(), all];
        for instance in &instances {
            let part = cell
                .parts
                .iter()
                .find(|part| part.instance == *instance)
                .map(cost);
            let text = part.map(|(cpu, memory)| shown.text(&cpu, &memory));
            row.push(text.unwrap_or_else(|| MISSING.to_string()));
        }
        grid.rows.push(row);
    }
    grid
}

fn pair(cpu: &str, memory: &str) -> String {
    if cpu == MISSING && memory == MISSING {
        return MISSING.into();
    }
    format!("{cpu}, {memory}")
}

/// Costs of each part: a row per part.
pub fn costs_long(level: &LevelView) -> Grid {
    let mut grid = Grid::new(
        &["arm", "part", "software", "CPU per 1000", "peak memory"],
        3,
    );
    for cell in &level.cells {
        for (place, part) in cell.parts.iter().enumerate() {
            let (cpu, memory) = cost(part);
            let arm = if place == 0 {
                cell.arm.clone()
            } else {
                String::new()
            };
            grid.rows.push(vec![
                arm,
                part.instance.clone(),
                part.software.clone(),
                cpu,
                memory,
            ]);
        }
    }
    grid
}

/// Overheads of one family at one level.
pub fn overheads(view: &View, level: &LevelView, family: Family) -> Grid {
    let chosen = |o: &&Overhead| o.level == level.name && o.family == family;
    let mut grid = Grid::new(
        &["arm", "against", "metric", "added", "relative", "outcome"],
        3,
    );
    let mut order: Vec<(String, String)> = Vec::new();
    for overhead in view.overheads.iter().filter(chosen) {
        let pair = pair_of(overhead);
        if !order.contains(&pair) {
            order.push(pair);
        }
    }
    // Overheads are ordered by metric; the table is ordered by arm.
    for pair in order {
        let rows = view
            .overheads
            .iter()
            .filter(chosen)
            .filter(|o| pair_of(o) == pair);
        for (place, overhead) in rows.enumerate() {
            let name = |text: &String| {
                if place == 0 {
                    text.clone()
                } else {
                    String::new()
                }
            };
            grid.rows.push(vec![
                name(&pair.0),
                name(&pair.1),
                overhead.metric.label().into(),
                overhead.added_text.clone(),
                overhead.ratio_text.clone(),
                short_outcome(overhead),
            ]);
        }
    }
    grid
}

/// Both sides of a comparison, as text.
fn pair_of(overhead: &Overhead) -> (String, String) {
    if overhead.level == overhead.against_level {
        return (overhead.arm.clone(), overhead.against.clone());
    }
    (
        format!("{} ({})", overhead.level, overhead.arm),
        overhead.against_level.clone(),
    )
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

/// The assertions of the experiment.
pub fn assertions(view: &View) -> Grid {
    let mut grid = Grid::new(&["assertion", "outcome", "reason"], 1);
    grid.rows.extend(view.assertions.iter().map(|one| {
        let word = one.outcome.word().into();
        vec![one.text.clone(), word, one.reason.clone()]
    }));
    grid
}

/// Metrics of [`instrument`] with the heads of their columns.
const TIMES: [(Metric, &str); 4] = [
    (Metric::ResponseMedian, "response p50"),
    (Metric::ResponseP99, "response p99"),
    (Metric::ServiceMedian, "service p50"),
    (Metric::ServiceP99, "service p99"),
];

/// The title of [`instrument`].
pub const INSTRUMENT: &str = "response time (from the intended start), the generator's lateness (p99), bunched starts, trials repeated";

/// Response time and service time, and the generator's errors: lateness, bunched starts, repeated trials. A row per cell that
/// was measured.
pub fn generator(level: &LevelView) -> Grid {
    let mut header = vec!["arm"];
    header.extend(TIMES.iter().map(|(_, head)| *head));
    header.extend(["lateness", "bunched", "repeated"]);
    let mut grid = Grid::new(&header, 1);
    let percent = |share: Option<f64>| share.map_or_else(|| MISSING.into(), quantity::percent);
    for cell in level.cells.iter().filter(|cell| cell.trials_made > 0) {
        let own = &cell.generator;
        let late = own
            .lateness_p99_ns
            .map(|ns| MaybeLowerBound::exact(ns as f64));
        let mut row = vec![cell.arm.clone()];
        row.extend(TIMES.iter().map(|(metric, _)| text(cell, *metric)));
        row.push(quantity::figure(Unit::Nanoseconds, late));
        row.extend([percent(own.bunched_share), percent(cell.repeated_share)]);
        grid.rows.push(row);
    }
    grid
}

/// Upper limit of rows of [`excluded_trials`]; the HTML page has all.
const EXCLUDED_MAX: usize = 12;

/// Trials that are not fit, with the reasons: the first ones, and the number of the others.
pub fn excluded_trials(view: &View) -> Grid {
    let mut grid = Grid::new(&["trial", "block", "arm", "level", "status", "reason"], 6);
    let all: Vec<_> = view
        .trials
        .iter()
        .filter(|row| row.status != "fit")
        .collect();
    for row in all.iter().take(EXCLUDED_MAX) {
        grid.rows.push(vec![
            row.trial.to_string(),
            row.block.to_string(),
            row.arm.clone(),
            row.level.clone(),
            row.status.clone(),
            row.reasons.join("; "),
        ]);
    }
    if all.len() > EXCLUDED_MAX {
        let more = format!("{} more: see the report", all.len() - EXCLUDED_MAX);
        let none = String::new;
        grid.rows
            .push(vec!["…".into(), none(), none(), none(), none(), more]);
    }
    grid
}
