//! Checks by measurement: lateness of sleeps, loopback round trips, receive timestamps of the kernel.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::time::Duration;

use rustix::time::ClockId;
use tare_record::record::Check;

use super::{Graded, check, figure};
use crate::calibrate::stream;
use crate::{process, sys};

/// Length of each of the two measurements.
const TRIAL: Duration = Duration::from_millis(300);
/// Time between two sleeps: 1200 in all, so that twelve lie beyond the 99th percentile.
const STEP: Duration = Duration::from_micros(250);
/// Above this, exchanges start noticeably later than intended.
const LATENESS_P99_MAX: Duration = Duration::from_micros(100);
/// Priority of the generator's workers.
const FIFO_PRIORITY: i32 = 1;
/// Niceness of the workers where they cannot have real-time scheduling.
const NICENESS: i32 = -10;
/// A loopback round trip takes 10 to 40 µs; more comes from deep sleep states or a busy machine.
const ROUND_TRIP_P50_MAX: Duration = Duration::from_micros(100);
/// More round trips than fit into that time.
const TRIPS_MAX: usize = 1 << 16;
/// Socket timeout: a stalled loopback must not stall the doctor.
const SOCKET_LIMIT: Duration = Duration::from_secs(1);

/// Lateness of absolute sleeps.
pub(crate) fn timer() -> Check {
    // In a thread of its own: the timer slack is per thread.
    let Ok(late) = std::thread::spawn(sleep_lateness).join() else {
        return check("timer", "not measured").warn_if(true, "the measuring thread failed");
    };
    let Some(spread) = Spread::of(late) else {
        return check("timer", "not measured").warn_if(true, "the clock could not be read");
    };
    let found = format!("sleeps end late by {spread}");
    let tail = spread.p99.unwrap_or(spread.max);
    figure("timer", found, micros(tail), "µs").warn_if(
        tail > LATENESS_P99_MAX,
        "exchanges start late, which is taken off their latency: stop other work, leave a core to the agent, forbid deep sleep (cpupower idle-set -D 10)",
    )
}

/// Scheduling that the kernel allows the generator.
pub(crate) fn scheduling() -> Check {
    // In a thread of its own: priorities are per thread.
    let tried = std::thread::spawn(|| {
        let niceness = rustix::process::setpriority_process(None, NICENESS).is_ok();
        (
            tare_net::link::set_sched_fifo(FIFO_PRIORITY).is_ok(),
            niceness,
        )
    });
    match tried.join() {
        Ok((fifo, niceness)) => scheduled(fifo, niceness),
        Err(_) => check("scheduling", "not tried: the thread failed"),
    }
}

fn scheduled(fifo: bool, niceness: bool) -> Check {
    let word = |allowed: bool| if allowed { "allowed" } else { "refused" };
    let found = format!(
        "SCHED_FIFO {}, niceness {NICENESS} {}",
        word(fifo),
        word(niceness)
    );
    check("scheduling", found).warn_if(
        !fifo,
        "the generator waits for its core when other programs run: run as root, or allow it (`ulimit -r 1`, CAP_SYS_NICE; in a control group of version 1, cpu.rt_runtime_us)",
    )
}

fn sleep_lateness() -> Vec<Duration> {
    // The default slack of 50 µs would be measured instead of the timer.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let mut late = Vec::with_capacity(1300);
    let start = now();
    let mut next = start;
    while next < start + TRIAL {
        next += STEP;
        let at = process::timespec(next);
        while rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &at).is_err() {
            if now() > next {
                break;
            }
        }
        late.push(now().saturating_sub(next));
        // After a long stall the missed sleeps would all have the same lateness.
        next = next.max(now());
    }
    late
}

fn now() -> Duration {
    let time = rustix::time::clock_gettime(ClockId::Monotonic);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

/// Round-trip time between two threads over TCP.
pub(crate) fn loopback() -> Check {
    match round_trips() {
        Err(error) => check("loopback", format!("no round trip: {error}")).fail_if(
            true,
            "TCP over 127.0.0.1 must work: look at firewall and container settings",
        ),
        Ok(trips) => {
            let Some(spread) = Spread::of(trips) else {
                return check("loopback", "no round trip in time")
                    .warn_if(true, "the machine is too busy: stop other work");
            };
            let found = format!("round trip {spread}");
            figure("loopback", found, micros(spread.p50), "µs").warn_if(
                spread.p50 > ROUND_TRIP_P50_MAX,
                "small differences drown in this: stop other work, forbid deep sleep",
            )
        }
    }
}

fn round_trips() -> std::io::Result<Vec<Duration>> {
    let trips_ns = stream::round_trips(connected()?, TRIPS_MAX, TRIAL)?;
    Ok(trips_ns.into_iter().map(Duration::from_nanos).collect())
}

fn connected() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    for stream in [&near, &far] {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SOCKET_LIMIT))?;
    }
    Ok((near, far))
}

/// Whether the kernel timestamps received segments.
pub(crate) fn stamps() -> Check {
    let stamped = connected().and_then(|(mut near, far)| {
        sys::want_stamps(&far)?;
        near.write_all(b"?")?;
        sys::receive_stamp(&far)
    });
    match stamped {
        Ok(Some(_)) => check("timestamps", "the kernel timestamps received data"),
        Ok(None) => check(
            "timestamps",
            "the kernel does not timestamp received TCP data",
        )
        .warn_if(
            true,
            "arrival is read from the clock by Tare, later than it was; use kernel 4.17 or newer",
        ),
        Err(error) => check("timestamps", format!("not available: {error}")).warn_if(
            true,
            "arrival is taken from Tare's own clock and has its delays in it",
        ),
    }
}

/// Distribution of a measurement.
struct Spread {
    p50: Duration,
    /// Only when ten values lie beyond it: a stalled machine gives fewer.
    p99: Option<Duration>,
    max: Duration,
}

impl Spread {
    /// `None` when there are no values.
    fn of(mut values: Vec<Duration>) -> Option<Spread> {
        values.sort_unstable();
        let max = *values.last()?;
        Some(Spread {
            p50: values[values.len() / 2],
            p99: (values.len() >= 1000).then(|| values[values.len() * 99 / 100]),
            max,
        })
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let p99 = self
            .p99
            .map_or_else(|| String::from("–"), |p99| format!("{:.0} µs", micros(p99)));
        let (p50, max) = (micros(self.p50), micros(self.max));
        write!(f, "{p50:.0} µs (median), {p99} (p99), {max:.0} µs (max)")
    }
}

fn micros(length: Duration) -> f64 {
    length.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use tare_record::record::Grade;

    use super::*;

    #[test]
    fn what_is_refused_is_said_with_what_to_do_and_what_is_tried_stays_in_its_thread() {
        let before = rustix::process::getpriority_process(None).unwrap();
        let tried = scheduling();
        assert_eq!(
            tried.found.matches("allowed").count() + tried.found.matches("refused").count(),
            2
        );
        assert_eq!(rustix::process::getpriority_process(None).unwrap(), before);
        let refused = scheduled(false, true);
        assert_eq!(refused.found, "SCHED_FIFO refused, niceness -10 allowed");
        assert_eq!(refused.grade, Grade::Warning);
        assert_eq!(scheduled(true, true).grade, Grade::Ok);
    }
}
