//! The curve of latency over load: its rates, their order, and the knee.

mod chart;
mod svg;

use tare_stats::knee::{Knee, Saturation, knee};
use tare_stats::random::Random;

pub use chart::chart;
pub use svg::svg;

/// Rates of an automatic curve as shares of the rate that the server achieves at maximum load: denser near the knee.
const SHARES: [f64; 12] = [
    0.05, 0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.87, 0.93, 1.0, 1.08, 1.2,
];

/// The result at one rate, over all its repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The offered rate.
    pub rate_per_s: f64,
    /// The achieved rate, within the windows.
    pub achieved_per_s: f64,
    /// p50, p90, p99, p99.9 and the maximum of the latency, in ns; none where there are too few observations.
    pub latency_ns: [Option<u64>; 5],
    /// The same for response time.
    pub response_ns: [Option<u64>; 5],
    /// Share of the exchanges that failed.
    pub errors: f64,
    /// Share of a core that the generator's busiest worker used, without spinning.
    pub busy: f64,
    /// Whether the generator was the limit in any of the windows.
    pub generator_limited: bool,
}

/// Names of [`Point::latency_ns`].
pub const QUANTILES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];

/// The rates of an automatic curve.
#[must_use]
pub fn rates(most_per_s: f64) -> Vec<f64> {
    let one = |share: f64| {
        let rate = most_per_s * share;
        let scale = 10_f64.powi(rate.max(1e-3).log10().floor() as i32 - 2);
        ((rate / scale).round() * scale).max(scale)
    };
    SHARES.into_iter().map(one).collect()
}

/// The order of the measurements, as indices of rates: each repeat has all rates, shuffled, so that a drift of the machine
/// is not confounded with the rate.
#[must_use]
pub fn order(rates: usize, repeats: usize, seed: u64) -> Vec<usize> {
    let one = |repeat: usize| {
        let mut numbers: Vec<usize> = (0..rates).collect();
        Random::for_purpose(seed, &format!("repeat {repeat}")).shuffle(&mut numbers);
        numbers
    };
    (0..repeats).flat_map(one).collect()
}

/// The index of the knee: the last point before the first whose rate was not achieved because of the server. Points are
/// sorted by rate.
#[must_use]
pub fn knee_of(points: &[Point]) -> Option<usize> {
    let beyond = |point: &Point| {
        let place = knee(point.achieved_per_s, point.rate_per_s, Saturation::Spare);
        place == Knee::Beyond && !point.generator_limited
    };
    let first = points.iter().position(beyond)?;
    first.checked_sub(1)
}

/// The line of a quantile: rates, and logarithms of the latencies that are known.
fn line(points: &[Point], quantile: usize) -> Vec<(f64, f64)> {
    let known = points.iter().filter_map(|point| {
        let ns = point.latency_ns[quantile].filter(|&ns| ns > 0)?;
        Some((point.rate_per_s, (ns as f64).log10()))
    });
    known.collect()
}

/// The lowest and the highest latency of these lines, as logarithms.
fn ends(lines: &[Vec<(f64, f64)>]) -> Option<(f64, f64)> {
    let all = || lines.iter().flatten().map(|&(_, log)| log);
    Some((all().reduce(f64::min)?, all().reduce(f64::max)?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A queue of 1000/s: carried up to 960, beyond it not.
    pub(crate) fn queue() -> Vec<Point> {
        let one = |rate_per_s: f64| {
            let spare = (1000.0 - rate_per_s).max(2.0);
            let of = |q: f64| Some((-(1.0 - q).ln() / spare * 1e9) as u64);
            Point {
                rate_per_s,
                achieved_per_s: rate_per_s.min(990.0),
                latency_ns: [of(0.5), of(0.9), of(0.99), of(0.999), None],
                response_ns: [None; 5],
                errors: 0.0,
                busy: rate_per_s / 5000.0,
                generator_limited: false,
            }
        };
        [50.0, 300.0, 600.0, 800.0, 900.0, 960.0, 1080.0]
            .map(one)
            .to_vec()
    }

    #[test]
    fn the_knee_is_the_last_rate_carried_before_one_that_is_not() {
        assert_eq!(knee_of(&queue()), Some(5));
        assert_eq!(knee_of(&queue()[..6]), None, "nothing beyond it was seen");
        assert_eq!(knee_of(&queue()[6..]), None, "nothing was carried");
        let mut generator_limited = queue();
        generator_limited[6].generator_limited = true;
        assert_eq!(
            knee_of(&generator_limited),
            None,
            "a generator at its limit is no knee"
        );
    }

    #[test]
    fn every_repeat_has_all_rates_in_an_order_of_its_own() {
        let order = order(12, 3, 1);
        let (first, rest) = order.split_at(12);
        for repeat in [first, &rest[..12], &rest[12..]] {
            let mut sorted = repeat.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..12).collect::<Vec<_>>());
        }
        assert_ne!(first, &rest[..12]);
    }

    #[test]
    fn automatic_rates_are_round_and_go_beyond_what_was_answered() {
        let rates = rates(12_345.6);
        assert_eq!((rates[0], rates[9]), (617.0, 12_300.0));
        assert!(rates.is_sorted() && rates[11] > 12_345.6);
    }
}
