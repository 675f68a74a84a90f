//! CPU, spinning and bytes of a worker in the window, from readings at its start and end.

use crate::arrivals::NEVER;
use crate::clock::{process_cpu_ns, thread_cpu_ns};

/// A reading, or the difference of two: the usage of the window.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// CPU time of the worker's thread.
    pub cpu_ns: u64,
    /// CPU time of the process.
    pub process_cpu_ns: u64,
    /// Time spent spinning.
    pub spun_ns: u64,
    /// Bytes sent since the window started, drain included.
    pub bytes_sent: u64,
    /// Bytes received since the window started, drain included.
    pub bytes_received: u64,
}

/// Takes the readings at the start and the end of the window.
#[derive(Debug)]
pub struct UsageMeter {
    worker: usize,
    start_at_ns: u64,
    end_at_ns: u64,
    start: Option<Usage>,
    end: Option<Usage>,
}

impl UsageMeter {
    /// A meter without readings.
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

    /// Sets the start of the window.
    pub fn begin(&mut self, window_start_ns: u64) {
        self.start_at_ns = window_start_ns;
    }

    /// Time of the next reading; [`NEVER`] when it is not known or none is left.
    #[must_use]
    pub fn next_reading_ns(&self) -> u64 {
        match (self.start, self.end) {
            (None, _) => self.start_at_ns.min(self.end_at_ns),
            (Some(_), None) => self.end_at_ns,
            (Some(_), Some(_)) => NEVER,
        }
    }

    /// Takes a reading if one is due. `end_ns` is the end of the window as far as known.
    pub fn read_if_due(&mut self, now_ns: u64, end_ns: u64, bytes: (u64, u64), spun_ns: u64) {
        self.end_at_ns = end_ns;
        if now_ns < self.next_reading_ns() {
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

    /// Usage between the readings.
    #[must_use]
    pub fn usage(&self, bytes: (u64, u64), spun_ns: u64) -> Usage {
        let Some(start) = self.start else {
            return Usage::default();
        };
        let end = self.end.unwrap_or_else(|| self.read(bytes, spun_ns));
        Usage {
            cpu_ns: end.cpu_ns - start.cpu_ns,
            process_cpu_ns: end.process_cpu_ns - start.process_cpu_ns,
            spun_ns: end.spun_ns - start.spun_ns,
            bytes_sent: bytes.0 - start.bytes_sent,
            bytes_received: bytes.1 - start.bytes_received,
        }
    }

    fn read(&self, (bytes_sent, bytes_received): (u64, u64), spun_ns: u64) -> Usage {
        Usage {
            cpu_ns: thread_cpu_ns(),
            // The first worker reads the CPU time of the process for all.
            process_cpu_ns: match self.worker {
                0 => process_cpu_ns(),
                _ => 0,
            },
            spun_ns,
            bytes_sent,
            bytes_received,
        }
    }
}
