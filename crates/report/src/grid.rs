//! The tables of a report as plain text cells: one layout for terminal and Markdown.

use tare_schema::metric::{Metric, Unit};
use tare_schema::view::{CellView, Family, LevelView, Outcome, Overhead, PartView, View};

use crate::latency::Figured;
use crate::quantity::{self, MISSING};

pub mod disturbance;
pub mod failures;
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

    /// What stands in a column of this head, if it is the same in every row that has anything there.
    pub fn constant(&self, head: &str) -> Option<&str> {
        let column = self.header.iter().position(|h| h == head)?;
        let mut said = self
            .rows
            .iter()
            .map(|row| row[column].as_str())
            .filter(|t| !t.is_empty());
        let first = said.next()?;
        said.all(|text| text == first).then_some(first)
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

/// The columns of the latency table that have a value in any of these cells. Where records are counted, they are the throughput.
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

/// Latency, throughput and memory of every arm at a level; a column without any value is left out.
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

/// What one exchange of a view is called: a record where records are counted.
pub fn exchanges(view: &View) -> &'static str {
    let mut cells = view.levels.iter().flat_map(|level| &level.cells);
    let has_records = cells.any(|cell| {
        text(cell, Metric::RecordsWritten) != MISSING || text(cell, Metric::RecordsRead) != MISSING
    });
    if has_records { "records" } else { "requests" }
}

/// The arm's name, with a mark for what its figures must not be taken for.
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
    let cpu = quantity::figure(unit, part.cpu_s_per_1000.map(Figured::exact));
    let memory = part
        .rss_peak_bytes
        .map(|bytes| Figured::exact(bytes as f64));
    (cpu, quantity::figure(Unit::Bytes, memory))
}

/// Which costs stand in a cell of a table.
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

/// Costs of each part, a column per part and one for all that are under test.
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

/// The same, a row per part.
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
    // Overheads come metric by metric; people read them arm by arm.
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

/// What is compared with what, in words.
fn pair_of(overhead: &Overhead) -> (String, String) {
    if overhead.level == overhead.against_level {
        return (overhead.arm.clone(), overhead.against.clone());
    }
    (
        format!("{} ({})", overhead.level, overhead.arm),
        overhead.against_level.clone(),
    )
}

/// Outcomes in a table leave the length of the story to the verdict.
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

/// What the experiment claims of its result.
pub fn assertions(view: &View) -> Grid {
    let mut grid = Grid::new(&["assertion", "outcome", "because"], 1);
    grid.rows.extend(view.assertions.iter().map(|one| {
        let word = one.outcome.word().into();
        vec![one.text.clone(), word, one.because.clone()]
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

/// What [`instrument`] shows.
pub const INSTRUMENT: &str = "response time (from the intended start), the generator's lateness (p99), arrivals released in bursts, trials repeated";

/// Response time (from the intended start, as this client saw it) and service time beside the instrument's own error: lateness, arrivals
/// that left in bursts, trials that were repeated. A row per cell that was measured.
pub fn instrument(level: &LevelView) -> Grid {
    let mut header = vec!["arm"];
    header.extend(TIMES.iter().map(|(_, head)| *head));
    header.extend(["lateness", "bunched", "repeated"]);
    let mut grid = Grid::new(&header, 1);
    let percent = |share: Option<f64>| share.map_or_else(|| MISSING.into(), quantity::percent);
    for cell in level.cells.iter().filter(|cell| cell.trials_made > 0) {
        let own = &cell.instrument;
        let late = own.lateness_p99_ns.map(|ns| Figured::exact(ns as f64));
        let mut row = vec![cell.arm.clone()];
        row.extend(TIMES.iter().map(|(metric, _)| text(cell, *metric)));
        row.push(quantity::figure(Unit::Nanoseconds, late));
        row.extend([percent(own.bunched_share), percent(cell.repeated_share)]);
        grid.rows.push(row);
    }
    grid
}

/// Rows of [`left_out`]; the page and the records have all of them.
const LEFT_OUT_MAX: usize = 12;

/// Trials that do not count, and why: the first ones, and how many more there are.
pub fn left_out(view: &View) -> Grid {
    let mut grid = Grid::new(&["trial", "block", "arm", "level", "status", "why"], 6);
    let all: Vec<_> = view
        .trials
        .iter()
        .filter(|row| row.status != "fit")
        .collect();
    for row in all.iter().take(LEFT_OUT_MAX) {
        grid.rows.push(vec![
            row.trial.to_string(),
            row.block.to_string(),
            row.arm.clone(),
            row.level.clone(),
            row.status.clone(),
            row.why.join("; "),
        ]);
    }
    if all.len() > LEFT_OUT_MAX {
        let more = format!("{} more: see the report", all.len() - LEFT_OUT_MAX);
        let none = String::new;
        grid.rows
            .push(vec!["…".into(), none(), none(), none(), none(), more]);
    }
    grid
}
