//! Round trips and throughput of one connection, whatever is wrapped round it.

use std::io::{self, Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use tare_net::link::{self, connected, throughput};
use tare_schema::calibration::StreamFigures;

use super::{no_network, tls};
use crate::LabError;

/// A quantile needs ten values beyond it.
const TRIPS_MAX: usize = 1050;
const P99_TRIPS_MIN: usize = 1000;
/// Between distant sites a thousand round trips would take too long.
const TRIPS_LIMIT: Duration = Duration::from_secs(2);
/// The first ones meet cold caches and, with TLS, the handshake.
const TRIPS_SKIPPED: usize = 20;
const TRIP_BYTES: usize = 64;
/// A third of it is for opening the windows.
const STREAM_LENGTH: Duration = Duration::from_millis(600);

/// TCP as it is.
pub(super) fn plain(path: link::Path<'_>) -> Result<StreamFigures, LabError> {
    let (near, far) = connected(path).map_err(no_network)?;
    let trips = round_trips(near, far).map_err(failed)?;
    let (near, far) = connected(path).map_err(no_network)?;
    let carried = throughput(near, far, STREAM_LENGTH).map_err(failed)?;
    Ok(figures(trips, carried))
}

/// The same through TLS.
pub(super) fn through_tls(path: link::Path<'_>) -> Result<StreamFigures, LabError> {
    let ends = tls::Ends::new(path.address).map_err(failed)?;
    let (near, far) = connected(path).map_err(no_network)?;
    let (near, far) = ends.wrap(near, far).map_err(failed)?;
    let trips = round_trips(near, far).map_err(failed)?;
    let (near, far) = connected(path).map_err(no_network)?;
    let (near, far) = ends.wrap(near, far).map_err(failed)?;
    let carried = throughput(near, far, STREAM_LENGTH).map_err(failed)?;
    Ok(figures(trips, carried))
}

fn failed(error: io::Error) -> LabError {
    LabError::io("measure a connection")(error)
}

fn figures(mut trips_ns: Vec<u64>, carried: link::Throughput) -> StreamFigures {
    trips_ns.sort_unstable();
    let enough = trips_ns.len() >= P99_TRIPS_MIN;
    StreamFigures {
        round_trip_p50_ns: trips_ns.get(trips_ns.len() / 2).copied(),
        round_trip_p99_ns: enough.then(|| trips_ns[trips_ns.len() * 99 / 100]),
        bits_per_s: carried.bits_per_s(),
    }
}

/// One after the other, in nanoseconds.
fn round_trips(
    mut near: impl Read + Write + Send,
    mut far: impl Read + Write + Send,
) -> io::Result<Vec<u64>> {
    thread::scope(|scope| {
        let echo = scope.spawn(move || {
            let mut data = [0; TRIP_BYTES];
            // Ends with the connection.
            while far.read_exact(&mut data).is_ok() && far.write_all(&data).is_ok() {}
        });
        let trips = ask(&mut near);
        drop(near);
        match echo.join() {
            Ok(()) => trips,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn ask(near: &mut (impl Read + Write)) -> io::Result<Vec<u64>> {
    let mut data = [0x5a; TRIP_BYTES];
    let mut trips = Vec::with_capacity(TRIPS_MAX);
    let began = Instant::now();
    for number in 0..TRIPS_SKIPPED + TRIPS_MAX {
        let sent = Instant::now();
        near.write_all(&data)?;
        near.flush()?;
        near.read_exact(&mut data)?;
        if number >= TRIPS_SKIPPED {
            trips.push(u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
        if began.elapsed() > TRIPS_LIMIT {
            break;
        }
    }
    Ok(trips)
}
