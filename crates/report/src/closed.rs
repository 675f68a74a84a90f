//! Closed loops: who waits for its answers cannot be offered too much; the knee is where more clients bring no more answers.

use tare_schema::load::Pacing;
use tare_schema::metric::{Metric, Unit};
use tare_schema::plan::Plan;
use tare_schema::view::{LevelView, View};

use crate::latency::Figured;
use crate::quantity;

/// The knee has this share of the highest throughput: blocks differ by a few percent.
const SHARE: f64 = 0.95;
/// The factor that makes a curve of throughput.
const CLIENTS: &str = "load.clients";

/// Whether every client of a level waits for its answers.
pub fn is_closed(plan: &Plan, level: &str) -> bool {
    let cells = plan.cells.iter().filter(|cell| cell.level == level);
    let mut roles = cells.flat_map(|cell| &cell.load).peekable();
    let waits = |pacing: &Pacing| matches!(pacing, Pacing::Closed { .. });
    roles.peek().is_some() && roles.all(|role| waits(&role.load.pacing))
}

/// The knee of the baseline in a sentence, where clients and nothing else are varied.
pub fn knee(plan: &Plan, view: &View) -> Option<String> {
    let arm = &view.arms.iter().find(|arm| arm.baseline)?.name;
    let mut points: Vec<(u64, f64)> = Vec::new();
    for level in &view.levels {
        if !is_closed(plan, &level.name) {
            return None;
        }
        points.extend(clients(level).zip(throughput(level, arm)));
    }
    if points.len() < 2 {
        return None;
    }
    // Who is refused asks again sooner: what is carried then is no capacity.
    for level in &view.levels {
        let cell = level.cells.iter().find(|cell| cell.arm == *arm);
        let failed = cell.map(|cell| &cell.failed);
        if let Some(failed) = failed.filter(|one| one.unjudged.contains(&Metric::Throughput)) {
            return Some(format!(
                "No knee of {arm} is named: {} of the {} failed at {}.",
                failed.text, failed.what, level.name
            ));
        }
    }
    points.sort_by_key(|(clients, _)| *clients);
    let most = points
        .iter()
        .map(|(_, carried)| *carried)
        .fold(0.0, f64::max);
    let last = points.last()?.0;
    let (clients, carried) = *points
        .iter()
        .find(|(_, carried)| *carried >= SHARE * most)?;
    let figure = quantity::figure(Unit::PerSecond, Some(Figured::exact(carried)));
    Some(if clients == last {
        format!("{arm} carries most with {last} clients ({figure}): its knee may lie beyond them.")
    } else {
        format!(
            "The knee of {arm} lies at {clients} clients ({figure}): more of them bring hardly more answers. From there on latency tells how long they \
             wait for each other; throughput and CPU per request still tell what the way costs."
        )
    })
}

/// How many clients a level has, if nothing else makes it a level.
fn clients(level: &LevelView) -> Option<u64> {
    match level.values.as_slice() {
        [(key, value)] if key == CLIENTS => value.parse().ok(),
        _ => None,
    }
}

fn throughput(level: &LevelView, arm: &str) -> Option<f64> {
    let cell = level.cells.iter().find(|cell| cell.arm == arm)?;
    let figure = cell
        .figures
        .iter()
        .find(|figure| figure.metric == Metric::Throughput)?;
    figure.value
}
