//! The values of one metric at one level: a table of blocks by arms.

/// How often the baseline runs in each block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaselineCopies {
    /// Once.
    One,
    /// Twice: the A/A pair.
    Two,
}

impl BaselineCopies {
    /// As a number.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

/// One metric at one level: a row per block with the baseline, its second copy if there is one, and the arms.
///
/// `None` is a missing or invalid measurement. Values must be positive, since ratios are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedTable {
    copies: BaselineCopies,
    arms: usize,
    logs: Vec<Vec<Option<f64>>>,
}

/// A table that cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TableError {
    /// A row is not as wide as the baseline copies and the arms.
    #[error(
        "block {block} has {found} values instead of {wanted}: give one per baseline copy and arm, missing ones as none"
    )]
    Width {
        /// The block, from 0.
        block: usize,
        /// Values in it.
        found: usize,
        /// Values wanted.
        wanted: usize,
    },
    /// A value is zero, negative or not a number.
    #[error(
        "block {block}, column {column}: {value} has no ratio to a baseline: give positive values and leave trials without one out as missing"
    )]
    NotPositive {
        /// The block, from 0.
        block: usize,
        /// The column, from 0.
        column: usize,
        /// The value given.
        value: f64,
    },
}

impl PairedTable {
    /// Takes the rows, one per block.
    ///
    /// # Errors
    /// When a row has the wrong width or a value is not a positive number.
    pub fn new(
        copies: BaselineCopies,
        arms: usize,
        rows: &[Vec<Option<f64>>],
    ) -> Result<Self, TableError> {
        let wanted = copies.count() + arms;
        let mut logs = Vec::with_capacity(rows.len());
        for (block, row) in rows.iter().enumerate() {
            if row.len() != wanted {
                return Err(TableError::Width {
                    block,
                    found: row.len(),
                    wanted,
                });
            }
            for (column, value) in row.iter().enumerate() {
                if let Some(value) = *value
                    && !(value > 0.0 && value.is_finite())
                {
                    return Err(TableError::NotPositive {
                        block,
                        column,
                        value,
                    });
                }
            }
            logs.push(row.iter().map(|value| value.map(f64::ln)).collect());
        }
        Ok(Self { copies, arms, logs })
    }

    /// Number of arms without the baseline.
    #[must_use]
    pub fn arms(&self) -> usize {
        self.arms
    }

    /// Number of blocks, complete or not.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.logs.len()
    }

    /// How often the baseline runs per block.
    #[must_use]
    pub fn copies(&self) -> BaselineCopies {
        self.copies
    }

    /// Per block, the logarithms of the baseline's values.
    pub(super) fn baseline(&self) -> impl Iterator<Item = Vec<f64>> {
        let copies = self.copies.count();
        self.logs
            .iter()
            .map(move |row| row[..copies].iter().flatten().copied().collect())
    }

    /// Per block, the logarithm of an arm.
    pub(super) fn arm(&self, arm: usize) -> impl Iterator<Item = Option<f64>> {
        let column = self.copies.count() + arm;
        self.logs.iter().map(move |row| row[column])
    }

    /// The log-ratios of an arm to the mean of the baseline's copies, over the blocks that have both.
    pub(super) fn log_ratios(&self, arm: usize) -> Vec<f64> {
        self.baseline()
            .zip(self.arm(arm))
            .filter_map(|(baseline, value)| Some(value? - mean(&baseline)?))
            .collect()
    }

    /// The geometric mean of the baseline's block means: a missing copy does not shift it.
    pub(super) fn baseline_level(&self) -> Option<f64> {
        let blocks: Vec<f64> = self.baseline().filter_map(|seen| mean(&seen)).collect();
        mean(&blocks).map(f64::exp)
    }
}

/// The median; `None` without values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    Some(match below.iter().copied().reduce(f64::max) {
        Some(lower) if values.len().is_multiple_of(2) => f64::midpoint(lower, upper),
        _ => upper,
    })
}

/// The mean; `None` for no values.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The variance (n − 1); `None` for fewer than two values.
pub(crate) fn variance(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}
