//! Comparison of two runs, for `tare compare`: unpaired, since their blocks have nothing in common.
//!
//! The interval covers the scatter between blocks of each run. It does *not* cover changes between the runs as a whole
//! (kernel, clock, neighbours, temperature): only more runs show those. A report must say so.

use crate::distribution::{student_cdf, student_quantile};
use crate::interval::{Difference, RatioInterval};
use crate::outcome::{BLOCKS_MIN, Margin, Outcome, TestStatistic};
use crate::paired::{TableError, mean, variance};

/// The values of one arm, level and metric in both runs, one per block.
#[derive(Debug, Clone, Copy)]
pub struct UnpairedInput<'a> {
    /// Values of the reference run.
    pub before: &'a [f64],
    /// Values of the other run.
    pub after: &'a [f64],
    /// Number of comparisons in the primary family: α is divided by it (Bonferroni). 1 for descriptive ones.
    pub family: usize,
    /// The declared margin.
    pub margin: Margin,
    /// The relative step of the metric's own scale (a histogram's [`crate::Latencies::RESOLUTION`]), 0 for counts and clocks:
    /// no interval is narrower, so a difference of one step is never "differs".
    pub resolution: f64,
}

/// The comparison of one metric between two runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnpairedComparison {
    /// Geometric mean of the reference.
    pub before: Option<f64>,
    /// Ratio of geometric means, after to before.
    pub ratio: Option<f64>,
    /// The interval for the decision "differs": simultaneous 95 % over the family.
    pub decision: Option<RatioInterval>,
    /// The difference in the metric's unit, with the decision interval.
    pub difference: Option<Difference>,
    /// The two-sided p value of "no difference", not adjusted for the family.
    pub p: Option<f64>,
    /// The decision. "More blocks" means in each of the two runs.
    pub outcome: Outcome,
}

/// Compares two runs on the log scale by Welch's t (B. L. Welch, Biometrika 34 (1947) 28–35, with Satterthwaite's
/// degrees of freedom).
///
/// # Errors
/// When a value is not a positive number; the "column" is 0 for `before`, 1 for `after`.
pub fn compare(input: &UnpairedInput) -> Result<UnpairedComparison, TableError> {
    let before = logs(input.before, 0)?;
    let after = logs(input.after, 1)?;
    let fewest = before.len().min(after.len());
    let estimate = mean(&after).zip(mean(&before)).map(|(a, b)| a - b);
    let ratio = estimate.map(f64::exp);
    let level = mean(&before).map(f64::exp);
    let spreads = variance(&before).zip(variance(&after));
    let (Some(estimate), Some((v, w)), true) = (estimate, spreads, fewest >= BLOCKS_MIN) else {
        let outcome = Outcome::TooFewBlocks { complete: fewest };
        return Ok(UnpairedComparison {
            before: level,
            ratio,
            decision: None,
            difference: None,
            p: None,
            outcome,
        });
    };
    let (n, m) = (before.len() as f64, after.len() as f64);
    let floor = input.resolution.powi(2) / 12.0;
    let (v, w) = (v.max(floor) / n, w.max(floor) / m);
    let sum = v + w;
    let degrees = if sum > 0.0 {
        sum * sum / (v * v / (n - 1.0) + w * w / (m - 1.0))
    } else {
        n + m - 2.0
    };
    let tail = 0.025 / input.family.max(1) as f64;
    let critical = student_quantile(1.0 - tail, degrees);
    // Values rounded to the same step have the same error in every block: averaging does not reduce it.
    let step = input.resolution / critical;
    let statistic = TestStatistic {
        estimate,
        // The floor covers rounding, as for runs whose values are all equal.
        error: sum.sqrt().max(step).max(1e-9),
        degrees,
        critical,
        tail,
        blocks: fewest,
        margin: level.map_or(0.0, |level| input.margin.relative_to(level)),
    };
    let decision = statistic.decision();
    Ok(UnpairedComparison {
        before: level,
        ratio,
        decision: Some(decision),
        difference: level.map(|level| Difference::derive(level, estimate.exp(), decision)),
        p: Some(2.0 * student_cdf(-(estimate / statistic.error).abs(), degrees)),
        outcome: statistic.judge(),
    })
}

fn logs(values: &[f64], column: usize) -> Result<Vec<f64>, TableError> {
    values
        .iter()
        .enumerate()
        .map(|(block, &value)| {
            if value > 0.0 && value.is_finite() {
                Ok(value.ln())
            } else {
                Err(TableError::NotPositive {
                    block,
                    column,
                    value,
                })
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Latencies;

    fn judged(before: &[f64], after: &[f64]) -> Outcome {
        let input = UnpairedInput {
            before,
            after,
            family: 1,
            margin: Margin::default(),
            resolution: Latencies::RESOLUTION,
        };
        compare(&input).unwrap().outcome
    }

    fn differs(outcome: Outcome) -> bool {
        matches!(outcome, Outcome::Differs { .. })
    }

    #[test]
    fn one_step_of_the_scale_is_no_difference_however_many_blocks_show_it() {
        for blocks in [3, 5, 100] {
            let before = vec![1024.0; blocks];
            assert!(!differs(judged(&before, &vec![1025.0; blocks])));
            assert!(differs(judged(&before, &vec![1030.0; blocks])));
        }
    }
}
