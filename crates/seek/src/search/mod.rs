//! The search for the highest constant rate that keeps an objective.
//!
//! It doubles the rate until the objective is missed, halves the range that holds the border, and then repeats both sides of
//! it. A single try may lie: the border is always where it contradicts the fewest tries, so that later ones can move it.

mod backlog;
mod length;
#[cfg(test)]
mod tests;

pub use backlog::{Backlog, Hope};
pub use length::{least_rate_per_s, probe_length};

/// What a search may do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Rate of the first try.
    pub first_per_s: f64,
    /// Lowest rate worth trying.
    pub least_per_s: f64,
    /// Highest rate that may be tried.
    pub most_per_s: f64,
    /// How far the answer may lie from the truth: 0.05 is five per cent.
    pub tolerance: f64,
    /// Tries of each side of the border; most of them decide.
    pub confirmations: u32,
    /// Tries at most.
    pub probes_max: usize,
}

impl Rules {
    /// How near the two sides of the border must come, as a ratio: half of what is tolerated; the other half is for tries that
    /// noise decided.
    fn nearness(&self) -> f64 {
        1.0 + self.tolerance / 2.0
    }
}

/// What a try said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The objective was kept.
    Kept,
    /// It was missed.
    Missed,
    /// It was missed, but the generator itself was the limit: nothing is known of the target.
    Instrument,
}

/// One try.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// The rate tried.
    pub rate_per_s: f64,
    /// What came of it.
    pub verdict: Verdict,
}

/// Why a rate is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Nothing was missed yet.
    Grow,
    /// Nothing was kept yet.
    Shrink,
    /// It lies between the two sides of the border.
    Halve,
    /// The generator was the limit: is it again?
    Again,
    /// Is the lower side really kept?
    ConfirmKept,
    /// Is the upper side really missed?
    ConfirmMissed,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Try this rate.
    Probe {
        /// The rate.
        rate_per_s: f64,
        /// What for.
        why: Why,
    },
    /// The answer stands.
    Done(Answer),
}

/// What the tries say together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// The border lies between two rates.
    Found {
        /// The highest that kept the objective.
        kept_per_s: f64,
        /// The lowest above it that missed it.
        missed_per_s: f64,
        /// Whether both sides were repeated and as near as wanted.
        sure: Sure,
    },
    /// Nothing was missed up to here, or the generator could do no more.
    AtLeast {
        /// The highest rate that kept the objective.
        kept_per_s: f64,
        /// What stopped the search.
        limit: Limit,
    },
    /// Not even the lowest rate tried kept the objective.
    Below {
        /// The lowest that missed it.
        missed_per_s: f64,
    },
    /// Nothing is known of the target: the generator was the limit from the start, or nothing was tried.
    Unknown,
}

/// Whether an answer is as good as was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sure {
    /// Repeated, and within the tolerance.
    Confirmed,
    /// The search ended before.
    Rough,
}

/// What stopped a search from below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// The generator was the limit at this rate.
    Instrument(f64),
    /// The highest rate allowed.
    Most,
    /// Time, or the number of tries.
    Effort,
}

/// Tries in a row with the generator at its limit until it is believed.
const INSTRUMENT_TRIES: u32 = 2;

/// All tries of one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    rate_per_s: f64,
    kept: u32,
    missed: u32,
    instrument: u32,
}

impl Level {
    /// Tries that did not keep the objective. One in which the generator was the limit says nothing where another says something:
    /// other programs may have held it up for a moment.
    fn not_kept(&self) -> u32 {
        match self.kept + self.missed {
            0 => self.instrument,
            _ => self.missed,
        }
    }

    /// Whether nothing but the generator was seen at its limit.
    fn is_instrument(&self) -> bool {
        self.kept + self.missed == 0
    }

    /// Whether this side is settled by so many tries.
    fn is_settled(&self, confirmations: u32) -> bool {
        let (more, fewer) = (
            self.kept.max(self.not_kept()),
            self.kept.min(self.not_kept()),
        );
        more > confirmations / 2 && more > fewer
    }
}

/// The levels tried, lowest first, and how many of them lie below the border.
struct Picture {
    levels: Vec<Level>,
    below: usize,
}

impl Picture {
    fn of(probes: &[Probe]) -> Self {
        let mut levels: Vec<Level> = Vec::new();
        for probe in probes {
            let at = levels.partition_point(|level| level.rate_per_s < probe.rate_per_s);
            let known = levels.get(at).map(|level| level.rate_per_s);
            if known != Some(probe.rate_per_s) {
                let level = Level {
                    rate_per_s: probe.rate_per_s,
                    kept: 0,
                    missed: 0,
                    instrument: 0,
                };
                levels.insert(at, level);
            }
            match probe.verdict {
                Verdict::Kept => levels[at].kept += 1,
                Verdict::Missed => levels[at].missed += 1,
                Verdict::Instrument => levels[at].instrument += 1,
            }
        }
        // Contradictions when everything is above the border; a level that moves below adds its misses and takes its successes.
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

    /// A level of which one try only says that the generator was the limit.
    fn unheard(&self) -> Option<&Level> {
        let mut levels = self.levels.iter();
        levels.find(|level| level.is_instrument() && level.instrument < INSTRUMENT_TRIES)
    }

    fn kept(&self) -> Option<&Level> {
        self.levels[..self.below].last()
    }

    fn missed(&self) -> Option<&Level> {
        self.levels.get(self.below)
    }
}

/// What to do next, given all tries so far in their order.
#[must_use]
pub fn next(rules: &Rules, probes: &[Probe]) -> Step {
    if probes.len() >= rules.probes_max {
        return Step::Done(conclude(rules, probes));
    }
    let picture = Picture::of(probes);
    if let Some(level) = picture.unheard() {
        return Step::Probe {
            rate_per_s: level.rate_per_s,
            why: Why::Again,
        };
    }
    match (picture.kept(), picture.missed()) {
        (None, None) => Step::Probe {
            rate_per_s: within(rules, rules.first_per_s),
            why: Why::Grow,
        },
        (Some(kept), None) if kept.rate_per_s >= rules.most_per_s => {
            settle(rules, probes, kept, Why::ConfirmKept)
        }
        (Some(kept), None) => Step::Probe {
            rate_per_s: within(rules, kept.rate_per_s * stride(rules, probes)),
            why: Why::Grow,
        },
        (None, Some(missed)) if missed.rate_per_s <= rules.least_per_s => {
            settle(rules, probes, missed, Why::ConfirmMissed)
        }
        (None, Some(missed)) => Step::Probe {
            rate_per_s: within(rules, missed.rate_per_s / stride(rules, probes)),
            why: Why::Shrink,
        },
        (Some(kept), Some(missed)) => between(rules, probes, kept, missed),
    }
}

fn between(rules: &Rules, probes: &[Probe], kept: &Level, missed: &Level) -> Step {
    let middle = rounded((kept.rate_per_s * missed.rate_per_s).sqrt());
    let is_between = kept.rate_per_s < middle && middle < missed.rate_per_s;
    let is_near = missed.rate_per_s <= kept.rate_per_s * rules.nearness();
    if is_between && !is_near {
        return Step::Probe {
            rate_per_s: middle,
            why: Why::Halve,
        };
    }
    if !kept.is_settled(rules.confirmations) {
        return settle(rules, probes, kept, Why::ConfirmKept);
    }
    settle(rules, probes, missed, Why::ConfirmMissed)
}

/// Repeats a level until most of its tries agree.
fn settle(rules: &Rules, probes: &[Probe], level: &Level, why: Why) -> Step {
    if level.is_settled(rules.confirmations) {
        return Step::Done(conclude(rules, probes));
    }
    Step::Probe {
        rate_per_s: level.rate_per_s,
        why,
    }
}

/// How far to go when one side is open: by two while the other side was never seen; else in small strides, each the square of
/// the last, because a border that moved is near.
fn stride(rules: &Rules, probes: &[Probe]) -> f64 {
    const WIDEST: f64 = 2.0;
    let Some(last) = probes.last() else {
        return WIDEST;
    };
    let is_kept = |probe: &Probe| probe.verdict == Verdict::Kept;
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

/// To four digits: a rate that is printed is the one that was tried.
fn rounded(rate_per_s: f64) -> f64 {
    if rate_per_s <= 0.0 || !rate_per_s.is_finite() {
        return rate_per_s;
    }
    let digits = 3 - rate_per_s.log10().floor() as i32;
    if digits >= 0 {
        let scale = 10_f64.powi(digits);
        (rate_per_s * scale).round() / scale
    } else {
        let scale = 10_f64.powi(-digits);
        (rate_per_s / scale).round() * scale
    }
}

/// What the tries say when no more can be made.
#[must_use]
pub fn conclude(rules: &Rules, probes: &[Probe]) -> Answer {
    let picture = Picture::of(probes);
    match (picture.kept(), picture.missed()) {
        (None, None) => Answer::Unknown,
        (None, Some(missed)) if missed.is_instrument() => Answer::Unknown,
        (None, Some(missed)) => Answer::Below {
            missed_per_s: missed.rate_per_s,
        },
        (Some(kept), None) => Answer::AtLeast {
            kept_per_s: kept.rate_per_s,
            limit: match kept.rate_per_s >= rules.most_per_s {
                true => Limit::Most,
                false => Limit::Effort,
            },
        },
        (Some(kept), Some(missed)) if missed.is_instrument() => Answer::AtLeast {
            kept_per_s: kept.rate_per_s,
            limit: Limit::Instrument(missed.rate_per_s),
        },
        (Some(kept), Some(missed)) => {
            // Four digits of rounding may keep the sides a little farther apart.
            let is_near = missed.rate_per_s <= kept.rate_per_s * rules.nearness() * 1.002;
            let settled = [kept, missed].map(|level| level.is_settled(rules.confirmations));
            Answer::Found {
                kept_per_s: kept.rate_per_s,
                missed_per_s: missed.rate_per_s,
                sure: match is_near && settled == [true, true] {
                    true => Sure::Confirmed,
                    false => Sure::Rough,
                },
            }
        }
    }
}
