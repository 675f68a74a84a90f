//! What the window cost this worker: CPU, spinning and bytes, read where the window starts and where it ends.

use crate::arrivals::NEVER;
use crate::clock::{process_cpu_ns, thread_cpu_ns};

/// One reading.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    cpu_ns: u64,
    process_cpu_ns: u64,
    spun_ns: u64,
    bytes: (u64, u64),
}

/// What the window cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// CPU time of the worker's thread.
    pub cpu_ns: u64,
    /// CPU time of the process.
    pub process_cpu_ns: u64,
    /// Time spent spinning.
    pub spun_ns: u64,
    /// Bytes sent up to now, the drain included.
    pub bytes_sent: u64,
    /// Bytes received up to now, the drain included.
    pub bytes_received: u64,
}

/// Reads at the marks.
#[derive(Debug)]
pub struct Meter {
    worker: usize,
    start_at_ns: u64,
    end_at_ns: u64,
    start: Option<Reading>,
    end: Option<Reading>,
}

impl Meter {
    /// Nothing read yet.
    #[must_use]
    pub fn new(worker: usize) -> Self {
        Self {
            worker,
            start_at_ns: NEVER,
            end_at_ns: NEVER,
            start: None,
            end: None,
        }
    }

    /// Fixes where the window starts.
    pub fn begin(&mut self, window_start_ns: u64) {
        self.start_at_ns = window_start_ns;
    }

    /// When to read next; [`NEVER`] when that is not known or nothing is left to read.
    #[must_use]
    pub fn next_mark_ns(&self) -> u64 {
        match (self.start, self.end) {
            (None, _) => self.start_at_ns.min(self.end_at_ns),
            (Some(_), None) => self.end_at_ns,
            (Some(_), Some(_)) => NEVER,
        }
    }

    /// Reads if a mark is reached. `end_ns` is the end of the window as far as it is known now.
    pub fn mark(&mut self, now_ns: u64, end_ns: u64, bytes: (u64, u64), spun_ns: u64) {
        self.end_at_ns = end_ns;
        if now_ns < self.next_mark_ns() {
            return;
        }
        let reading = self.read(bytes, spun_ns);
        if self.start.is_none() {
            self.start = Some(reading);
        }
        if now_ns >= end_ns && self.end.is_none() {
            self.end = Some(reading);
        }
    }

    /// The difference of the readings.
    #[must_use]
    pub fn spent(&self, bytes: (u64, u64), spun_ns: u64) -> Spent {
        let Some(start) = self.start else {
            return Spent::default();
        };
        let end = self.end.unwrap_or_else(|| self.read(bytes, spun_ns));
        Spent {
            cpu_ns: end.cpu_ns - start.cpu_ns,
            process_cpu_ns: end.process_cpu_ns - start.process_cpu_ns,
            spun_ns: end.spun_ns - start.spun_ns,
            bytes_sent: bytes.0 - start.bytes.0,
            bytes_received: bytes.1 - start.bytes.1,
        }
    }

    fn read(&self, bytes: (u64, u64), spun_ns: u64) -> Reading {
        Reading {
            cpu_ns: thread_cpu_ns(),
            // The process is one: the first worker reads for all.
            process_cpu_ns: if self.worker == 0 {
                process_cpu_ns()
            } else {
                0
            },
            spun_ns,
            bytes,
        }
    }
}
