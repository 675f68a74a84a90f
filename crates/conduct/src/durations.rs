//! Wall-clock times; and start and overhead times on this machine: those of earlier runs, replaced by those of this run once measured.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tare_experiment::estimate::StartupTimes;
use tare_lab::environment::StartDuration;

/// Now, in µs since the epoch, as in files and messages to agents.
pub(crate) fn now_unix_us() -> u64 {
    // A clock before 1970 is wrong; 0 shows that in the record.
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

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

/// Times known from earlier runs, updated by this one.
#[derive(Debug, Default)]
pub(crate) struct Durations {
    /// The best estimates so far.
    pub times: StartupTimes,
    /// Total start time of test beds so far, burn-in included.
    pub beds: Duration,
    starts: BTreeMap<String, Mean>,
    trials: Mean,
    /// The times that this run has measured, to be kept for the next one.
    pub learned: StartupTimes,
}

impl Durations {
    pub fn new(times: StartupTimes) -> Self {
        Durations {
            times,
            ..Durations::default()
        }
    }

    /// Records the start of a test bed: the time of each instance, and in total with the burn-in.
    pub fn bed(&mut self, parts: &[StartDuration], whole: Duration) {
        self.beds += whole;
        for part in parts {
            let mean = self.starts.entry(part.target.clone()).or_default();
            let mean = mean.with(part.took);
            self.times.starts.insert(part.target.clone(), mean);
            self.learned.starts.insert(part.target.clone(), mean);
        }
    }

    /// Records the overhead of a trial: its time without the load and without the start of the test bed.
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
        let mut took = Durations::new(StartupTimes {
            starts: before(9_000),
            trials: before(4_000),
            ..StartupTimes::default()
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
