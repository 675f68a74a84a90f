//! Other load on the machine during the checks: load average, other processes, stolen time.

use std::collections::BTreeMap;
use std::time::Duration;

use tare_record::record::Check;

use super::{Graded, check, figure};
use crate::observe::MachineReading;
use crate::process::{self, ProcessStat};

/// Share of stolen time above which a warning is printed.
const STEAL_MAX: f64 = 0.01;
/// Share of a core used by other programs above which it is reported; effects of this size are measured.
const NOTICED: f64 = 0.05;
/// Length of the observation: fifty ticks.
const WATCHED: Duration = Duration::from_millis(500);
/// Most cores and processes that are named.
const NAMED_MAX: usize = 3;

/// CPU use of other programs, measured while this one sleeps.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OtherPrograms {
    /// Share of each core, by its number.
    cores: Vec<f64>,
    /// Busiest processes: name, process id, cores.
    busiest: Vec<(String, u32, f64)>,
}

impl OtherPrograms {
    /// Observes for half a second.
    #[must_use]
    pub fn watch() -> OtherPrograms {
        let before: BTreeMap<(u32, u64), u64> = process::snapshot()
            .iter()
            .map(|p| (key(p), ticks(p)))
            .collect();
        let first = MachineReading::take();
        process::pause(WATCHED);
        let usage = MachineReading::take()
            .zip(first)
            .map(|(last, first)| last.since(&first, None));
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        let me = std::process::id();
        let mut busiest: Vec<(String, u32, f64)> = process::snapshot()
            .into_iter()
            .filter(|p| p.pid != me)
            .map(|p| {
                let grown = ticks(&p).saturating_sub(before.get(&key(&p)).copied().unwrap_or(0));
                let cores = grown as f64 / per_second / WATCHED.as_secs_f64();
                (p.name, p.pid, cores)
            })
            .filter(|(_, _, cores)| *cores >= NOTICED)
            .collect();
        busiest.sort_by(|a, b| b.2.total_cmp(&a.2));
        busiest.truncate(NAMED_MAX);
        OtherPrograms {
            cores: usage.map_or_else(Vec::new, |usage| usage.core_busy),
            busiest,
        }
    }

    /// Cores and programs as text; `None` when the load is too small to report.
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        let mut noticed: Vec<(usize, f64)> = self.cores.iter().copied().enumerate().collect();
        noticed.retain(|(_, share)| *share >= NOTICED);
        noticed.sort_by(|a, b| b.1.total_cmp(&a.1));
        let more = noticed.len().saturating_sub(NAMED_MAX);
        noticed.truncate(NAMED_MAX);
        noticed.sort_by_key(|(core, _)| *core);
        let mut cores: Vec<String> = noticed
            .iter()
            .map(|(core, share)| format!("{:.0} % of core {core}", share * 100.0))
            .collect();
        if more > 0 {
            cores.push(format!("some of {more} more"));
        }
        let last = cores.pop()?;
        let all = match cores.is_empty() {
            true => last,
            false => format!("{} and {last}", cores.join(", ")),
        };
        let named: Vec<String> = self
            .busiest
            .iter()
            .map(|(name, pid, cores)| format!("{name} (pid {pid}) {:.0} %", cores * 100.0))
            .collect();
        let named = match named.is_empty() {
            true => String::new(),
            false => format!(" ({})", named.join(", ")),
        };
        Some(format!("other programs use {all} now{named}"))
    }

    pub(crate) fn check(&self) -> Check {
        let all: f64 = self.cores.iter().sum();
        let result = |found: String| figure("others", found, all, "cores");
        match self.in_words() {
            Some(found) => result(found).warn_if(
                true,
                "intervals will be wider: stop them, or wait until they are done",
            ),
            None if self.cores.is_empty() => check("others", "not shown by this kernel"),
            None => result(format!("other programs use {:.0} % of a core", all * 100.0)),
        }
    }
}

/// State of the machine at the start of the checks.
pub(crate) struct LoadDuringCheck(Option<MachineReading>);

impl LoadDuringCheck {
    pub(crate) fn begin() -> LoadDuringCheck {
        LoadDuringCheck(MachineReading::take())
    }

    /// Checks of steal and load average.
    pub(crate) fn end(self) -> Vec<Check> {
        let usage = MachineReading::take()
            .zip(self.0)
            .map(|(last, first)| last.since(&first, None));
        let steal = usage.as_ref().and_then(|usage| usage.steal_share);
        let average = usage.and_then(|usage| usage.load_average);
        vec![steal_check(steal), load_check(average)]
    }
}

fn steal_check(steal: Option<f64>) -> Check {
    let Some(share) = steal else {
        return check("steal", "not shown by this kernel");
    };
    let found = format!("{:.1} % steal time", share * 100.0);
    figure("steal", found, share, "share").warn_if(
        share > STEAL_MAX,
        "the host gives the processor to others: measure on dedicated cores, or trust only what repeats",
    )
}

fn load_check(average: Option<f64>) -> Check {
    let Some(average) = average else {
        return check("load", "not shown by this kernel");
    };
    let cores = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
    let found = format!("load average {average:.2} over a minute");
    figure("load", found, average, "processes").warn_if(
        average > cores / 2.0,
        "the machine was busy in the last minute: let it come to rest first",
    )
}

/// Unique key of a process: its id and start time.
fn key(process: &ProcessStat) -> (u32, u64) {
    (process.pid, process.started_ticks)
}

fn ticks(process: &ProcessStat) -> u64 {
    process.user_ticks + process.system_ticks
}

#[cfg(test)]
mod tests {
    use tare_record::record::Grade;

    use super::*;

    fn others(cores: &[f64], busiest: &[(&str, u32, f64)]) -> OtherPrograms {
        let busiest = busiest.iter();
        OtherPrograms {
            cores: cores.to_vec(),
            busiest: busiest
                .map(|(name, pid, cores)| ((*name).to_owned(), *pid, *cores))
                .collect(),
        }
    }

    #[test]
    fn what_others_use_is_said_core_by_core_with_their_names() {
        let two = others(&[0.34, 0.12], &[("python3", 7, 0.3), ("cc", 9, 0.11)]);
        assert_eq!(
            two.in_words().unwrap(),
            "other programs use 34 % of core 0 and 12 % of core 1 now (python3 (pid 7) 30 %, cc (pid 9) 11 %)"
        );
        let check = two.check();
        assert_eq!(check.grade, Grade::Warning);
        assert!((check.value.unwrap() - 0.46).abs() < 1e-9);
        // Processes too short to be seen: the cores alone.
        assert_eq!(
            others(&[0.01, 0.4], &[]).in_words().unwrap(),
            "other programs use 40 % of core 1 now"
        );
    }

    #[test]
    fn of_many_busy_cores_the_busiest_are_named() {
        let many = others(&[0.1, 0.9, 0.3, 0.2, 0.0], &[]);
        assert_eq!(
            many.in_words().unwrap(),
            "other programs use 90 % of core 1, 30 % of core 2, 20 % of core 3 and some of 1 more now"
        );
    }

    #[test]
    fn next_to_nothing_is_not_worth_a_word_and_unknown_is_not_nothing() {
        let quiet = others(&[0.04, 0.01], &[]);
        assert_eq!(quiet.in_words(), None);
        assert_eq!(quiet.check().grade, Grade::Ok);
        let unknown = others(&[], &[]).check();
        assert_eq!(unknown.value, None);
        assert_eq!(unknown.grade, Grade::Ok);
    }
}
