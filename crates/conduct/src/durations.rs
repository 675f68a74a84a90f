//! What starting and measuring takes on this machine: what earlier runs took, until this one knows better.

use std::collections::BTreeMap;
use std::time::Duration;

use tare_lab::environment::StartDuration;
use tare_schema::estimate::Times;

/// A running mean.
#[derive(Debug, Default)]
struct Mean {
    count: u32,
    total: Duration,
}

impl Mean {
    fn with(&mut self, took: Duration) -> Duration {
        self.count += 1;
        self.total += took;
        self.total / self.count
    }
}

/// Times of this run in place of those that were known before it.
#[derive(Debug, Default)]
pub(crate) struct Durations {
    /// What is known now.
    pub times: Times,
    /// Time that test beds have taken so far, burn-in included.
    pub beds: Duration,
    starts: BTreeMap<String, Mean>,
    trials: Mean,
    /// What this run has found, for the next one.
    pub learned: Times,
}

impl Durations {
    pub fn new(times: Times) -> Self {
        Durations {
            times,
            ..Durations::default()
        }
    }

    /// A bed has come up: its parts took so long, and all of it, with its burn-in, so long.
    pub fn bed(&mut self, parts: &[StartDuration], whole: Duration) {
        self.beds += whole;
        for part in parts {
            let mean = self.starts.entry(part.target.clone()).or_default();
            let mean = mean.with(part.took);
            self.times.starts.insert(part.target.clone(), mean);
            self.learned.starts.insert(part.target.clone(), mean);
        }
    }

    /// A trial of an experiment has taken so long beside its load and the start of its bed.
    pub fn trial(&mut self, experiment: &str, beside: Duration) {
        let mean = self.trials.with(beside);
        self.times.trials.insert(experiment.to_owned(), mean);
        self.learned.trials.insert(experiment.to_owned(), mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(target: &str, ms: u64) -> StartDuration {
        StartDuration {
            target: target.to_owned(),
            took: Duration::from_millis(ms),
        }
    }

    #[test]
    fn what_this_run_takes_replaces_what_earlier_ones_took() {
        let before = |ms| [(String::from("kafka"), Duration::from_millis(ms))].into();
        let mut took = Durations::new(Times {
            starts: before(9_000),
            trials: before(4_000),
            ..Times::default()
        });
        took.bed(
            &[part("envoy", 100), part("kafka", 8_900), part("kafka", 100)],
            Duration::from_secs(10),
        );
        took.bed(&[part("kafka", 6_000)], Duration::from_secs(7));
        took.trial("kafka", Duration::from_secs(1));
        took.trial("kafka", Duration::from_secs(3));
        assert_eq!(took.times.starts["kafka"], Duration::from_secs(5));
        assert_eq!(took.times.starts["envoy"], Duration::from_millis(100));
        assert_eq!(took.times.trials["kafka"], Duration::from_secs(2));
        assert_eq!(took.learned.trials["kafka"], Duration::from_secs(2));
        assert_eq!(took.beds, Duration::from_secs(17));
    }
}
