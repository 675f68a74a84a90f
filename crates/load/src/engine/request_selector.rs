//! Chooses the request of each exchange.

use tare_stats::random::Random;

use crate::paths::PathReader;

/// Chooses the request of each exchange.
#[derive(Debug)]
pub enum RequestSelector {
    /// There is only one.
    Only,
    /// By weight, from a seed.
    Weighted {
        /// Cumulative weights.
        sums: Vec<f64>,
        /// Random numbers.
        random: Random,
    },
    InTurn {
        next: u64,
        /// Distance to the one after it: the workers share the sequence.
        step: u64,
        /// How many there are.
        count: u64,
    },
    /// The lines of a list of paths, in turn.
    Listed {
        reader: PathReader,
        next: u64,
        /// Distance to the one after it.
        step: u64,
    },
}

/// A chosen request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chosen {
    /// As the client knows it: the index of the request in the plan, or the number of the line in a list of paths.
    pub(super) number: u32,
    /// The index of the request in the plan, by which it is counted.
    pub(super) request: u16,
}

impl RequestSelector {
    /// Weighted random choice.
    #[must_use]
    pub fn new(weights: &[f64], random: Random) -> Self {
        if weights.len() < 2 {
            return RequestSelector::Only;
        }
        let mut sum = 0.0;
        let sums = weights
            .iter()
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        RequestSelector::Weighted { sums, random }
    }

    /// In turn, as worker `worker` of `workers`.
    #[must_use]
    pub fn in_turn(count: usize, (worker, workers): (u32, u32)) -> Self {
        RequestSelector::InTurn {
            next: u64::from(worker),
            step: u64::from(workers.max(1)),
            count: count.max(1) as u64,
        }
    }

    /// The lines of a list, as worker `worker` of `workers`.
    pub(crate) fn listed(reader: PathReader, (worker, workers): (u32, u32)) -> Self {
        RequestSelector::Listed {
            reader,
            next: u64::from(worker),
            step: u64::from(workers.max(1)),
        }
    }

    pub(super) fn next(&mut self) -> Chosen {
        let request = match self {
            RequestSelector::Only => 0,
            RequestSelector::Weighted { sums, random } => {
                let all = sums.last().copied().unwrap_or_default();
                let at = random.unit() * all;
                let chosen = sums.partition_point(|&sum| sum <= at);
                chosen.min(sums.len().saturating_sub(1)) as u16
            }
            RequestSelector::InTurn { next, step, count } => {
                let chosen = *next % *count;
                *next = next.wrapping_add(*step);
                chosen as u16
            }
            RequestSelector::Listed { reader, next, step } => {
                let number = (*next % u64::from(reader.lines().max(1))) as u32;
                *next = next.wrapping_add(*step);
                let request = reader.line(number).0;
                return Chosen { number, request };
            }
        };
        Chosen {
            number: u32::from(request),
            request,
        }
    }
}
