//! CPU time of selected threads, so that the threads of links are not accounted to the conductor.

use std::collections::BTreeMap;
use std::fs;

use tare_record::record::InstanceUsage;

use super::reading::{thread_ids, ticks_ns};
use crate::process::{self, field};

/// Usage of threads with given names at one moment, by thread id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ThreadsReading(BTreeMap<u32, ThreadReading>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct ThreadReading {
    ran_ns: u64,
    queued_ns: u64,
    user_ns: u64,
    system_ns: u64,
    voluntary: u64,
    involuntary: u64,
}

impl ThreadsReading {
    /// Reads the threads of a process that have one of these names.
    pub(super) fn take(pid: u32, names: &[&str]) -> ThreadsReading {
        let threads = thread_ids(pid).unwrap_or_default().into_iter();
        ThreadsReading(
            threads
                .filter_map(|thread| {
                    let place = format!("/proc/{pid}/task/{thread}");
                    Some((thread, ThreadReading::take(&place, names)?))
                })
                .collect(),
        )
    }

    /// Usage of the threads that exist in both readings; `None`: there are none, or the kernel does not show it.
    pub(super) fn since(&self, first: &ThreadsReading) -> Option<InstanceUsage> {
        let both: Vec<(&ThreadReading, &ThreadReading)> = self
            .0
            .iter()
            .filter_map(|(thread, last)| Some((last, first.0.get(thread)?)))
            .collect();
        if both.is_empty() {
            return None;
        }
        let grown = |value: fn(&ThreadReading) -> u64| {
            let pairs = both.iter();
            Some(pairs.map(|(l, f)| value(l).saturating_sub(value(f))).sum())
        };
        Some(InstanceUsage {
            cpu_ns: grown(|thread| thread.ran_ns),
            run_queue_wait_ns: grown(|thread| thread.queued_ns),
            user_ns: grown(|thread| thread.user_ns),
            system_ns: grown(|thread| thread.system_ns),
            switches_voluntary: grown(|thread| thread.voluntary),
            switches_involuntary: grown(|thread| thread.involuntary),
            threads: u32::try_from(both.len()).ok(),
            ..InstanceUsage::default()
        })
    }
}

impl ThreadReading {
    fn take(place: &str, names: &[&str]) -> Option<ThreadReading> {
        let read = |file: &str| fs::read_to_string(format!("{place}/{file}")).ok();
        let stat = process::parse_stat(&read("stat")?)?;
        if !names.contains(&stat.name.as_str()) {
            return None;
        }
        let (ran_ns, queued_ns) = ran_and_queued(&read("schedstat")?)?;
        let status = read("status")?;
        Some(ThreadReading {
            ran_ns,
            queued_ns,
            user_ns: ticks_ns(stat.user_ticks),
            system_ns: ticks_ns(stat.system_ticks),
            voluntary: field(&status, "voluntary_ctxt_switches")?,
            involuntary: field(&status, "nonvoluntary_ctxt_switches")?,
        })
    }
}

/// The first two fields of schedstat: time on a core and time waiting for one, ns. (`sched-stats.rst`)
fn ran_and_queued(schedstat: &str) -> Option<(u64, u64)> {
    let waited = process::queued(schedstat)?;
    let ran = schedstat.split_ascii_whitespace().next()?.parse().ok()?;
    Some((ran, waited))
}

/// Subtracts the usage of threads from that of their process.
pub(super) fn subtract(part: &mut InstanceUsage, threads: &InstanceUsage) {
    let pairs = [
        (&mut part.cpu_ns, threads.cpu_ns),
        (&mut part.run_queue_wait_ns, threads.run_queue_wait_ns),
        (&mut part.user_ns, threads.user_ns),
        (&mut part.system_ns, threads.system_ns),
        (&mut part.switches_voluntary, threads.switches_voluntary),
        (&mut part.switches_involuntary, threads.switches_involuntary),
    ];
    for (whole, some) in pairs {
        *whole = whole.map(|whole| whole.saturating_sub(some.unwrap_or(0)));
    }
    part.threads = part
        .threads
        .map(|whole| whole.saturating_sub(threads.threads.unwrap_or(0)));
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::*;

    /// Work of a thread until its own clock says so.
    fn burn(length: Duration) {
        let began = Instant::now();
        while began.elapsed() < length {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn threads_of_a_name_are_counted_apart_from_the_others() {
        let me = std::process::id();
        let (go, told) = channel::<()>();
        let (say, done) = channel();
        let worker = std::thread::Builder::new().name(String::from("test-worker"));
        let worker = worker.spawn(move || {
            told.recv().unwrap();
            burn(Duration::from_millis(20));
            say.send(()).unwrap();
            // Lives until it has been read.
            let _ = told.recv();
        });
        let worker = worker.unwrap();
        // A thread gives itself its name: it may not be there at once.
        let mut first = ThreadsReading::default();
        while first.0.is_empty() {
            first = ThreadsReading::take(me, &["test-worker"]);
        }
        go.send(()).unwrap();
        done.recv().unwrap();
        let last = ThreadsReading::take(me, &["test-worker"]);
        let found = last.since(&first).unwrap();
        assert_eq!(found.threads, Some(1));
        // It burnt for 20 ms of the clock; others may have had the core for some of them.
        let cpu_ns = found.cpu_ns.unwrap();
        assert!(cpu_ns > 0 && cpu_ns < 10_000_000_000, "{cpu_ns}");
        assert!(
            ThreadsReading::take(me, &["nobody"])
                .since(&first)
                .is_none()
        );
        drop(go);
        worker.join().unwrap();
    }

    #[test]
    fn what_is_taken_off_a_part_leaves_the_rest_and_what_is_not_known_unknown() {
        let of = |cpu_ns, threads| InstanceUsage {
            cpu_ns,
            threads,
            ..InstanceUsage::default()
        };
        let mut part = of(Some(100), Some(5));
        subtract(&mut part, &of(Some(30), Some(4)));
        assert_eq!((part.cpu_ns, part.threads), (Some(70), Some(1)));
        assert_eq!(part.switches_voluntary, None);
    }
}
