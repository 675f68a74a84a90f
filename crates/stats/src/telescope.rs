//! A sum taken apart: the steps of a sequence of arms, which add up to the difference between the last and the first.
//!
//! Only what is additive can be taken apart so: means and amounts. The mean latency of one arm is that of the arm
//! before it plus what was added; its median is not. Everything is computed over the blocks in which every arm of the
//! sequence was measured, so that the mean differences telescope: their sum is the total, but for the rounding of
//! the additions. An interval is Student's t on the paired differences within blocks (the noise of a block that
//! all its arms share cancels), with the step's own scatter: arms with more in them scatter more.

use crate::distribution::student_quantile;
use crate::outcome::BLOCKS_MIN;
use crate::paired::{mean, variance};

/// Two-sided level of the intervals.
const ALPHA: f64 = 0.05;

/// A difference between two arms, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Mean of the differences within blocks.
    pub estimate: f64,
    /// Its plain 95 % interval, from low to high; none with fewer than three blocks.
    pub interval: Option<(f64, f64)>,
}

/// A sequence of arms taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Telescope {
    /// Blocks in which every arm was measured.
    pub blocks: usize,
    /// Mean of each arm over these blocks.
    pub means: Vec<f64>,
    /// From each arm to the next; one fewer than arms.
    pub steps: Vec<Part>,
    /// From the first arm to the last.
    pub total: Part,
}

/// Takes a sequence apart: a row per block, in it a value per arm. `None` without a block that has all, or with fewer than two arms.
#[must_use]
pub fn telescope(rows: &[Vec<Option<f64>>]) -> Option<Telescope> {
    let whole: Vec<Vec<f64>> = rows
        .iter()
        .filter_map(|row| row.iter().copied().collect())
        .collect();
    let arms = whole.first()?.len();
    if arms < 2 || whole.iter().any(|row| row.len() != arms) {
        return None;
    }
    let part = |from: usize, to: usize| -> Option<Part> {
        let differences: Vec<f64> = whole.iter().map(|row| row[to] - row[from]).collect();
        let estimate = mean(&differences)?;
        let interval = half_width(&differences).map(|half| (estimate - half, estimate + half));
        Some(Part { estimate, interval })
    };
    Some(Telescope {
        blocks: whole.len(),
        means: (0..arms)
            .map(|arm| mean(&whole.iter().map(|row| row[arm]).collect::<Vec<_>>()))
            .collect::<Option<_>>()?,
        steps: (1..arms)
            .map(|arm| part(arm - 1, arm))
            .collect::<Option<_>>()?,
        total: part(0, arms - 1)?,
    })
}

fn half_width(differences: &[f64]) -> Option<f64> {
    let blocks = differences.len();
    if blocks < BLOCKS_MIN {
        return None;
    }
    let t = student_quantile(1.0 - ALPHA / 2.0, (blocks - 1) as f64);
    Some(t * (variance(differences)? / blocks as f64).sqrt())
}

#[cfg(test)]
mod tests;
