//! Comparison of arms with a baseline within blocks: the intervals and verdicts of a run.
//!
//! **Model.** For one level and one metric, y(block, arm) = ln(value) = block + arm + residual: a randomised-block
//! model on the log scale, fitted by least squares, so that a missing trial costs its own information only
//! (R. A. Fisher, The Design of Experiments, 1935; C. R. Rao, Linear Statistical Inference, 2nd ed. 1973, §4).
//! exp(arm − baseline) is the ratio of geometric means. When the baseline runs twice per block both copies are the
//! baseline of the model: they halve its variance, and their disagreement is part of the residual.
//!
//! **Family.** Verdicts are simultaneous over the declared primary family, arms × levels × metrics. Within a level and
//! metric Dunnett's critical value is exact for the shared baseline and residual. Across the cells (level × metric) α is
//! divided by their number (Bonferroni), because median, p99 and CPU of the same trials are dependent in an unknown
//! way and Bonferroni holds under any dependence. The price: against Šidák's 1 − (1−α)^(1/m), exact under
//! independence, the intervals are under 1 % wider; against perfectly dependent metrics they are wider
//! than needed (m = 6: about a third), and then far fewer than 5 % of runs without a difference report one. The declared
//! number of cells and arms counts, also where some could not be computed. With missing trials the correlations of the contrasts
//! differ; the smallest is used for all, which widens the intervals (Z. Šidák, JASA 62 (1967) 626–633).
//!
//! **Residual.** The residual is pooled over all arms, except for an arm that scatters significantly more than the rest (its part
//! of the residual is in the upper 20 % of F): its intervals use its own residual, which can only widen them. They keep the
//! pooled critical value, since the residual of an arm selected for large scatter is overestimated on average. The simpler
//! rule, own residuals for all arms when variances differ more than fourfold, acts without a cause too often: with five
//! blocks two of five tables of equal noise show such a ratio. Even with an F test before it, it found a difference in
//! 7.3 % of runs without any, because an arm whose scatter happens to be small then differs too often.
//! Above fourfold the unadjusted unpooled interval is given as well. In simulated runs of three arms, five blocks and six
//! independent cells without any difference, at least one was found in:
//!
//! | noise of the third arm | always pooled | this rule |
//! | --- | --- | --- |
//! | as the others | 5.0 % | 4.1 % |
//! | 2 × | 15 % | 9 % |
//! | 3 × | 30 % | 13 % (ten blocks: 7 %) |
//!
//! So the error rate with a noisy arm is reduced, not removed (see METHODOLOGY). With dependent metrics all are lower.
//!
//! **A/A.** The two copies of the baseline are compared like an arm with its baseline, as a family of their own. A difference
//! between two identical arms is an error of the generator or of the machine: it is reported, and changes no margin.

mod compare;
mod family;
mod model;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use compare::NOISIER_TAIL;
pub use compare::{Comparison, ComparisonInput, Comparisons, Intervals, MetricRole, Residual};
pub use family::{ALPHA, ComparisonFamily};
pub use table::{BaselineCopies, PairedTable, TableError, median};
pub(crate) use table::{mean, variance};
