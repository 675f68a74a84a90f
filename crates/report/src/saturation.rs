//! Whether a level saturated this machine: growth beyond it cannot be measured here.

use tare_schema::load::Pacing;
use tare_schema::plan::Plan;
use tare_schema::view::LevelView;

/// Whether every load of a level runs at maximum rate: saturated cores are then expected.
pub fn is_max_rate(plan: &Plan, level: &str) -> bool {
    let cells = plan.cells.iter().filter(|cell| cell.level == level);
    let mut roles = cells.flat_map(|cell| &cell.load).peekable();
    roles.peek().is_some() && roles.all(|role| role.load.pacing == Pacing::Max)
}

/// The cores that were saturated at a level, as text; `None` if there was headroom.
pub fn saturated_cores(plan: &Plan, level: &LevelView) -> Option<String> {
    let most = |cell: &&tare_schema::view::CellView| {
        cell.trials_fit > 0 && cell.trials_saturated * 2 >= cell.trials_fit
    };
    if level.cells.iter().any(|cell| most(&cell)) {
        return Some("the parts' cores".into());
    }
    let cells = level.cells.iter();
    let busy = cells.filter_map(|cell| cell.generator.agent_cpu_share);
    let most = busy.fold(0.0, f64::max);
    (most > plan.fitness.worker_busy).then(|| "the agents' cores".into())
}
