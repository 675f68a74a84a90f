//! Punctual wake-ups of a worker: how its thread is scheduled, and how it waits for the next start or event.
//!
//! `epoll_pwait2` takes its timeout in nanoseconds; a timerfd costs one more call per sleep, and mio's own poll rounds up to
//! milliseconds (`examples/sleep.rs` measures them). The timer interrupt and leaving idle still cost 50 µs and more, so the
//! worker may wake early and spin until an intended start, within a share of a core.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{getpriority_process, setpriority_process};
use tare_record::agent::SchedPolicy;

use crate::arrivals::NEVER;
use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::sys::{self, Event};

/// Most events per call.
pub const EVENTS_MAX: usize = 256;

/// Largest saved-up budget: a burst of starts after a pause may spin this long.
const BUDGET_NS_MAX: u64 = 5_000_000;

/// Bounds of the lead: how much earlier than a start the worker wakes.
const LEAD_NS: (u64, u64) = (20_000, 250_000);

/// Long gaps allow deep idle states with rare, much later wake-ups: the lead is at least this part of the gap (a thousandth of a
/// core), up to a maximum.
const SPARE_SHARE: u64 = 1000;
const SPARE_NS_MAX: u64 = 60_000;

/// Whatever the timer slack is, epoll lets a sleep be late by a thousandth of its length (`select_estimate_accuracy` of the
/// kernel): 1 ms in a second. A longer sleep than this is therefore shortened, and the rest slept separately.
const LONG_NS: u64 = 10_000_000;
/// 1/256 of it is left for the second sleep.
const SHORTENED: u64 = 256;

/// Shortest sleep that is worth a timer.
const SLEEP_NS_MIN: u64 = 1_000;

/// A longer turn of a spin was not spun: the thread had no core for some of it. A turn takes under a microsecond.
const TURN_NS_MAX: u64 = 20_000;

const EMPTY: epoll::Event = epoll::Event {
    flags: EventFlags::empty(),
    data: EventData::new_u64(0),
};

/// Niceness of a worker thread, where it may be set: a busy process on its core then delays a start by microseconds instead of a
/// time slice of 2 to 3 ms. The worker mostly sleeps, so it takes little from others.
const NICENESS: i32 = -10;

/// How a worker thread is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulingPolicy {
    /// `SCHED_FIFO`: before all ordinary processes.
    Fifo,
    /// A niceness of −10.
    Niceness,
}

impl SchedulingPolicy {
    /// Applies it to the calling thread, not to threads it starts, and returns the result. Without privilege the load runs all
    /// the same, and its result shows how.
    pub fn take(self) -> SchedPolicy {
        if self == SchedulingPolicy::Fifo && sys::run_in_real_time().is_ok() {
            return SchedPolicy::Fifo;
        }
        let niceness = getpriority_process(None).unwrap_or(0);
        // A niceness set by the user stays.
        let niceness = match niceness {
            0 if setpriority_process(None, NICENESS).is_ok() => NICENESS,
            chosen => chosen,
        };
        SchedPolicy::Normal { niceness }
    }
}

/// Whether to spin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpinRule {
    /// Never.
    Off,
    /// At most this share of a core, in thousandths.
    Share(u16),
}

/// What to wait for.
#[derive(Debug, Clone, Copy)]
pub struct WakeTimes {
    /// The next intended start; worth spinning for.
    pub start_ns: u64,
    /// Everything else that is due; not worth it.
    pub other_ns: u64,
}

/// Sleeps and spins for one worker.
#[derive(Debug)]
pub struct Sleeper {
    spin: Option<Spin>,
    spun_ns: u64,
    without_pwait2: bool,
}

impl Sleeper {
    /// A sleeper without measurements.
    #[must_use]
    pub fn new(rule: SpinRule) -> Self {
        Self {
            spin: match rule {
                SpinRule::Off | SpinRule::Share(0) => None,
                SpinRule::Share(thousandths) => Some(Spin::new(thousandths, monotonic_ns())),
            },
            spun_ns: 0,
            without_pwait2: false,
        }
    }

    /// CPU time spent spinning so far.
    #[must_use]
    pub fn spun_ns(&self) -> u64 {
        self.spun_ns
    }

    /// Waits until something is due or an event comes, and returns the events; `events` has a capacity of [`EVENTS_MAX`].
    /// `now_ns` may be a little old: the clock is read again only if a start is known.
    ///
    /// # Errors
    /// As `epoll_wait`.
    pub fn wait(
        &mut self,
        epoll: BorrowedFd<'_>,
        now_ns: u64,
        until: WakeTimes,
        events: &mut Vec<Event>,
    ) -> io::Result<()> {
        // Events end a spin: those of the previous turn must not.
        events.clear();
        let now_ns = if until.start_ns == NEVER {
            now_ns
        } else {
            monotonic_ns()
        };
        let due_ns = until.start_ns.min(until.other_ns);
        if due_ns <= now_ns {
            return self.take(epoll, Some(0), events);
        }
        let ahead_ns = due_ns - now_ns;
        if due_ns != NEVER && ahead_ns > LONG_NS {
            // The worker calls again for the rest.
            return self.take(epoll, Some(ahead_ns - ahead_ns / SHORTENED), events);
        }
        let lead_ns = match &mut self.spin {
            Some(spin) if until.start_ns <= until.other_ns => spin.lead(now_ns, due_ns),
            _ => None,
        };
        let Some(lead_ns) = lead_ns else {
            let timeout_ns = (due_ns != NEVER).then_some(ahead_ns);
            return self.take(epoll, timeout_ns, events);
        };
        let wake_ns = due_ns.saturating_sub(lead_ns);
        if wake_ns > now_ns + SLEEP_NS_MIN {
            self.take(epoll, Some(wake_ns - now_ns), events)?;
            if !events.is_empty() {
                return Ok(());
            }
            let late_ns = monotonic_ns().saturating_sub(wake_ns);
            if let Some(spin) = &mut self.spin {
                spin.learn_late(late_ns);
            }
        }
        self.spin_until(epoll, due_ns, events)
    }

    fn spin_until(
        &mut self,
        epoll: BorrowedFd<'_>,
        due_ns: u64,
        events: &mut Vec<Event>,
    ) -> io::Result<()> {
        // Read now, while there is time: after the spin a start is due.
        let cpu_before_ns = thread_cpu_ns();
        let began_ns = monotonic_ns();
        let mut now_ns = began_ns;
        let mut longest_turn_ns = 0;
        // Looks for events while it spins, a third of a microsecond each: exact enough, and the receive lag is lower.
        while now_ns < due_ns && events.is_empty() {
            self.take(epoll, Some(0), events)?;
            let turn_began_ns = std::mem::replace(&mut now_ns, monotonic_ns());
            longest_turn_ns = longest_turn_ns.max(now_ns - turn_began_ns);
        }
        let cpu_ns = || thread_cpu_ns().saturating_sub(cpu_before_ns);
        let spun_ns = cpu_of_spin(now_ns - began_ns, longest_turn_ns, cpu_ns);
        self.spun_ns += spun_ns;
        if let Some(spin) = &mut self.spin {
            spin.spent(spun_ns);
        }
        Ok(())
    }

    fn take(
        &mut self,
        epoll: BorrowedFd<'_>,
        timeout_ns: Option<u64>,
        events: &mut Vec<Event>,
    ) -> io::Result<()> {
        if !self.without_pwait2 {
            match sys::wait_for_events(epoll, timeout_ns, events) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
                // Linux before 5.11.
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    self.without_pwait2 = true
                }
                waited => return waited,
            }
        }
        take_by_ppoll(epoll, timeout_ns, events)
    }
}

/// CPU time of a spin: its length, unless the thread had no core for some of it. Only then the clock of its CPU time is read.
fn cpu_of_spin(length_ns: u64, longest_turn_ns: u64, cpu_ns: impl FnOnce() -> u64) -> u64 {
    match longest_turn_ns > TURN_NS_MAX {
        true => cpu_ns().min(length_ns),
        false => length_ns,
    }
}

/// Waits with ppoll, which has nanoseconds on every kernel, then takes the events: one more call.
fn take_by_ppoll(
    epoll: BorrowedFd<'_>,
    timeout_ns: Option<u64>,
    events: &mut Vec<Event>,
) -> io::Result<()> {
    let mut ready = [PollFd::from_borrowed_fd(epoll, PollFlags::IN)];
    match poll(&mut ready, timeout_ns.map(timespec).as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut taken = [EMPTY; EVENTS_MAX];
    let count = epoll::wait(epoll, &mut taken[..], Some(&timespec(0)))?;
    events.clear();
    for event in &taken[..count] {
        // Copied: fields of a packed struct cannot be borrowed.
        let (flags, data) = (event.flags, event.data);
        events.push(Event {
            events: flags.bits(),
            u64: data.u64(),
        });
    }
    Ok(())
}

/// When to spin, and how long; adapts to what sleeping and spinning cost on this machine.
#[derive(Debug)]
struct Spin {
    /// Share of a core for spinning, in thousandths; at least one.
    thousandths: u64,
    /// How much earlier than a start to wake.
    lead_ns: u64,
    /// Mean spinning time per start.
    cost_ns: u64,
    /// Mean gap between starts; `NEVER` until there were two.
    gap_ns: u64,
    last_start_ns: u64,
    budget_ns: u64,
    budget_at_ns: u64,
}

impl Spin {
    fn new(thousandths: u16, now_ns: u64) -> Self {
        Self {
            thousandths: u64::from(thousandths.max(1)),
            lead_ns: 60_000,
            cost_ns: 25_000,
            gap_ns: NEVER,
            last_start_ns: 0,
            budget_ns: BUDGET_NS_MAX,
            budget_at_ns: now_ns,
        }
    }

    /// How much earlier than a start to wake; `None` when spinning exceeds its share.
    fn lead(&mut self, now_ns: u64, start_ns: u64) -> Option<u64> {
        if start_ns != self.last_start_ns {
            let gap_ns = start_ns.saturating_sub(self.last_start_ns);
            if self.last_start_ns != 0 {
                self.gap_ns = match self.gap_ns {
                    NEVER => gap_ns,
                    known_ns => known_ns - known_ns / 8 + gap_ns / 8,
                };
            }
            self.last_start_ns = start_ns;
        }
        // In whole µs, so that rounding loses no share.
        let since_us = now_ns.saturating_sub(self.budget_at_ns) / 1000;
        self.budget_ns = (self.budget_ns + since_us * self.thousandths).min(BUDGET_NS_MAX);
        self.budget_at_ns += since_us * 1000;
        let fits = self.cost_ns.saturating_mul(1000) / self.thousandths <= self.gap_ns;
        let lead_ns = self
            .lead_ns
            .max((self.gap_ns / SPARE_SHARE).min(SPARE_NS_MAX));
        (fits && self.budget_ns >= lead_ns).then_some(lead_ns)
    }

    /// Follows late wake-ups: up fast, down slowly.
    fn learn_late(&mut self, late_ns: u64) {
        let wanted_ns = (late_ns + late_ns / 4).clamp(LEAD_NS.0, LEAD_NS.1);
        if wanted_ns > self.lead_ns {
            self.lead_ns += (wanted_ns - self.lead_ns) / 4;
        } else {
            self.lead_ns -= (self.lead_ns - wanted_ns) / 64;
        }
    }

    fn spent(&mut self, spun_ns: u64) {
        self.cost_ns = self.cost_ns - self.cost_ns / 16 + spun_ns / 16;
        self.budget_ns = self.budget_ns.saturating_sub(spun_ns);
    }
}

fn timespec(ns: u64) -> Timespec {
    let time = Duration::from_nanos(ns);
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    const TENTH: u16 = 100;
    const HALF: u16 = 500;

    /// Spins half its lead before each start of a constant rate; the share of a core it took in ten seconds.
    fn share(thousandths: u16, rate_per_s: u64) -> f64 {
        let mut spin = Spin::new(thousandths, 0);
        let gap_ns = SECOND_NS / rate_per_s;
        let mut spun_ns = 0;
        for start in 1..=rate_per_s * 10 {
            let start_ns = start * gap_ns;
            if let Some(lead_ns) = spin.lead(start_ns - gap_ns, start_ns) {
                spin.spent(lead_ns / 2);
                spun_ns += lead_ns / 2;
            }
        }
        spun_ns as f64 / (10 * SECOND_NS) as f64
    }

    #[test]
    fn an_event_of_the_last_turn_does_not_keep_the_next_start_from_being_spun_for() {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let (mut near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
        epoll::add(&epoll, &near, EventData::new_u64(7), EventFlags::IN).unwrap();
        let mut sleeper = Sleeper::new(SpinRule::Share(TENTH));
        let mut events = Vec::with_capacity(EVENTS_MAX);
        let until = |start_ns| WakeTimes {
            start_ns,
            other_ns: NEVER,
        };
        // A busy machine may take the processor away until the start has passed: then it is tried again.
        for _ in 0..100 {
            far.write_all(&[1]).unwrap();
            let later_ns = monotonic_ns() + SECOND_NS;
            sleeper
                .wait(epoll.as_fd(), 0, until(later_ns), &mut events)
                .unwrap();
            assert_eq!(events.len(), 1, "the event is taken");
            near.read_exact(&mut [0]).unwrap();
            let start_ns = monotonic_ns() + 50_000;
            sleeper
                .wait(epoll.as_fd(), 0, until(start_ns), &mut events)
                .unwrap();
            assert!(events.is_empty(), "the event of the last turn is gone");
            if sleeper.spun_ns() > 0 {
                return;
            }
        }
        panic!("no start was spun for");
    }

    #[test]
    fn time_without_a_core_is_not_spun() {
        let unread = || -> u64 { panic!("the clock costs time before a start") };
        assert_eq!(cpu_of_spin(60_000, 400, unread), 60_000);
        assert_eq!(cpu_of_spin(4_060_000, 4_000_000, || 61_000), 61_000);
        // The clock is coarser than the spin.
        assert_eq!(cpu_of_spin(60_000, 30_000, || 70_000), 60_000);
    }

    #[test]
    fn spinning_takes_what_starts_need_and_never_more_than_its_share_of_a_core() {
        for of in [TENTH, HALF] {
            assert!(
                (share(of, 100) - 100.0 * 30e-6).abs() < 1e-4,
                "every start is spun for"
            );
            let most = f64::from(of) / 1000.0 + 0.001;
            for rate in [1000, 2000, 3000, 5000, 20_000] {
                let took = share(of, rate);
                assert!(took <= most, "{rate}/s took {took} of {most}");
            }
        }
        let needed = 10_000.0 * 30e-6;
        assert!(share(TENTH, 10_000) < needed / 2.0);
        assert!(
            (share(HALF, 10_000) - needed).abs() < 0.01,
            "all of it fits half a core"
        );
    }

    #[test]
    fn starts_far_apart_are_woken_for_early_at_a_thousandth_of_a_core_more() {
        let lead_of = |gap_ns: u64| {
            let mut spin = Spin::new(TENTH, 0);
            (0..10_000).for_each(|_| spin.learn_late(0));
            (1..200)
                .filter_map(|n| spin.lead((n - 1) * gap_ns, n * gap_ns))
                .last()
        };
        assert_eq!(lead_of(SECOND_NS), Some(SPARE_NS_MAX));
        let fifty_ms = lead_of(50_000_000).unwrap();
        assert!((49_000..=51_000).contains(&fifty_ms), "{fifty_ms}");
        assert!(lead_of(5_000_000).unwrap() < LEAD_NS.0 + 100);
    }

    #[test]
    fn spinning_switches_itself_off_above_the_rate_it_fits() {
        assert!(share(TENTH, 50_000) < 0.001, "{}", share(TENTH, 50_000));
    }

    #[test]
    fn the_lead_follows_late_wake_ups_and_stays_bounded() {
        let mut spin = Spin::new(TENTH, 0);
        (0..100).for_each(|_| spin.learn_late(100_000));
        assert!(spin.lead_ns.abs_diff(125_000) < 1000);
        (0..100).for_each(|_| spin.learn_late(10_000_000));
        assert!(spin.lead_ns <= LEAD_NS.1);
        (0..10_000).for_each(|_| spin.learn_late(0));
        assert!(spin.lead_ns < LEAD_NS.0 + 100);
    }
}
