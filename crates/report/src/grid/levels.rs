//! The tables of an experiment that compares levels: a row for each level.

use tare_schema::metric::Unit;
use tare_schema::view::{
    CellView, FactorLine, FactorView, Family, LevelView, PartView, TargetCountersView, View,
};

use super::{Grid, arm_name, columns, row, short_outcome};
use crate::latency::MaybeLowerBound;
use crate::quantity::{self, MISSING};

/// Every level with each of its cells.
fn cells(view: &View) -> impl Iterator<Item = (&LevelView, &CellView)> + Clone {
    let of = |level| move |cell| (level, cell);
    view.levels
        .iter()
        .flat_map(move |level: &LevelView| level.cells.iter().map(of(level)))
}

/// The grid without its column of arms if there is only one arm.
fn of_one_arm(view: &View, grid: Grid) -> Grid {
    match view.arms.len() {
        1 => grid.without(&["arm"]),
        _ => grid,
    }
}

/// Latency, throughput and memory.
pub fn figures(view: &View) -> Grid {
    let shown = columns(cells(view).map(|(_, cell)| cell));
    let mut header = vec!["level", "arm"];
    header.extend(shown.iter().map(|(_, head)| *head));
    let mut grid = Grid::new(&header, 2);
    for (level, cell) in cells(view) {
        let mut cells = vec![level.name.clone(), arm_name(view, cell)];
        cells.extend(row(cell, &shown));
        grid.rows.push(cells);
    }
    of_one_arm(view, grid)
}

/// Cores and peak memory of each part.
pub fn used(view: &View) -> Grid {
    of_parts(view, |part| {
        let memory = part
            .rss_peak_bytes
            .map(|bytes| MaybeLowerBound::exact(bytes as f64));
        let cores = part.cores.map(|cores| format!("{cores:.2} cores"));
        let memory = memory.map(|memory| quantity::figure(Unit::Bytes, Some(memory)));
        joined([cores, memory])
    })
}

/// Disk writes and network packets of each part.
pub fn moved(view: &View) -> Grid {
    of_parts(view, |part| {
        let disk = part.disk_write_per_s;
        let disk = disk.map(|bytes| quantity::value(Unit::BytesPerSecond, bytes));
        let packets = part.packets_per_s;
        let packets = packets.map(|count| quantity::value(Unit::PerSecond, count));
        joined([disk, packets])
    })
}

fn joined(texts: [Option<String>; 2]) -> Option<String> {
    let known: Vec<String> = texts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// A column for every part except the conductor; empty if no part has values.
fn of_parts(view: &View, text: impl Fn(&PartView) -> Option<String>) -> Grid {
    let mut instances: Vec<&str> = Vec::new();
    let parts = cells(view).flat_map(|(_, cell)| &cell.parts);
    for part in parts.filter(|part| part.role != "conductor") {
        if text(part).is_some() && !instances.contains(&part.instance.as_str()) {
            instances.push(&part.instance);
        }
    }
    let mut header = vec!["level", "arm"];
    header.extend(&instances);
    let mut grid = Grid::new(&header, 2);
    if instances.is_empty() {
        return grid;
    }
    for (level, cell) in cells(view) {
        let mut cells = vec![level.name.clone(), cell.arm.clone()];
        for instance in &instances {
            let part = cell.parts.iter().find(|part| part.instance == *instance);
            cells.push(part.and_then(&text).unwrap_or_else(|| MISSING.into()));
        }
        grid.rows.push(cells);
    }
    of_one_arm(view, grid)
}

/// Each level against the first.
pub fn compared(view: &View) -> Grid {
    let heads = [
        "level",
        "arm",
        "against",
        "metric",
        "ratio",
        "difference",
        "outcome",
    ];
    let mut grid = Grid::new(&heads, 4);
    for level in &view.levels {
        let overheads = view.overheads.iter();
        let of_level = overheads.filter(|o| o.family == Family::Primary && o.level == level.name);
        let mut before = None;
        for overhead in of_level {
            let is_new = before.replace(&overhead.arm) != Some(&overhead.arm);
            let name = |text: &String| if is_new { text.clone() } else { String::new() };
            grid.rows.push(vec![
                name(&overhead.level),
                name(&overhead.arm),
                name(&overhead.against_level),
                overhead.metric.label().into(),
                overhead
                    .ratio
                    .map_or_else(|| MISSING.into(), |ratio| quantity::times(&ratio)),
                overhead.added_text.clone(),
                short_outcome(overhead),
            ]);
        }
    }
    of_one_arm(view, grid)
}

/// A metric by factor: mean over blocks with its unadjusted 95 % interval, and the value by the published ratio.
pub fn factor(view: &FactorView) -> Grid {
    let mut header = vec!["level"];
    header.extend(view.lines.iter().map(|line| line.arm.as_str()));
    let published = |line: &FactorLine| line.points.iter().any(|point| point.published.is_some());
    let shows_published = view.lines.iter().any(published);
    if shows_published {
        header.push("by the published ratio");
    }
    let mut grid = Grid::new(&header, 1);
    let points = view.lines.first().map_or(&[][..], |line| &line.points);
    for (place, first) in points.iter().enumerate() {
        let mut row = vec![first.level.clone()];
        let of_line = view.lines.iter().filter_map(|line| line.points.get(place));
        row.extend(of_line.map(|point| match point.saturated {
            true => format!("{} (saturated)", point.text),
            false => point.text.clone(),
        }));
        if shows_published {
            let published = first.published.map(MaybeLowerBound::exact);
            row.push(quantity::figure(view.unit, published));
        }
        grid.rows.push(row);
    }
    grid
}

/// The target counters of a cell.
pub fn target_counters(counters: &TargetCountersView) -> Grid {
    let mut header = vec!["figure"];
    header.extend(counters.instances.iter().map(String::as_str));
    let mut grid = Grid::new(&header, 1);
    for row in &counters.rows {
        let mut cells = vec![row.name.clone()];
        cells.extend(row.texts.iter().cloned());
        grid.rows.push(cells);
    }
    grid
}
