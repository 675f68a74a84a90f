//! How late and how dear are the ways to sleep to a nanosecond: `cargo run --release -p tare-load --example sleep`.
#![allow(clippy::print_stdout, reason = "an example prints what it measures")]
#![expect(
    unsafe_code,
    reason = "epoll_pwait2 has no safe wrapper that keeps its nanoseconds"
)]

use std::io;
use std::os::fd::AsRawFd;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime,
    timerfd_create, timerfd_settime,
};

const SLEEPS: usize = 2000;
const SLEEP_NS: i64 = 500_000;

fn read_ns(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Sleeps many times one way; prints how much too long it took, and its CPU time.
fn measure(name: &str, mut sleep: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let mut late = Vec::with_capacity(SLEEPS);
    let cpu_before = read_ns(ClockId::ThreadCPUTime);
    for _ in 0..SLEEPS {
        let before = read_ns(ClockId::Monotonic);
        sleep()?;
        late.push(read_ns(ClockId::Monotonic) - before - SLEEP_NS);
    }
    let cpu = (read_ns(ClockId::ThreadCPUTime) - cpu_before) / SLEEPS as i64;
    late.sort_unstable();
    let us = |ns: i64| ns as f64 / 1e3;
    println!(
        "{name:<31} late p50 {:>6.1} µs, p90 {:>6.1}, p99 {:>6.1}; CPU {:>5.2} µs a sleep",
        us(late[SLEEPS / 2]),
        us(late[SLEEPS * 9 / 10]),
        us(late[SLEEPS * 99 / 100]),
        us(cpu)
    );
    Ok(())
}

fn pwait2(epoll: &impl AsRawFd) -> io::Result<()> {
    let timeout = libc::timespec {
        tv_sec: 0,
        tv_nsec: SLEEP_NS,
    };
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: room for one event, a live timespec, no signal mask.
    let taken = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.as_raw_fd(),
            &raw mut event,
            1,
            &raw const timeout,
            std::ptr::null::<libc::sigset_t>(),
            0_usize,
        )
    };
    if taken < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: SLEEP_NS,
    };
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let mut events = Vec::with_capacity(16);
    let mut wait = || {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), Some(&timeout))
            .map(drop)
            .map_err(Into::into)
    };
    measure("epoll_pwait in ms, slack 50 µs", &mut wait)?;
    let mut pwait2 = || pwait2(&epoll);
    measure("epoll_pwait2, slack 50 µs", &mut pwait2)?;
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?;
    measure("epoll_pwait2, slack 1 ns", &mut pwait2)?;
    measure("ppoll, slack 1 ns", || {
        let mut ready = [PollFd::new(&epoll, PollFlags::IN)];
        poll(&mut ready, Some(&timeout))
            .map(drop)
            .map_err(Into::into)
    })?;
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK)?;
    epoll::add(
        &epoll,
        &timer,
        EventData::new_u64(0),
        EventFlags::IN | EventFlags::ET,
    )?;
    let once = Itimerspec {
        it_interval: Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        },
        it_value: timeout,
    };
    let mut events = Vec::with_capacity(16);
    measure("timerfd in epoll, slack 1 ns", || {
        events.clear();
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once)?;
        epoll::wait(&epoll, spare_capacity(&mut events), None)
            .map(drop)
            .map_err(Into::into)
    })
}
