//! When a result says nothing because the generator itself failed: one rule for runs, `tare load`, searches and curves.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::LoadResult;

/// What makes a trial unfit. What other programs do to the machine widens intervals and makes no trial unfit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fitness {
    /// More than this share of the arrivals of an open loop were bunched.
    pub bunched_share: f64,
    /// Less than this share of intended arrivals released.
    pub released_share: f64,
    /// A worker of an open loop busier than this share of the window, spinning apart.
    pub worker_busy: f64,
    /// Parts' cores busier than this share by the parts' own work: saturated (a flag, not unfit).
    pub saturated_busy: f64,
}

impl Default for Fitness {
    /// The limits of the method (docs/METHODOLOGY.md).
    fn default() -> Self {
        Self {
            bunched_share: 0.10,
            released_share: 0.99,
            worker_busy: 0.85,
            saturated_busy: 0.80,
        }
    }
}

/// A limit that a result passed.
#[derive(Debug, Clone, PartialEq)]
pub enum Unfit {
    /// Too many arrivals left in bursts.
    Bunched {
        /// Their share of those released.
        share: f64,
        /// The share that is allowed.
        limit: f64,
    },
    /// Too few of the intended arrivals were released.
    Unreleased {
        /// What was to be released.
        what: &'static str,
        /// Released, or turned away because the queue was full.
        taken: u64,
        /// By the schedule.
        intended: u64,
    },
    /// A worker had too much to do.
    Busy {
        /// Number of the worker.
        worker: usize,
        /// Share of the window.
        share: f64,
        /// The share that is allowed.
        limit: f64,
    },
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| share * 100.0;
        match self {
            Unfit::Bunched { share, limit } => write!(
                f,
                "{:.0} % of the arrivals were released in bursts, above {:.0} %: other programs held the generator's core",
                percent(*share),
                percent(*limit)
            ),
            Unfit::Unreleased {
                what,
                taken,
                intended,
            } => write!(f, "only {taken} of {intended} intended {what}"),
            Unfit::Busy {
                worker,
                share,
                limit,
            } => write!(
                f,
                "the generator is the limit: worker {worker} was {:.0} % busy, above {:.0} %: give it more workers or a lower rate",
                percent(*share),
                percent(*limit)
            ),
        }
    }
}

impl Fitness {
    /// Every limit that this result passed; none when it is fit.
    #[must_use]
    pub fn unfit(&self, result: &LoadResult) -> Vec<Unfit> {
        let mut found = Vec::new();
        if let Some(share) = result.bunched_share()
            && share > self.bunched_share
        {
            found.push(Unfit::Bunched {
                share,
                limit: self.bunched_share,
            });
        }
        // What overflowed the queue was taken by our loop: that is the target's limit, not ours.
        let exchanges = (
            "arrivals were released",
            result.released + result.overflow,
            result.intended,
        );
        let sessions = result.sessions.as_ref().map(|sessions| {
            (
                "sessions were started",
                sessions.started + sessions.overflow,
                sessions.intended,
            )
        });
        for (what, taken, intended) in [exchanges].into_iter().chain(sessions) {
            if (taken as f64) < intended as f64 * self.released_share {
                found.push(Unfit::Unreleased {
                    what,
                    taken,
                    intended,
                });
            }
        }
        if result.instrument.bunched.is_some() {
            let busy = result.worker_busy_shares().into_iter().enumerate();
            found.extend(busy.filter(|(_, share)| *share > self.worker_busy).map(
                |(worker, share)| Unfit::Busy {
                    worker,
                    share,
                    limit: self.worker_busy,
                },
            ));
        }
        found
    }
}

impl LoadResult {
    /// Share of the released arrivals that were bunched; `None` in a closed loop, at full speed, and when nothing was released.
    #[must_use]
    pub fn bunched_share(&self) -> Option<f64> {
        let bunched = self.instrument.bunched?;
        (self.released > 0).then(|| bunched as f64 / self.released as f64)
    }

    /// Share of the window that each worker was busy, spinning apart; empty without a window.
    #[must_use]
    pub fn worker_busy_shares(&self) -> Vec<f64> {
        let ours = &self.instrument;
        let spun = ours
            .worker_spun_ns
            .iter()
            .copied()
            .chain(std::iter::repeat(0));
        let workers = ours.worker_cpu_ns.iter().zip(spun);
        workers
            .filter(|_| self.window_ns > 0)
            .map(|(cpu_ns, spun_ns)| cpu_ns.saturating_sub(spun_ns) as f64 / self.window_ns as f64)
            .collect()
    }
}
