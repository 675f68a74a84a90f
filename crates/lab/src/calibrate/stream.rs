//! Round-trip time and throughput of one connection, plain or wrapped.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use tare_net::link::{self, connected, throughput};
use tare_record::calibration::StreamFigures;

use super::{no_network, tls};
use crate::LabError;

/// A quantile needs ten values beyond it.
const P99_TRIPS_MIN: usize = 1000;
/// Round trips of one pass: three passes give enough for a p99.
const TRIPS_MAX: usize = 350;
/// Time limit of a pass: over links with a long delay 350 round trips would take too long.
const TRIPS_LIMIT: Duration = Duration::from_millis(700);
/// Warm-up: cold caches and, with TLS, the handshake.
const TRIPS_SKIPPED: usize = 20;
const TRIP_BYTES: usize = 64;
/// Length of the throughput test; a third of it is for opening the windows.
const STREAM_LENGTH: Duration = Duration::from_millis(300);

/// Results of one pass.
pub(super) struct Pass {
    trips_ns: Vec<u64>,
    bits_per_s: f64,
}

/// Results of several passes.
#[derive(Default)]
pub(super) struct Passes {
    trips_ns: Vec<u64>,
    bits_per_s: Vec<f64>,
}

impl Passes {
    pub(super) fn add(&mut self, pass: Pass) {
        self.trips_ns.extend(pass.trips_ns);
        self.bits_per_s.push(pass.bits_per_s);
    }

    /// Quantiles of all round trips together and the median throughput of the passes; `None` without a pass.
    pub(super) fn figures(mut self) -> Option<StreamFigures> {
        self.trips_ns.sort_unstable();
        self.bits_per_s.sort_unstable_by(f64::total_cmp);
        let trips_ns = &self.trips_ns;
        let enough = trips_ns.len() >= P99_TRIPS_MIN;
        let bits_per_s = *self.bits_per_s.get(self.bits_per_s.len() / 2)?;
        Some(StreamFigures {
            round_trip_p50_ns: trips_ns.get(trips_ns.len() / 2).copied(),
            round_trip_p99_ns: enough.then(|| trips_ns[trips_ns.len() * 99 / 100]),
            bits_per_s,
        })
    }
}

/// Measures plain TCP.
pub(super) fn plain(path: link::Path<'_>) -> Result<Pass, LabError> {
    pass(path, |near, far| Ok((near, far)))
}

/// Measures TLS.
pub(super) fn through_tls(path: link::Path<'_>) -> Result<Pass, LabError> {
    let ends = tls::TlsEnds::new(path.address).map_err(failed)?;
    pass(path, |near, far| ends.wrap(near, far))
}

/// Measures two connections one after the other, each wrapped.
fn pass<N: Read + Write + Send, F: Read + Write + Send>(
    path: link::Path<'_>,
    wrap: impl Fn(TcpStream, TcpStream) -> io::Result<(N, F)>,
) -> Result<Pass, LabError> {
    let open = || {
        let (near, far) = connected(path).map_err(no_network)?;
        wrap(near, far).map_err(failed)
    };
    let (near, far) = open()?;
    let trips_ns = round_trips((near, far), TRIPS_MAX, TRIPS_LIMIT).map_err(failed)?;
    let (near, far) = open()?;
    let carried = throughput(near, far, STREAM_LENGTH).map_err(failed)?;
    Ok(Pass {
        trips_ns,
        bits_per_s: carried.bits_per_s(),
    })
}

fn failed(error: io::Error) -> LabError {
    LabError::io("measure a connection")(error)
}

/// Sequential round trips, in nanoseconds: so many at most, for so long.
pub(crate) fn round_trips(
    (mut near, mut far): (impl Read + Write + Send, impl Read + Write + Send),
    trips_max: usize,
    limit: Duration,
) -> io::Result<Vec<u64>> {
    thread::scope(|scope| {
        let echo = scope.spawn(move || {
            let mut data = [0; TRIP_BYTES];
            // Ends with the connection.
            while far.read_exact(&mut data).is_ok() && far.write_all(&data).is_ok() {}
        });
        let trips = ask(&mut near, trips_max, limit);
        drop(near);
        match echo.join() {
            Ok(()) => trips,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn ask(near: &mut (impl Read + Write), trips_max: usize, limit: Duration) -> io::Result<Vec<u64>> {
    let mut data = [0x5a; TRIP_BYTES];
    let mut trips = Vec::with_capacity(trips_max);
    let began = Instant::now();
    for number in 0..TRIPS_SKIPPED + trips_max {
        let sent = Instant::now();
        near.write_all(&data)?;
        near.flush()?;
        near.read_exact(&mut data)?;
        if number >= TRIPS_SKIPPED {
            trips.push(u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
        if began.elapsed() > limit {
            break;
        }
    }
    Ok(trips)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_that_was_disturbed_moves_neither_the_median_trip_nor_the_throughput() {
        let mut passes = Passes::default();
        for (trip_ns, bits_per_s) in [(10_000, 8e9), (900_000, 1e9), (11_000, 9e9)] {
            passes.add(Pass {
                trips_ns: vec![trip_ns; TRIPS_MAX],
                bits_per_s,
            });
        }
        let figures = passes.figures().unwrap();
        assert_eq!(figures.round_trip_p50_ns, Some(11_000));
        // It shows up at the 99th percentile.
        assert_eq!(figures.round_trip_p99_ns, Some(900_000));
        assert!((figures.bits_per_s - 8e9).abs() < 1.0);
    }

    #[test]
    fn too_few_round_trips_have_no_99th_percentile() {
        assert!(Passes::default().figures().is_none());
        let mut passes = Passes::default();
        passes.add(Pass {
            trips_ns: vec![10_000; P99_TRIPS_MIN - 1],
            bits_per_s: 8e9,
        });
        let figures = passes.figures().unwrap();
        assert_eq!(figures.round_trip_p50_ns, Some(10_000));
        assert_eq!(figures.round_trip_p99_ns, None);
    }
}
