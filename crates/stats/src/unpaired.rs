//! Comparison of two runs, for `tare compare`: their blocks have nothing in common, so nothing pairs.
//!
//! The interval holds the scatter between blocks of each run. It does *not* hold what changed between the two runs as a
//! whole (kernel, clock, neighbours, temperature): no number of blocks shows that, only more runs do. Whoever prints it
//! says so.

use crate::distribution::{student_cdf, student_quantile};
use crate::interval::{Difference, Interval};
use crate::outcome::{BLOCKS_MIN, Evidence, Margin, Outcome};
use crate::paired::{TableError, mean, variance};

/// What is to be compared: the values of one arm, level and metric, one per block.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Of the run that is the reference.
    pub before: &'a [f64],
    /// Of the other run.
    pub after: &'a [f64],
    /// How many such comparisons the primary family holds: α is divided by it (Bonferroni). 1 for descriptive ones.
    pub family: usize,
    /// The declared margin.
    pub margin: Margin,
    /// The relative step of the metric's own scale (a histogram's [`crate::Latencies::RESOLUTION`]), 0 for counts and clocks:
    /// no interval is narrower, so one step never "differs", however often it is seen.
    pub resolution: f64,
}

/// The comparison of one metric between two runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Geometric mean of the reference.
    pub before: Option<f64>,
    /// Ratio of geometric means, after to before.
    pub ratio: Option<f64>,
    /// The interval that decides "differs": 95 % over the family.
    pub deciding: Option<Interval>,
    /// Plain 95 %.
    pub plain: Option<Interval>,
    /// Plain 90 %, for "same".
    pub ninety: Option<Interval>,
    /// The difference in the metric's unit, with the deciding interval.
    pub difference: Option<Difference>,
    /// The two-sided p value of "no difference", not adjusted for the family.
    pub p: Option<f64>,
    /// What can be said. "More blocks" means in each of the two runs.
    pub outcome: Outcome,
}

/// Compares two runs on the log scale by Welch's t (B. L. Welch, Biometrika 34 (1947) 28–35, with Satterthwaite's
/// degrees of freedom).
///
/// # Errors
/// When a value is not a positive number; the "column" is 0 for `before`, 1 for `after`.
pub fn compare(question: &Question) -> Result<Comparison, TableError> {
    let before = logs(question.before, 0)?;
    let after = logs(question.after, 1)?;
    let fewest = before.len().min(after.len());
    let estimate = mean(&after).zip(mean(&before)).map(|(a, b)| a - b);
    let ratio = estimate.map(f64::exp);
    let level = mean(&before).map(f64::exp);
    let spreads = variance(&before).zip(variance(&after));
    let (Some(estimate), Some((v, w)), true) = (estimate, spreads, fewest >= BLOCKS_MIN) else {
        let outcome = Outcome::TooFewBlocks { complete: fewest };
        return Ok(Comparison {
            before: level,
            ratio,
            deciding: None,
            plain: None,
            ninety: None,
            difference: None,
            p: None,
            outcome,
        });
    };
    let (n, m) = (before.len() as f64, after.len() as f64);
    let floor = question.resolution.powi(2) / 12.0;
    let (v, w) = (v.max(floor) / n, w.max(floor) / m);
    let sum = v + w;
    let degrees = if sum > 0.0 {
        sum * sum / (v * v / (n - 1.0) + w * w / (m - 1.0))
    } else {
        n + m - 2.0
    };
    let tail = 0.025 / question.family.max(1) as f64;
    let critical = student_quantile(1.0 - tail, degrees);
    // Values rounded to the same step are off by the same in every block: more blocks do not average that out.
    let step = question.resolution / critical;
    let evidence = Evidence {
        estimate,
        // A floor against rounding only, as for runs whose values are all equal.
        error: sum.sqrt().max(step).max(1e-9),
        degrees,
        critical,
        tail,
        blocks: fewest,
        margin: level.map_or(0.0, |level| question.margin.beside(level)),
    };
    let deciding = evidence.deciding();
    Ok(Comparison {
        before: level,
        ratio,
        deciding: Some(deciding),
        plain: Some(evidence.plain(0.95)),
        ninety: Some(evidence.plain(0.90)),
        difference: level.map(|level| Difference::derive(level, estimate.exp(), deciding)),
        p: Some(2.0 * student_cdf(-(estimate / evidence.error).abs(), degrees)),
        outcome: evidence.judge(),
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
        let question = Question {
            before,
            after,
            family: 1,
            margin: Margin::default(),
            resolution: Latencies::RESOLUTION,
        };
        compare(&question).unwrap().outcome
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
