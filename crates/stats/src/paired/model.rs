//! Least squares for the two-way model with missing cells.

use super::table::PairedTable;

/// The least-squares fit of block and arm effects, for the arms that could be included.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The included arms, by their index in the table.
    pub arms: Vec<usize>,
    /// Arm minus baseline on the log scale, as in `arms`.
    pub contrasts: Vec<f64>,
    /// The contrasts' covariance for a residual variance of 1, as in `arms`.
    pub covariance: Vec<Vec<f64>>,
    /// The pooled residual variance.
    pub variance: f64,
    /// Its degrees of freedom.
    pub degrees: f64,
}

impl Fit {
    /// The smallest correlation between two contrasts (never below 0); 1/2 when there are fewer than two.
    pub fn correlation_min(&self) -> f64 {
        let c = &self.covariance;
        let mut smallest = f64::INFINITY;
        for i in 0..c.len() {
            for j in 0..i {
                smallest = smallest.min(c[i][j] / (c[i][i] * c[j][j]).sqrt());
            }
        }
        if smallest.is_finite() {
            smallest.max(0.0)
        } else {
            0.5
        }
    }
}

/// Fits the table over `arms`, each of which must share a block with the baseline; `None` without degrees of freedom.
///
/// The block effects are eliminated first: with n(t,b) observations of treatment t in block b and r(t) in all,
/// C = diag(r) − Σ_b n_b n_bᵀ / |n_b| and Q_t = Σ y_t − Σ_b n(t,b) ȳ_b, and C τ = Q is solved with the baseline's τ = 0
/// (the reduced normal equations of a block design; e.g. A. Dey, Incomplete Block Designs, 2010, §2).
pub fn fit(table: &PairedTable, arms: &[usize]) -> Option<Fit> {
    let blocks = observations(table, arms);
    let k = arms.len();
    let mut system = vec![vec![0.0; k]; k];
    let mut right = vec![0.0; k];
    for block in &blocks {
        let n = block.len() as f64;
        let mean = block.iter().map(|&(_, y)| y).sum::<f64>() / n;
        for &(t, y) in block {
            if t == 0 {
                continue;
            }
            right[t - 1] += y - mean;
            system[t - 1][t - 1] += 1.0;
            for &(other, _) in block {
                if other > 0 {
                    system[t - 1][other - 1] -= 1.0 / n;
                }
            }
        }
    }
    let covariance = inverse(system)?;
    let contrasts: Vec<f64> = covariance
        .iter()
        .map(|row| row.iter().zip(&right).map(|(c, q)| c * q).sum())
        .collect();
    let effect = |t: usize| if t == 0 { 0.0 } else { contrasts[t - 1] };
    let mut squares = 0.0;
    let mut seen = 0;
    for block in &blocks {
        let level = block.iter().map(|&(t, y)| y - effect(t)).sum::<f64>() / block.len() as f64;
        squares += block
            .iter()
            .map(|&(t, y)| (y - effect(t) - level).powi(2))
            .sum::<f64>();
        seen += block.len();
    }
    let degrees = seen.checked_sub(blocks.len() + k).filter(|&d| d > 0)? as f64;
    Some(Fit {
        arms: arms.to_vec(),
        contrasts,
        covariance,
        variance: squares / degrees,
        degrees,
    })
}

/// Per block that is not empty: (treatment, logarithm), where 0 is the baseline and i + 1 is `arms[i]`.
fn observations(table: &PairedTable, arms: &[usize]) -> Vec<Vec<(usize, f64)>> {
    let mut blocks: Vec<Vec<(usize, f64)>> = table
        .baseline()
        .map(|seen| seen.into_iter().map(|y| (0, y)).collect())
        .collect();
    for (i, &arm) in arms.iter().enumerate() {
        for (block, y) in blocks.iter_mut().zip(table.arm(arm)) {
            block.extend(y.map(|y| (i + 1, y)));
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// The inverse of a small positive definite matrix by Gauss–Jordan; `None` when it has none.
///
/// Without pivoting: for positive definite matrices the diagonal pivots are positive and safe.
fn inverse(mut m: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = m.len();
    if n == 0 {
        return None;
    }
    for p in 0..n {
        let pivot = m[p][p];
        if pivot.is_nan() || pivot <= 1e-9 {
            return None;
        }
        m[p][p] = 1.0;
        for v in &mut m[p] {
            *v /= pivot;
        }
        let pivot_row = m[p].clone();
        for (i, row) in m.iter_mut().enumerate() {
            if i == p {
                continue;
            }
            let factor = row[p];
            row[p] = 0.0;
            for (v, from) in row.iter_mut().zip(&pivot_row) {
                *v -= factor * from;
            }
        }
    }
    Some(m)
}
