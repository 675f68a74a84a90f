//! The tables of what passed through pods and of what the machine did.

use tare_schema::view::LevelView;

use super::Grid;
use crate::network::{MACHINE_HEADS, POD_HEADS};

/// A row per arm and pod; empty where pods have no network of their own.
pub fn pods(level: &LevelView) -> Grid {
    let mut grid = Grid::new(&[&["arm", "pod"], &POD_HEADS[..]].concat(), 2);
    for cell in &level.cells {
        for (place, pod) in cell.pods.iter().enumerate() {
            let arm = if place == 0 {
                cell.arm.clone()
            } else {
                String::new()
            };
            let mut row = vec![arm, pod.pod.clone()];
            row.extend(pod.texts.iter().cloned());
            grid.rows.push(row);
        }
    }
    grid
}

/// A row per arm that was measured.
pub fn machine(level: &LevelView) -> Grid {
    let mut grid = Grid::new(&[&["arm"], &MACHINE_HEADS[..]].concat(), 1);
    for cell in level.cells.iter().filter(|cell| cell.trials_fit > 0) {
        let mut row = vec![cell.arm.clone()];
        row.extend(cell.machine.texts.iter().cloned());
        grid.rows.push(row);
    }
    grid
}
