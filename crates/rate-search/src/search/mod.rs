//! The search for the highest constant rate that meets an objective.
//!
//! It doubles the rate until the objective fails, bisects the bracket, and then repeats both of its ends. One probe can be
//! wrong: the boundary is always where the fewest probes contradict it, so that later ones can move it.

mod backlog;
mod length;
#[cfg(test)]
mod tests;

pub use backlog::{Backlog, EarlyStop};
pub use length::{least_rate_per_s, probe_length};

pub use tare_record::search_report::ProbeVerdict;

use crate::objective::significant;

/// Limits of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Rate of the first probe.
    pub first_per_s: f64,
    /// Lowest rate to probe.
    pub least_per_s: f64,
    /// Highest rate to probe.
    pub most_per_s: f64,
    /// Relative tolerance of the answer: 0.05 is 5 %.
    pub tolerance: f64,
    /// Probes at each end of the bracket; the majority decides.
    pub confirmations: u32,
    /// Upper limit of probes.
    pub probes_max: usize,
}

impl Rules {
    /// The largest final ratio of the two ends of the bracket: half of the tolerance; the other half is for probes decided
    /// by noise.
    fn bracket_ratio(&self) -> f64 {
        1.0 + self.tolerance / 2.0
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    pub rate_per_s: f64,
    pub verdict: ProbeVerdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbePurpose {
    /// No rate failed yet.
    Grow,
    /// No rate passed yet.
    Shrink,
    /// Bisects the bracket.
    Halve,
    /// Repeats a rate at which the generator was the limit.
    Again,
    /// Repeats the lower end of the bracket.
    ConfirmKept,
    /// Repeats the upper end of the bracket.
    ConfirmMissed,
}

/// The next step of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Probe this rate.
    Probe { rate_per_s: f64, why: ProbePurpose },
    /// The search has ended.
    Done(Answer),
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// The boundary lies between two rates.
    Found {
        /// The highest rate that met the objective.
        passed_max_per_s: f64,
        /// The lowest rate above it that did not.
        failed_min_per_s: f64,
        /// Whether both ends were repeated and are within the tolerance.
        sure: Precision,
    },
    /// No rate failed, or the generator was the limit.
    AtLeast {
        /// The highest rate that met the objective.
        passed_max_per_s: f64,
        /// What stopped the search.
        limit: Limit,
    },
    /// Not even the lowest rate probed met the objective.
    Below {
        /// The lowest rate that did not.
        failed_min_per_s: f64,
    },
    /// No statement about the target: the generator was the limit from the start, or there was no probe.
    Unknown,
}

/// Precision of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Both ends repeated, and within the tolerance.
    Confirmed,
    /// The search ended before that.
    Rough,
}

/// What limited a search at the top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// The generator was the limit at this rate.
    Generator(f64),
    /// The highest rate allowed.
    Most,
    /// Time, or the number of probes.
    Effort,
}

/// Probes of a rate after which the generator counts as the limit there, if it was in all of them.
const GENERATOR_LIMITED_PROBES: u32 = 2;

/// Verdicts of all probes of one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RateTally {
    rate_per_s: f64,
    kept: u32,
    missed: u32,
    generator_limited: u32,
}

impl RateTally {
    /// Number of probes that did not meet the objective. Those in which the generator was the limit count only where there are
    /// no others: other programs may have delayed it for a moment.
    fn not_kept(&self) -> u32 {
        match self.kept + self.missed {
            0 => self.generator_limited,
            _ => self.missed,
        }
    }

    /// Whether the generator was the limit in all probes.
    fn is_generator_limited(&self) -> bool {
        self.kept + self.missed == 0
    }

    /// Whether a majority of `confirmations` probes agrees.
    fn is_confirmed(&self, confirmations: u32) -> bool {
        let (more, fewer) = (
            self.kept.max(self.not_kept()),
            self.kept.min(self.not_kept()),
        );
        more > confirmations / 2 && more > fewer
    }
}

/// The rates probed, lowest first, and how many of them lie below the boundary.
struct RateBracket {
    levels: Vec<RateTally>,
    below: usize,
}

impl RateBracket {
    fn of(probes: &[Probe]) -> Self {
        let mut levels: Vec<RateTally> = Vec::new();
        for probe in probes {
            let at = levels.partition_point(|level| level.rate_per_s < probe.rate_per_s);
            let known = levels.get(at).map(|level| level.rate_per_s);
            if known != Some(probe.rate_per_s) {
                let level = RateTally {
                    rate_per_s: probe.rate_per_s,
                    kept: 0,
                    missed: 0,
                    generator_limited: 0,
                };
                levels.insert(at, level);
            }
            match probe.verdict {
                ProbeVerdict::Passed => levels[at].kept += 1,
                ProbeVerdict::Failed => levels[at].missed += 1,
                ProbeVerdict::GeneratorLimited => levels[at].generator_limited += 1,
            }
        }
        // Contradictions with all rates above the boundary; a rate that moves below adds its failures and removes its successes.
        let mut contradictions: i64 = levels.iter().map(|level| i64::from(level.kept)).sum();
        let (mut below, mut fewest) = (0, contradictions);
        for (at, level) in levels.iter().enumerate() {
            contradictions += i64::from(level.not_kept()) - i64::from(level.kept);
            if contradictions < fewest {
                (below, fewest) = (at + 1, contradictions);
            }
        }
        Self { levels, below }
    }

    /// A rate at which the generator was the limit in too few probes to be sure.
    fn unconfirmed_limit(&self) -> Option<&RateTally> {
        let mut levels = self.levels.iter();
        levels.find(|level| {
            level.is_generator_limited() && level.generator_limited < GENERATOR_LIMITED_PROBES
        })
    }

    fn kept(&self) -> Option<&RateTally> {
        self.levels[..self.below].last()
    }

    fn missed(&self) -> Option<&RateTally> {
        self.levels.get(self.below)
    }
}

/// The next step, given all probes so far in their order.
#[must_use]
pub fn next(rules: &Rules, probes: &[Probe]) -> Step {
    if probes.len() >= rules.probes_max {
        return Step::Done(conclude(rules, probes));
    }
    let bracket = RateBracket::of(probes);
    if let Some(level) = bracket.unconfirmed_limit() {
        return Step::Probe {
            rate_per_s: level.rate_per_s,
            why: ProbePurpose::Again,
        };
    }
    match (bracket.kept(), bracket.missed()) {
        (None, None) => Step::Probe {
            rate_per_s: within(rules, rules.first_per_s),
            why: ProbePurpose::Grow,
        },
        (Some(kept), None) if kept.rate_per_s >= rules.most_per_s => {
            confirm(rules, probes, kept, ProbePurpose::ConfirmKept)
        }
        (Some(kept), None) => Step::Probe {
            rate_per_s: within(rules, kept.rate_per_s * step_factor(rules, probes)),
            why: ProbePurpose::Grow,
        },
        (None, Some(missed)) if missed.rate_per_s <= rules.least_per_s => {
            confirm(rules, probes, missed, ProbePurpose::ConfirmMissed)
        }
        (None, Some(missed)) => Step::Probe {
            rate_per_s: within(rules, missed.rate_per_s / step_factor(rules, probes)),
            why: ProbePurpose::Shrink,
        },
        (Some(kept), Some(missed)) => between(rules, probes, kept, missed),
    }
}

fn between(rules: &Rules, probes: &[Probe], kept: &RateTally, missed: &RateTally) -> Step {
    let middle = rounded((kept.rate_per_s * missed.rate_per_s).sqrt());
    let is_between = kept.rate_per_s < middle && middle < missed.rate_per_s;
    let is_within_tolerance = missed.rate_per_s <= kept.rate_per_s * rules.bracket_ratio();
    if is_between && !is_within_tolerance {
        return Step::Probe {
            rate_per_s: middle,
            why: ProbePurpose::Halve,
        };
    }
    if !kept.is_confirmed(rules.confirmations) {
        return confirm(rules, probes, kept, ProbePurpose::ConfirmKept);
    }
    confirm(rules, probes, missed, ProbePurpose::ConfirmMissed)
}

/// Repeats a rate until a majority of its probes agrees.
fn confirm(rules: &Rules, probes: &[Probe], level: &RateTally, why: ProbePurpose) -> Step {
    if level.is_confirmed(rules.confirmations) {
        return Step::Done(conclude(rules, probes));
    }
    Step::Probe {
        rate_per_s: level.rate_per_s,
        why,
    }
}

/// The factor to the next rate while one end of the bracket is open: 2 while the other end is unknown, too; else a small
/// factor that is squared each time, since a boundary that moved is near.
fn step_factor(rules: &Rules, probes: &[Probe]) -> f64 {
    const WIDEST: f64 = 2.0;
    let Some(last) = probes.last() else {
        return WIDEST;
    };
    let is_kept = |probe: &Probe| probe.verdict == ProbeVerdict::Passed;
    let same = |probe: &&Probe| is_kept(probe) == is_kept(last);
    let run = probes.iter().rev().take_while(same).count();
    if run == probes.len() {
        return WIDEST;
    }
    let small = 1.0 + 2.0 * rules.tolerance;
    let doublings = i32::try_from(run.saturating_sub(1).min(5)).unwrap_or(5);
    small.powi(1 << doublings).min(WIDEST)
}

fn within(rules: &Rules, rate_per_s: f64) -> f64 {
    rounded(rate_per_s.clamp(rules.least_per_s, rules.most_per_s))
        .clamp(rules.least_per_s, rules.most_per_s)
}

/// Rounds to four digits: the rate printed is exactly the rate probed.
fn rounded(rate_per_s: f64) -> f64 {
    significant(rate_per_s, 4)
}

/// The answer from the probes so far.
#[must_use]
pub fn conclude(rules: &Rules, probes: &[Probe]) -> Answer {
    let bracket = RateBracket::of(probes);
    match (bracket.kept(), bracket.missed()) {
        (None, None) => Answer::Unknown,
        (None, Some(missed)) if missed.is_generator_limited() => Answer::Unknown,
        (None, Some(missed)) => Answer::Below {
            failed_min_per_s: missed.rate_per_s,
        },
        (Some(kept), None) => Answer::AtLeast {
            passed_max_per_s: kept.rate_per_s,
            limit: match kept.rate_per_s >= rules.most_per_s {
                true => Limit::Most,
                false => Limit::Effort,
            },
        },
        (Some(kept), Some(missed)) if missed.is_generator_limited() => Answer::AtLeast {
            passed_max_per_s: kept.rate_per_s,
            limit: Limit::Generator(missed.rate_per_s),
        },
        (Some(kept), Some(missed)) => {
            // Rounding to four digits may keep the ends a little farther apart.
            let is_within_tolerance =
                missed.rate_per_s <= kept.rate_per_s * rules.bracket_ratio() * 1.002;
            let confirmed = [kept, missed].map(|level| level.is_confirmed(rules.confirmations));
            Answer::Found {
                passed_max_per_s: kept.rate_per_s,
                failed_min_per_s: missed.rate_per_s,
                sure: match is_within_tolerance && confirmed == [true, true] {
                    true => Precision::Confirmed,
                    false => Precision::Rough,
                },
            }
        }
    }
}
