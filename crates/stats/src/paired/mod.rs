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
//! than needed (m = 6: about a third), and then far fewer than 5 % of runs without a difference call one. The declared number of
//! cells and arms counts, also where some could not be computed. With missing trials the correlations of the contrasts
//! differ; the smallest is used for all, which widens the intervals (Z. Šidák, JASA 62 (1967) 626–633).
//!
//! **Residual.** The residual is pooled over all arms, except for an arm that scatters visibly more than the rest (its part of
//! the residual is in the upper 20 % of F): its intervals rest on its own scatter, and can only become wider by that. They keep the
//! pooled critical value, since an arm chosen for its large scatter has it overestimated on average. The plainer rule,
//! own residuals for all when variances differ more than fourfold, would often act without a cause: with five blocks two
//! even tables in five show such a ratio. Even with an F test in front of it, it called a difference in 7.3 % of runs
//! without any, because an arm whose scatter happens to come out small is then called different too often.
//! Over fourfold the plain unpooled interval is shown beside the others. Runs of three
//! arms, five blocks and six independent cells in which no difference exists call one in, by simulation:
//!
//! | noise of the third arm | always pooled | this rule |
//! | --- | --- | --- |
//! | as the others | 5.0 % | 4.1 % |
//! | 2 × | 15 % | 9 % |
//! | 3 × | 30 % | 13 % (ten blocks: 7 %) |
//!
//! So a noisy arm is guarded against, not wholly immune: METHODOLOGY says so. With dependent metrics all are lower.
//!
//! **A/A.** The two copies of the baseline are compared like an arm with its baseline, as a family of their own. What differs between two
//! things known to be identical is the instrument's or the machine's: it is reported, and changes no margin.

mod compare;
mod family;
mod model;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use compare::NOISIER_TAIL;
pub use compare::{Comparison, Comparisons, Intervals, Question, Residual, Standing};
pub use family::{ALPHA, Family};
pub use table::{BaselineCopies, Table, TableError};
pub(crate) use table::{mean, variance};
