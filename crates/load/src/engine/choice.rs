//! Which request the next exchange sends.

use tare_stats::random::Random;

/// Which request an exchange sends.
#[derive(Debug)]
pub enum Choice {
    /// There is only one.
    Only,
    /// By weight, from a seed.
    Weighted {
        /// Sums of the weights up to and with each request.
        sums: Vec<f64>,
        /// Where chance comes from.
        random: Random,
    },
    /// One after the other.
    InTurn {
        /// The next one.
        next: u64,
        /// How far the one behind it is: the workers share the turns.
        step: u64,
        /// How many there are.
        count: u64,
    },
}

impl Choice {
    /// Chooses among requests of these weights.
    #[must_use]
    pub fn new(weights: &[f64], random: Random) -> Self {
        if weights.len() < 2 {
            return Choice::Only;
        }
        let mut sum = 0.0;
        let sums = weights
            .iter()
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        Choice::Weighted { sums, random }
    }

    /// Takes so many requests in turn, as worker `worker` of `workers`.
    #[must_use]
    pub fn in_turn(count: usize, (worker, workers): (u32, u32)) -> Self {
        Choice::InTurn {
            next: u64::from(worker),
            step: u64::from(workers.max(1)),
            count: count.max(1) as u64,
        }
    }

    pub(super) fn next(&mut self) -> u16 {
        match self {
            Choice::Only => 0,
            Choice::Weighted { sums, random } => {
                let Some(&all) = sums.last() else { return 0 };
                let at = random.unit() * all;
                let chosen = sums.partition_point(|&sum| sum <= at);
                chosen.min(sums.len() - 1) as u16
            }
            Choice::InTurn { next, step, count } => {
                let chosen = *next % *count;
                *next = next.wrapping_add(*step);
                chosen as u16
            }
        }
    }
}
