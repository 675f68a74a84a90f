//! What else the machine does while it is examined: load, other processes, time stolen.

use std::collections::BTreeMap;
use std::time::Instant;

use tare_schema::record::{Check, Grade};

use super::{but, check, figure};
use crate::observe::MachineReading;
use crate::process::{self, ProcessStat};

/// Stolen time above this share is worth a warning.
const STEAL_MAX: f64 = 0.01;
/// Other processes may use so much of one core together.
const OTHERS_MAX: f64 = 0.1;
/// Processes that are named.
const NAMED_MAX: usize = 3;

/// The state of the machine when the examination began.
pub(crate) struct Activity {
    machine: Option<MachineReading>,
    processes: BTreeMap<(u32, u64), u64>,
    began: Instant,
}

impl Activity {
    pub(crate) fn begin() -> Activity {
        Activity {
            machine: MachineReading::take(),
            processes: process::snapshot()
                .iter()
                .map(|p| (key(p), ticks(p)))
                .collect(),
            began: Instant::now(),
        }
    }

    /// Checks of steal, of other processes and of the load average.
    pub(crate) fn end(self) -> Vec<Check> {
        let last = MachineReading::take();
        let usage = match (&self.machine, &last) {
            (Some(first), Some(last)) => Some(last.since(first, 0, None)),
            _ => None,
        };
        let steal = usage.as_ref().and_then(|usage| usage.steal_share);
        let average = usage.and_then(|usage| usage.load_average);
        vec![steal_check(steal), self.others(), load_check(average)]
    }

    fn others(&self) -> Check {
        let seconds = self.began.elapsed().as_secs_f64();
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        let me = std::process::id();
        let mut busy: Vec<(f64, ProcessStat)> = process::snapshot()
            .into_iter()
            .filter(|p| p.pid != me)
            .map(|p| {
                let before = self.processes.get(&key(&p)).copied().unwrap_or(0);
                let grown = ticks(&p).saturating_sub(before) as f64;
                (grown / per_second / seconds, p)
            })
            .filter(|(cores, _)| *cores > 0.0)
            .collect();
        busy.sort_by(|a, b| b.0.total_cmp(&a.0));
        let all: f64 = busy.iter().map(|(cores, _)| cores).sum();
        let named: Vec<String> = busy
            .iter()
            .take(NAMED_MAX)
            .map(|(cores, p)| format!("{} (pid {}) {:.0} %", p.name, p.pid, cores * 100.0))
            .collect();
        let mut found = format!("other processes use {:.0} % of a core", all * 100.0);
        if !named.is_empty() {
            found = format!("{found}: {}", named.join(", "));
        }
        let result = figure("others", found, all, "cores");
        if all <= OTHERS_MAX {
            return result;
        }
        but(
            result,
            Grade::Limits,
            "they take time from what is measured: stop them, or wait until they are done",
        )
    }
}

fn steal_check(steal: Option<f64>) -> Check {
    let Some(share) = steal else {
        return check("steal", "not shown by this kernel");
    };
    let result = figure(
        "steal",
        format!("{:.1} % of time stolen", share * 100.0),
        share,
        "share",
    );
    if share <= STEAL_MAX {
        return result;
    }
    but(
        result,
        Grade::Limits,
        "the host gives the processor to others: measure on dedicated cores, or trust only what repeats",
    )
}

fn load_check(average: Option<f64>) -> Check {
    let Some(average) = average else {
        return check("load", "not shown by this kernel");
    };
    let cores = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
    let result = figure(
        "load",
        format!("load average {average:.2} over a minute"),
        average,
        "processes",
    );
    if average <= cores / 2.0 {
        return result;
    }
    but(
        result,
        Grade::Limits,
        "the machine was busy in the last minute: let it come to rest first",
    )
}

/// A process for good: its id with its start.
fn key(process: &ProcessStat) -> (u32, u64) {
    (process.pid, process.started_ticks)
}

fn ticks(process: &ProcessStat) -> u64 {
    process.user_ticks + process.system_ticks
}
