//! The tables of pods' traffic, of links and their traffic, and of the machine's usage.

use tare_schema::view::{LevelView, View};

use super::Grid;
use crate::links::{DISTANCE_HEADS, WAY_HEADS};
use crate::network::{MACHINE_HEADS, POD_HEADS};

/// A row per arm and pod; empty without network namespaces.
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

/// A row per link; empty with a single site.
pub fn link_rtts(view: &View) -> Grid {
    let mut grid = Grid::new(&DISTANCE_HEADS, 1);
    grid.rows
        .extend(view.link_rtts.iter().map(|d| d.texts.clone()));
    grid
}

/// A row per arm and direction of a link; empty with a single site.
pub fn directions(level: &LevelView) -> Grid {
    let mut grid = Grid::new(&[&["arm", "direction"], &WAY_HEADS[..]].concat(), 2);
    for cell in &level.cells {
        for (place, way) in cell.directions.iter().enumerate() {
            let arm = if place == 0 {
                cell.arm.clone()
            } else {
                String::new()
            };
            let mut row = vec![arm, format!("{} → {}", way.from, way.to)];
            row.extend(way.texts.iter().cloned());
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
