//! Chooses the request of each exchange.

use tare_stats::random::Random;

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

    pub(super) fn next(&mut self) -> u16 {
        match self {
            RequestSelector::Only => 0,
            RequestSelector::Weighted { sums, random } => {
                let Some(&all) = sums.last() else { return 0 };
                let at = random.unit() * all;
                let chosen = sums.partition_point(|&sum| sum <= at);
                chosen.min(sums.len() - 1) as u16
            }
            RequestSelector::InTurn { next, step, count } => {
                let chosen = *next % *count;
                *next = next.wrapping_add(*step);
                chosen as u16
            }
        }
    }
}
