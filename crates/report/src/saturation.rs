//! What limits a level: maximum rate, a closed loop with its knee, saturated cores.

use tare_record::load::Pacing;
use tare_record::metric::{Metric, Unit};
use tare_record::plan::Plan;
use tare_record::view::{CellView, LevelView, View};

use crate::latency::MaybeLowerBound;
use crate::quantity;
use crate::tables::{cell_of, figure_of};

/// Share of the highest throughput that is reached at the knee: blocks differ by a few percent.
const KNEE_SHARE: f64 = 0.95;
/// The factor of a throughput curve.
const CLIENTS_FACTOR: &str = "load.clients";

/// Whether every load of a level is a closed loop: the knee is then the number of clients beyond which throughput stops growing.
pub fn is_closed(plan: &Plan, level: &str) -> bool {
    all_loads(plan, level, |pacing| {
        matches!(pacing, Pacing::Closed { .. })
    })
}

/// Whether every load of a level runs at maximum rate: saturated cores are then expected.
pub fn is_max_rate(plan: &Plan, level: &str) -> bool {
    all_loads(plan, level, |pacing| *pacing == Pacing::Max)
}

fn all_loads(plan: &Plan, level: &str, is: fn(&Pacing) -> bool) -> bool {
    let cells = plan.cells.iter().filter(|cell| cell.level == level);
    let mut roles = cells.flat_map(|cell| &cell.load).peekable();
    roles.peek().is_some() && roles.all(|role| is(&role.load.pacing))
}

/// A sentence on the knee of the baseline, if the number of clients is the only factor.
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
    // With errors, clients send sooner: throughput is then not capacity.
    for level in &view.levels {
        let failed = cell_of(level, arm).map(|cell| &cell.failed);
        if let Some(failed) = failed.filter(|one| one.no_verdict.contains(&Metric::Throughput)) {
            return Some(format!(
                "Knee of {arm} not determined: {} of the {} failed at {}.",
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
        .find(|(_, carried)| *carried >= KNEE_SHARE * most)?;
    let figure = quantity::figure(Unit::PerSecond, Some(MaybeLowerBound::exact(carried)));
    Some(if clients == last {
        format!("{arm} peaks at {last} clients ({figure}): its knee may lie beyond them.")
    } else {
        format!(
            "The knee of {arm} lies at {clients} clients ({figure}): more of them bring hardly more answers. From there on latency tells how long they \
             wait for each other; throughput and CPU per request still tell what the way costs."
        )
    })
}

/// The number of clients of a level, if that is its only factor.
fn clients(level: &LevelView) -> Option<u64> {
    match level.values.as_slice() {
        [(key, value)] if key == CLIENTS_FACTOR => value.parse().ok(),
        _ => None,
    }
}

fn throughput(level: &LevelView, arm: &str) -> Option<f64> {
    figure_of(cell_of(level, arm)?, Metric::Throughput)?.value
}

/// The cores that were saturated at a level, as text; `None` if there was headroom.
pub fn saturated_cores(plan: &Plan, level: &LevelView) -> Option<String> {
    let most =
        |cell: &&CellView| cell.trials_fit > 0 && cell.trials_saturated * 2 >= cell.trials_fit;
    if level.cells.iter().any(|cell| most(&cell)) {
        return Some("the parts' cores".into());
    }
    let cells = level.cells.iter();
    let busy = cells.filter_map(|cell| cell.generator.agent_cpu_share);
    let most = busy.fold(0.0, f64::max);
    (most > plan.fitness.worker_busy).then(|| "the agents' cores".into())
}
