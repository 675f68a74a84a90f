//! The tables of requests and of throughput by level.

use tare_schema::metric::Metric;
use tare_schema::plan::Compare;
use tare_schema::view::{LevelView, RequestColumn, RequestView, View};

use super::Grid;
use crate::quantity::MISSING;

/// The level whose requests are shown: the plan's `per_request_level`, else the last.
pub fn shown(view: &View) -> Option<&LevelView> {
    let asked = view.per_request_level.as_ref();
    let asked = asked.and_then(|name| view.levels.iter().find(|level| level.name == *name));
    asked.or(view.levels.last())
}

/// A row per request and arm; empty if there is only one kind of request.
pub fn requests(level: &LevelView) -> Grid {
    let mut header = vec!["request", "arm", "ok", "errors"];
    header.extend(RequestColumn::ALL.map(RequestColumn::label));
    let mut grid = Grid::new(&header, 2);
    let mut names: Vec<&str> = Vec::new();
    for request in level.cells.iter().flat_map(|cell| &cell.requests) {
        if !names.contains(&request.request.as_str()) {
            names.push(&request.request);
        }
    }
    for name in names {
        let mut first = true;
        for cell in &level.cells {
            let of_arm = cell.requests.iter().find(|request| request.request == name);
            let Some(request) = of_arm else { continue };
            let shown = match (first, request.whole_session) {
                (false, _) => String::new(),
                (true, true) => format!("{name} (whole)"),
                (true, false) => name.to_owned(),
            };
            first = false;
            grid.rows.push(row(shown, &cell.arm, request));
        }
    }
    grid
}

fn row(name: String, arm: &str, request: &RequestView) -> Vec<String> {
    let wrong = request.errors + request.unfinished;
    let mut row = vec![
        name,
        arm.to_owned(),
        request.ok.to_string(),
        wrong.to_string(),
    ];
    row.extend(RequestColumn::ALL.map(|column| {
        let figure = request
            .figures
            .iter()
            .find(|figure| figure.column == column);
        figure.map_or_else(|| MISSING.to_owned(), |figure| figure.text.clone())
    }));
    row
}

/// Throughput, a row per level and a column per arm; empty with a single level, with an offered rate, or if levels are compared
/// (their own table has it).
pub fn throughput(view: &View) -> Grid {
    let mut header = vec!["level"];
    header.extend(view.arms.iter().map(|arm| arm.name.as_str()));
    let mut grid = Grid::new(&header, 1);
    let cells = || view.levels.iter().flat_map(|level| &level.cells);
    if view.compare == Compare::Levels
        || view.levels.len() < 2
        || cells().any(|cell| cell.offered_per_s.is_some())
    {
        return grid;
    }
    for level in &view.levels {
        let mut row = vec![level.name.clone()];
        row.extend(view.arms.iter().map(|arm| {
            let cell = level.cells.iter().find(|cell| cell.arm == arm.name);
            let figures = cell.into_iter().flat_map(|cell| &cell.figures);
            let mut figures = figures.filter(|figure| figure.metric == Metric::Throughput);
            let figure = figures.next();
            figure.map_or_else(|| MISSING.to_owned(), |figure| figure.text.clone())
        }));
        grid.rows.push(row);
    }
    grid
}
