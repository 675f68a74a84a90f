//! Recorded starts, for a replay.

use std::path::Path;

use tare_record::files::read_user_text;
use tare_record::load::{AtEnd, Shard};
use thiserror::Error;

use super::{NEVER, parse};

/// Most starts of one recording: 800 MB of memory.
pub(super) const STARTS_MAX: usize = 100_000_000;

/// Largest file.
const BYTES_MAX: u64 = 4_000_000_000;

/// Why a recording cannot be used.
#[derive(Debug, Error)]
pub enum TraceError {
    #[error("the recording: {0}")]
    Read(String),
    #[error(
        "{file}:{line}: {text:?} is not a valid start: write one a line, in seconds with a point (0.25), whole nanoseconds or \
         milliseconds since 1970, or give the CSV or HdrHistogram log of a load, or JMeter's CSV"
    )]
    Line {
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// As in the file, shortened.
        text: String,
    },
    #[error("the recording {0} has no starts")]
    Empty(String),
    #[error("the recording {0} has more than {STARTS_MAX} starts: cut it")]
    TooMany(String),
    #[error("the recording {file}: {source}")]
    Log {
        file: String,
        source: tare_stats::hlog::HlogError,
    },
}

/// The starts of a recording, from its first one on, at a speed.
#[derive(Debug)]
pub struct ArrivalTrace {
    /// Sorted, from 0.
    starts_ns: Vec<u64>,
    /// Length of a round: from the first start to the last, and one mean gap.
    round_ns: u64,
    speed: f64,
    at_end: AtEnd,
    shard: Shard,
}

impl ArrivalTrace {
    /// Reads a recording.
    ///
    /// # Errors
    /// When it cannot be read, is invalid or has no starts.
    pub fn read(
        file: &str,
        speed: f64,
        at_end: AtEnd,
        shard: Shard,
    ) -> Result<ArrivalTrace, TraceError> {
        let text = read_user_text(Path::new(file), BYTES_MAX);
        let text = text.map_err(TraceError::Read)?;
        let starts_ns = parse::starts(file, &text)?;
        Self::of(file, starts_ns, speed, at_end, shard)
    }

    /// A recording of these starts, in any order.
    ///
    /// # Errors
    /// When there are none or too many.
    pub fn of(
        file: &str,
        mut starts_ns: Vec<u64>,
        speed: f64,
        at_end: AtEnd,
        shard: Shard,
    ) -> Result<ArrivalTrace, TraceError> {
        if starts_ns.len() > STARTS_MAX {
            return Err(TraceError::TooMany(file.to_owned()));
        }
        starts_ns.sort_unstable();
        let Some((&first_ns, &last_ns)) = starts_ns.first().zip(starts_ns.last()) else {
            return Err(TraceError::Empty(file.to_owned()));
        };
        for start_ns in &mut starts_ns {
            *start_ns -= first_ns;
        }
        let span_ns = last_ns - first_ns;
        let gaps = (starts_ns.len() as u64 - 1).max(1);
        Ok(ArrivalTrace {
            // A recording of a single time has no gap: a nanosecond separates rounds.
            round_ns: span_ns.saturating_add((span_ns / gaps).max(1)),
            starts_ns,
            speed,
            at_end,
            shard,
        })
    }

    /// This agent's start with this index.
    pub(super) fn at(&self, index: u64) -> Option<u64> {
        let index = index
            .saturating_mul(u64::from(self.shard.count.max(1)))
            .saturating_add(u64::from(self.shard.index));
        let count = self.starts_ns.len() as u64;
        let round = match self.at_end {
            AtEnd::Stop if index >= count => return None,
            AtEnd::Stop => 0,
            AtEnd::Repeat => index / count,
        };
        let within_ns = self.starts_ns[(index % count) as usize];
        let recorded_ns = u128::from(round) * u128::from(self.round_ns) + u128::from(within_ns);
        Some(self.at_speed(recorded_ns))
    }

    /// Index of this agent's first start at or after a time.
    pub(super) fn first_from(&self, at_ns: u64) -> u64 {
        // Times rise with their index: binary search.
        let (mut low, mut high) = (0_u64, 1_u64);
        let is_before = |index| self.at(index).is_some_and(|start_ns| start_ns < at_ns);
        while is_before(high) {
            low = high;
            high = high.saturating_mul(2);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Its length; [`NEVER`] if it repeats.
    pub(super) fn length_ns(&self) -> u64 {
        match self.at_end {
            AtEnd::Stop => self.at_speed(u128::from(self.round_ns)),
            AtEnd::Repeat => NEVER,
        }
    }

    /// Most starts of this agent within any interval of this length: what may be in flight or wait.
    pub(crate) fn peak_arrivals(&self, within_ns: u64) -> u64 {
        let recorded_ns = (within_ns as f64 * self.speed) as u64;
        let (mut from, mut most) = (0, 0);
        for (to, &at_ns) in self.starts_ns.iter().enumerate() {
            while at_ns - self.starts_ns[from] > recorded_ns {
                from += 1;
            }
            most = most.max(to - from + 1);
        }
        let rounds = match self.at_end {
            AtEnd::Stop => 1,
            AtEnd::Repeat => 1 + recorded_ns / self.round_ns,
        };
        // The end of one round and the start of the next may be in one interval.
        (most as u64)
            .saturating_mul(1 + rounds)
            .div_ceil(u64::from(self.shard.count.max(1)))
    }

    fn at_speed(&self, recorded_ns: u128) -> u64 {
        if self.speed == 1.0 {
            u64::try_from(recorded_ns).unwrap_or(NEVER)
        } else {
            (recorded_ns as f64 / self.speed).round() as u64
        }
    }
}
