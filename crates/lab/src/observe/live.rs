//! Resource usage of the parts within a window, about once a second, for those who watch. No result is made of it.
//!
//! Only the processes that a part had when the window began are read: finding new ones would cost the measurement time.

use std::collections::BTreeSet;
use std::time::Instant;

use tare_record::event::PartSample;

use super::machine::MachineReading;
use super::pods::PodCounts;
use super::reading;
use crate::environment::UsageSample;
use crate::process::{self, field};
use crate::sys;

/// A part as far as it is read here.
pub(super) struct LivePart<'a> {
    pub instance: &'a str,
    pub role: &'a str,
    pub members: &'a BTreeSet<u32>,
    /// Counters of its pod, if it is alone in it.
    pub pod: Option<&'a PodCounts>,
}

/// The last reading.
#[derive(Debug)]
pub(super) struct LiveReading {
    at: Instant,
    parts: Vec<Reading>,
    machine: Option<MachineReading>,
}

/// Cumulative counters of a part; `None`: unknown.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    cpu_ns: Option<u64>,
    disk_write_bytes: Option<u64>,
    packets: Option<u64>,
}

impl LiveReading {
    pub(super) fn take(parts: &[LivePart<'_>]) -> LiveReading {
        LiveReading {
            at: Instant::now(),
            parts: parts.iter().map(Reading::of).collect(),
            machine: MachineReading::take(),
        }
    }

    /// Usage since this reading. Memory is that of now.
    pub(super) fn until(&self, now: &LiveReading, parts: &[LivePart<'_>]) -> UsageSample {
        let readings = self.parts.iter().zip(&now.parts);
        let samples: Vec<PartSample> = parts
            .iter()
            .zip(readings)
            .map(|(part, (first, last))| PartSample {
                instance: part.instance.to_owned(),
                role: part.role.to_owned(),
                cpu_ns: grown(first.cpu_ns, last.cpu_ns),
                rss_bytes: sum(part.members, reading::resident_bytes),
                disk_write_bytes: grown(first.disk_write_bytes, last.disk_write_bytes),
                packets: grown(first.packets, last.packets),
            })
            .collect();
        let ours: Option<u64> = samples.iter().map(|sample| sample.cpu_ns).sum();
        let machine = now.machine.as_ref().zip(self.machine.as_ref());
        UsageSample {
            length: now.at - self.at,
            background_cpu_ns: machine
                .and_then(|(last, first)| last.since(first, ours).background_cpu_ns),
            parts: samples,
        }
    }
}

impl Reading {
    fn of(part: &LivePart<'_>) -> Reading {
        let packets = part.pod.and_then(|pod| {
            let usage = pod.read();
            Some(usage.packets_in? + usage.packets_out?)
        });
        Reading {
            cpu_ns: sum(part.members, |pid| {
                u64::try_from(sys::process_cpu(pid)?.as_nanos()).ok()
            }),
            disk_write_bytes: sum(part.members, |pid| {
                let text = process::read_own(pid, "io").ok()?;
                field(&String::from_utf8_lossy(&text), "write_bytes")
            }),
            packets,
        }
    }
}

/// The sum over the processes that are still there; `None` when there are none.
fn sum(members: &BTreeSet<u32>, value: impl Fn(u32) -> Option<u64>) -> Option<u64> {
    let mut found = members.iter().filter_map(|pid| value(*pid)).peekable();
    found.peek()?;
    Some(found.sum())
}

/// `None` also when a process of the part has ended meanwhile: the difference would be wrong.
fn grown(first: Option<u64>, last: Option<u64>) -> Option<u64> {
    last?.checked_sub(first?)
}
