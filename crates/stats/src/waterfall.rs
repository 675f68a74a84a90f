//! Additive decomposition (waterfall): the increments along a sequence of arms, from the first to the last.
//!
//! Only additive metrics can be decomposed: means and amounts. The mean latency of an arm is that of the arm before it
//! plus the increment; medians do not add up. Everything is computed over the blocks in which every arm of the sequence
//! was measured, so that the sum telescopes: the increments add up to the total, except for rounding. An interval is
//! Student's t on the paired differences within blocks (noise that all arms of a block share cancels), with each
//! increment's own scatter: arms with more parts scatter more.

use crate::distribution::student_quantile;
use crate::outcome::BLOCKS_MIN;
use crate::paired::{mean, variance};

/// Two-sided level of the intervals.
const ALPHA: f64 = 0.05;

/// A difference between two arms, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Increment {
    /// Mean of the differences within blocks.
    pub estimate: f64,
    /// Its unadjusted 95 % interval, from low to high; none with fewer than three blocks.
    pub interval: Option<(f64, f64)>,
}

/// The decomposition of a sequence of arms.
#[derive(Debug, Clone, PartialEq)]
pub struct Waterfall {
    /// Blocks in which every arm was measured.
    pub blocks: usize,
    /// Mean of each arm over these blocks.
    pub means: Vec<f64>,
    /// Increments from each arm to the next; one fewer than arms.
    pub steps: Vec<Increment>,
    /// The difference between the last arm and the first.
    pub total: Increment,
}

/// Decomposes a sequence: a row per block with a value per arm. `None` without a complete block, or with fewer than two arms.
#[must_use]
pub fn decompose(rows: &[Vec<Option<f64>>]) -> Option<Waterfall> {
    let whole: Vec<Vec<f64>> = rows
        .iter()
        .filter_map(|row| row.iter().copied().collect())
        .collect();
    let arms = whole.first()?.len();
    if arms < 2 || whole.iter().any(|row| row.len() != arms) {
        return None;
    }
    let increment = |from: usize, to: usize| -> Option<Increment> {
        let differences: Vec<f64> = whole.iter().map(|row| row[to] - row[from]).collect();
        let estimate = mean(&differences)?;
        let interval = half_width(&differences).map(|half| (estimate - half, estimate + half));
        Some(Increment { estimate, interval })
    };
    Some(Waterfall {
        blocks: whole.len(),
        means: (0..arms)
            .map(|arm| mean(&whole.iter().map(|row| row[arm]).collect::<Vec<_>>()))
            .collect::<Option<_>>()?,
        steps: (1..arms)
            .map(|arm| increment(arm - 1, arm))
            .collect::<Option<_>>()?,
        total: increment(0, arms - 1)?,
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
