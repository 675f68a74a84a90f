//! Fitness of a result: limits beyond which the generator itself was the limit. The same for runs, `tare load`, searches and
//! curves.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::{GeneratorStats, LoadResult};
use crate::units;

/// Limits beyond which a trial is unfit, or flagged as saturated. Load of other programs on the machine widens intervals but makes
/// no trial unfit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-word" = "fitness"))]
pub struct Fitness {
    /// Unfit above this share of bunched starts: starts of an open loop that were released in a burst after a late wake-up.
    /// Default: 10%.
    #[serde(deserialize_with = "units::share")]
    #[schemars(with = "crate::units::Share")]
    pub bunched_share: f64,
    /// Unfit below this share of intended starts that were released. Default: 99%.
    #[serde(deserialize_with = "units::share")]
    #[schemars(with = "crate::units::Share")]
    pub released_share: f64,
    /// Unfit above this busy share of an open loop's worker in the window, spinning excluded. Default: 85%.
    #[serde(deserialize_with = "units::share")]
    #[schemars(with = "crate::units::Share")]
    pub worker_busy: f64,
    /// Flagged as saturated, not unfit: the parts' own work keeps their cores busier than this. Default: 80%.
    #[serde(deserialize_with = "units::share")]
    #[schemars(with = "crate::units::Share")]
    pub saturated_busy: f64,
}

impl Default for Fitness {
    /// The limits of docs/METHODOLOGY.md.
    fn default() -> Self {
        Self {
            bunched_share: 0.10,
            released_share: 0.99,
            worker_busy: 0.85,
            saturated_busy: 0.80,
        }
    }
}

impl Fitness {
    /// Every limit that this result exceeded, as text with the key of its rule; empty if it is fit.
    #[must_use]
    pub fn unfit(&self, result: &LoadResult) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(share) = result.bunched_share()
            && share > self.bunched_share
        {
            found.push(format!(
                "{:.1} % of the starts were bunched, above {:.0} %: the generator's core was held (other programs, the hypervisor) or it was busy itself (fitness rule bunched_share)",
                share * 100.0,
                self.bunched_share * 100.0
            ));
        }
        // Overflow of the queue counts as released: the target was the limit, not the generator.
        let exchanges = (
            "starts were released",
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
                found.push(format!(
                    "only {taken} of {intended} intended {what} (fitness rule released_share)"
                ));
            }
        }
        if result.generator.bunched.is_some() {
            let busy = result.worker_busy_shares().into_iter().enumerate();
            for (worker, share) in busy.filter(|(_, share)| *share > self.worker_busy) {
                found.push(format!(
                    "the generator is the limit: worker {worker} was {:.1} % busy, above {:.0} %: give it more workers or a lower rate (fitness rule worker_busy)",
                    share * 100.0,
                    self.worker_busy * 100.0
                ));
            }
        }
        found
    }
}

impl LoadResult {
    /// Share of the released starts that were bunched; `None` for closed loops, at maximum rate, and when nothing was released.
    #[must_use]
    pub fn bunched_share(&self) -> Option<f64> {
        let bunched = self.generator.bunched?;
        (self.released > 0).then(|| bunched as f64 / self.released as f64)
    }

    /// Busy share of each worker in the window, spinning excluded; empty without a window.
    #[must_use]
    pub fn worker_busy_shares(&self) -> Vec<f64> {
        self.generator.worker_busy_shares(self.window_ns)
    }
}

impl GeneratorStats {
    /// Busy share of each worker in a window of this length, spinning excluded; empty without a window.
    #[must_use]
    pub fn worker_busy_shares(&self, window_ns: u64) -> Vec<f64> {
        let spun = self.worker_spun_ns.iter().copied();
        let workers = self
            .worker_cpu_ns
            .iter()
            .zip(spun.chain(std::iter::repeat(0)));
        workers
            .filter(|_| window_ns > 0)
            .map(|(cpu_ns, spun_ns)| cpu_ns.saturating_sub(spun_ns) as f64 / window_ns as f64)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand starts of an open loop in a window of a second, one worker.
    fn result() -> LoadResult {
        serde_json::from_value(serde_json::json!({
            "version": 4, "role": "load", "ended": "completed",
            "window_start_unix_us": 1, "window_ns": 1_000_000_000, "offered_per_s": 1000.0,
            "intended": 1000, "released": 1000, "sent": 1000, "ok": 1000, "errors": 0, "unfinished": 0, "overflow": 0,
            "outcomes": [], "requests_sent_total": 1000,
            "connections": {"opened": 1, "reconnects": 0, "failed": 0, "peak": 1},
            "bytes_sent": 1, "bytes_received": 1, "queue_waits": [],
            "generator": GeneratorStats {
                cpu_ns: 500_000_000,
                worker_cpu_ns: vec![500_000_000],
                worker_spun_ns: vec![400_000_000],
                bunched: Some(100),
                ..GeneratorStats::default()
            },
        }))
        .unwrap()
    }

    fn words(result: &LoadResult) -> Vec<String> {
        Fitness::default().unfit(result)
    }

    #[test]
    fn lateness_alone_makes_nothing_unfit_and_a_limit_that_is_met_is_not_passed() {
        assert!(words(&result()).is_empty());
    }

    #[test]
    fn a_tenth_of_the_starts_may_be_bunched_and_no_more() {
        let mut result = result();
        result.generator.bunched = Some(101);
        let said = words(&result);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("10.1 % of the starts were bunched, above 10 %: "));
        assert!(said[0].ends_with("(fitness rule bunched_share)"));
        // The share is of released starts, not of intended ones.
        result.generator.bunched = Some(60);
        result.released = 500;
        result.intended = 500;
        assert_eq!(words(&result).len(), 1);
        // A closed loop has no schedule.
        result.generator.bunched = None;
        assert!(words(&result).is_empty());
    }

    #[test]
    fn one_start_in_a_hundred_may_be_missing_and_what_the_target_left_waiting_is_not() {
        let mut result = result();
        result.generator.bunched = Some(0);
        result.released = 990;
        assert!(words(&result).is_empty());
        result.released = 989;
        assert_eq!(
            words(&result),
            ["only 989 of 1000 intended starts were released (fitness rule released_share)"]
        );
        result.overflow = 11;
        assert!(words(&result).is_empty());
        result.sessions = Some(crate::agent::SessionCounts {
            intended: 100,
            started: 50,
            overflow: 48,
            ..Default::default()
        });
        assert_eq!(
            words(&result),
            ["only 98 of 100 intended sessions were started (fitness rule released_share)"]
        );
    }

    #[test]
    fn a_worker_of_an_open_loop_may_spin_but_not_work_all_the_time() {
        let mut result = result();
        result.generator.worker_cpu_ns = vec![100_000_000, 990_000_000];
        result.generator.worker_spun_ns = vec![0, 140_000_000];
        assert!(words(&result).is_empty());
        result.generator.worker_spun_ns = vec![90_000_000, 130_000_000];
        let said = words(&result);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("the generator is the limit: worker 1 was 86.0 % busy"));
        assert!(said[0].ends_with("(fitness rule worker_busy)"));
        // A closed loop may be busy all the time.
        result.generator.bunched = None;
        assert!(words(&result).is_empty());
    }

    #[test]
    fn a_result_without_a_window_is_busy_with_nothing() {
        let mut result = result();
        result.window_ns = 0;
        assert!(result.worker_busy_shares().is_empty());
        result.released = 0;
        result.intended = 0;
        assert_eq!(result.bunched_share(), None);
        assert!(words(&result).is_empty());
    }
}
