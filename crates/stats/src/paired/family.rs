//! The declared primary family: what the simultaneous intervals are simultaneous over.

use std::sync::{Mutex, PoisonError};

use crate::distribution::Contrasts;

/// The probability that any interval of the primary family misses.
pub const ALPHA: f64 = 0.05;

/// The declared primary family, arms × levels × metrics: declared before the run and the same for all its tables.
#[derive(Debug)]
pub struct Family {
    arms: usize,
    cells: usize,
    /// Critical values already integrated: a run asks for the same one at every level and metric.
    known: Mutex<Vec<(Contrasts, f64)>>,
}

impl Family {
    /// The family of so many arms (without the baseline), levels and primary metrics; each at least 1.
    #[must_use]
    pub fn new(arms: usize, levels: usize, metrics: usize) -> Self {
        Self {
            arms: arms.max(1),
            cells: (levels * metrics).max(1),
            known: Mutex::new(Vec::new()),
        }
    }

    /// How many arms were declared.
    #[must_use]
    pub fn arms(&self) -> usize {
        self.arms
    }

    /// How many cells (level × metric) share α.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// α of one level and metric.
    #[must_use]
    pub fn alpha_of_a_cell(&self) -> f64 {
        ALPHA / self.cells as f64
    }

    /// Dunnett's critical value for contrasts that share a residual.
    #[must_use]
    pub fn critical_pooled(&self, degrees: f64, correlation: f64) -> f64 {
        // Rounded down (which widens), so that equal designs with different rounding errors share an entry.
        let correlation = (correlation * 1e6).floor() / 1e6;
        let contrasts = Contrasts {
            arms: self.arms,
            degrees,
            correlation,
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, critical)) = known.iter().find(|(of, _)| *of == contrasts) {
            return *critical;
        }
        let critical = contrasts.critical(self.alpha_of_a_cell());
        // A run has few distinct designs; the limit only guards against a caller with endless ones.
        if known.len() >= 256 {
            known.clear();
        }
        known.push((contrasts, critical));
        critical
    }
}
