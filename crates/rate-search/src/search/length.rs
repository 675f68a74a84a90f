//! The length of a probe.

use std::time::Duration;

use tare_stats::BEYOND_MIN;

/// Factor on the fewest observations of a quantile, so that chance does not leave too few.
const SAMPLE_MARGIN: f64 = 1.5;

/// The length of a probe at a rate, long enough to observe a share of the exchanges as small as `share` (0.01 for p99, 0.001
/// for an error rate of 0.1 %) ten times with a margin; between `least` and `most`.
#[must_use]
pub fn probe_length(
    rate_per_s: f64,
    share: Option<f64>,
    least: Duration,
    most: Duration,
) -> Duration {
    let share = share.filter(|&share| share > 0.0);
    let needed_s = share.map_or(0.0, |share| {
        SAMPLE_MARGIN * BEYOND_MIN as f64 / share / rate_per_s
    });
    let needed = Duration::try_from_secs_f64(needed_s).unwrap_or(most);
    needed.clamp(least, most.max(least))
}

/// The lowest rate at which a probe of the longest length shows such a share: below it the objective cannot be evaluated, and
/// too few answers would count as a failure of the server.
#[must_use]
pub fn least_rate_per_s(share: Option<f64>, most: Duration) -> f64 {
    let share = share.filter(|&share| share > 0.0);
    share.map_or(0.0, |share| {
        SAMPLE_MARGIN * BEYOND_MIN as f64 / share / most.as_secs_f64()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_rate_is_the_one_that_needs_the_longest_try() {
        let (least, most) = (Duration::from_secs(3), Duration::from_secs(120));
        for share in [0.5, 0.01, 0.0001] {
            let rate = least_rate_per_s(Some(share), most);
            let length = |rate| probe_length(rate, Some(share), least, Duration::MAX);
            assert!(length(rate * 0.99) > most, "{share}");
            assert!(length(rate * 1.01) < most, "{share}");
        }
        assert_eq!(least_rate_per_s(None, most), 0.0);
        assert_eq!(least_rate_per_s(Some(0.0), most), 0.0);
    }

    #[test]
    fn a_try_is_long_enough_for_its_quantile_and_within_its_limits() {
        let (least, most) = (Duration::from_secs(3), Duration::from_secs(60));
        let length = |rate, share| probe_length(rate, share, least, most);
        assert_eq!(length(100.0, Some(0.01)), Duration::from_secs(15));
        assert_eq!(length(10_000.0, Some(0.01)), least);
        assert_eq!(length(1.0, Some(0.001)), most);
        assert_eq!(length(1.0, None), least);
        assert_eq!(
            length(1.0, Some(0.0)),
            least,
            "nothing may fail: no length shows it"
        );
    }
}
