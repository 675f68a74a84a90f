//! The declared primary family: the comparisons over which the intervals are simultaneous.

use std::sync::{Mutex, PoisonError};

use crate::distribution::Contrasts;

/// The probability that any interval of the primary family misses.
pub const ALPHA: f64 = 0.05;

/// The declared primary family, arms × levels × metrics: declared before the run and the same for all its tables.
#[derive(Debug)]
pub struct ComparisonFamily {
    arms: usize,
    cells: usize,
    /// Critical values already computed: most levels and metrics of a run need the same one.
    cache: Mutex<Vec<(Contrasts, f64)>>,
}

impl ComparisonFamily {
    /// The family of arms (without the baseline), levels and primary metrics; each number is at least 1.
    #[must_use]
    pub fn new(arms: usize, levels: usize, metrics: usize) -> Self {
        Self {
            arms: arms.max(1),
            cells: (levels * metrics).max(1),
            cache: Mutex::new(Vec::new()),
        }
    }

    /// Number of declared arms.
    #[must_use]
    pub fn arms(&self) -> usize {
        self.arms
    }

    /// Number of cells (level × metric) that share α.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// α of one level and metric.
    #[must_use]
    pub fn cell_alpha(&self) -> f64 {
        ALPHA / self.cells as f64
    }

    /// Dunnett's critical value for contrasts that share a residual.
    #[must_use]
    pub fn critical_pooled(&self, degrees: f64, correlation: f64) -> f64 {
        // Rounded down (which widens the interval), so that equal designs with different rounding errors share an entry.
        let correlation = (correlation * 1e6).floor() / 1e6;
        let contrasts = Contrasts {
            arms: self.arms,
            degrees,
            correlation,
        };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, critical)) = cache.iter().find(|(of, _)| *of == contrasts) {
            return *critical;
        }
        let critical = contrasts.critical(self.cell_alpha());
        // A run has few distinct designs; the limit bounds the memory in any case.
        if cache.len() >= 256 {
            cache.clear();
        }
        cache.push((contrasts, critical));
        critical
    }
}
