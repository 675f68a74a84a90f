//! Whether a level filled this machine: growth beyond it cannot be seen here.

use tare_schema::load::Pacing;
use tare_schema::plan::Plan;
use tare_schema::view::LevelView;

/// Whether every load of a level goes as fast as it can: full cores are then what is asked for.
pub fn at_full_speed(plan: &Plan, level: &str) -> bool {
    let cells = plan.cells.iter().filter(|cell| cell.level == level);
    let mut roles = cells.flat_map(|cell| &cell.load).peekable();
    roles.peek().is_some() && roles.all(|role| role.load.pacing == Pacing::Max)
}

/// What of the machine was full at a level, in words; `None`: there was room.
pub fn why(plan: &Plan, level: &LevelView) -> Option<String> {
    let most = |cell: &&tare_schema::view::CellView| {
        cell.trials_fit > 0 && cell.trials_saturated * 2 >= cell.trials_fit
    };
    if level.cells.iter().any(|cell| most(&cell)) {
        return Some("the parts' cores".into());
    }
    let cells = level.cells.iter();
    let busy = cells.filter_map(|cell| cell.instrument.agent_busy);
    let most = busy.fold(0.0, f64::max);
    (most > plan.fitness.worker_busy).then(|| "the agents' cores".into())
}
