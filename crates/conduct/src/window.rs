//! The window of a trial: observation from its start to the last agent's result.

use std::time::{Duration, Instant};

use tare_lab::environment::{Observation, Pace, TestBed, UsageSample};
use tare_record::event::PartSample;
use tare_record::load::Stop;
use tare_record::plan::Cell;
use tare_record::record::{InstanceUsage, MachineUsage, TrialRecord};

use crate::agents::{Agents, Received};
use crate::error::{TrialError, check_running};
use crate::event::TrialObserver;
use crate::faults::Faults;

/// Interval at which memory is sampled and instances are checked to be running.
const TICK: Duration = Duration::from_millis(250);
/// Interval at which those who watch get the resource usage of the parts.
const USAGE_EVERY: Duration = Duration::from_secs(1);
/// Longest wait for one message; short, so that an interruption is noticed.
const POLL_TIMEOUT: Duration = Duration::from_millis(50);

/// Time from starting the agents to the first intended send.
pub(crate) fn lead(cell: &Cell, pace: Pace) -> Duration {
    let roles = cell.load.iter();
    let agents: u32 = roles.clone().map(|role| role.agents.max(1)).sum();
    let opening_ns = roles.map(|role| role.load.connections.open_over_ns).max();
    pace.lead + pace.lead_per_agent * agents + Duration::from_nanos(opening_ns.unwrap_or(0))
}

/// Reads the agents until all have reported, and observes CPU and memory over exactly the window.
pub(crate) fn observe(
    (cell, pace): (&Cell, Pace),
    window_start: Instant,
    (bed, agents): (&mut dyn TestBed, &mut Agents),
    faults: &mut Faults<'_>,
    observer: &mut dyn TrialObserver,
    record: &mut TrialRecord,
) -> Result<(), TrialError> {
    faults.set_window_start(window_start);
    let window_end = length(cell).map(|length| window_start + length);
    let give_up = window_end.map(|end| end + longest_timeout(cell) + pace.report);
    let mut observation: Option<Box<dyn Observation>> = None;
    let mut usage = None;
    let mut next_tick = window_start;
    let mut next_usage = window_start;
    let mut is_sampled = false;
    // Without a fixed window the agent's samples show that it is alive.
    let silence = lead(cell, pace) + longest_silence(cell) + pace.report;
    let mut last_message = Instant::now();
    while !agents.are_done() {
        let now = Instant::now();
        if observer.interrupted() {
            agents.interrupt();
            return Err(TrialError::Interrupted);
        }
        if observation.is_none() && usage.is_none() && now >= window_start {
            let mut begun = bed.observe()?;
            if let Some(end) = window_end {
                begun.ends_in(end.saturating_duration_since(Instant::now()))?;
            }
            observation = Some(begun);
        }
        faults.advance(bed)?;
        if window_end.is_some_and(|end| now >= end)
            && let Some(observation) = observation.take()
        {
            usage = Some(observation.finish()?);
        }
        if now >= next_tick {
            next_tick = now + TICK;
            if let Some(observation) = &mut observation {
                observation.tick();
                if now >= next_usage {
                    next_usage = now + USAGE_EVERY;
                    if let Some(usage) = observation.sample() {
                        observer.usage(&usage);
                        is_sampled = true;
                    }
                }
            }
            check_running(bed)?;
        }
        if give_up.is_some_and(|limit| now > limit) || last_message.elapsed() > silence {
            return Err(TrialError::Failed(
                "an agent did not report in time: see its log".into(),
            ));
        }
        let edges = [
            Some(window_start),
            window_end,
            Some(next_tick),
            faults.next_at(),
        ];
        let wake = edges.into_iter().flatten().filter(|at| *at > now).min();
        let poll_timeout = wake.map_or(POLL_TIMEOUT, |at| POLL_TIMEOUT.min(at - now));
        if let Received::Something = agents.receive(poll_timeout, observer)? {
            last_message = Instant::now();
        }
    }
    if let Some(observation) = observation.take() {
        usage = Some(observation.finish()?);
    }
    if let Some((parts, machine)) = usage {
        if !is_sampled {
            observer.usage(&whole_window(&parts, &machine));
        }
        (record.instances, record.machine) = (parts, Some(machine));
    }
    Ok(())
}

/// The usage of a window that was too short for a sample.
fn whole_window(parts: &[InstanceUsage], machine: &MachineUsage) -> UsageSample {
    let parts = parts.iter().map(|part| PartSample {
        instance: part.instance.clone(),
        role: part.role.clone(),
        cpu_ns: part.cpu_ns,
        rss_bytes: part.rss_mean_bytes,
        disk_write_bytes: part.disk_write_bytes,
        packets: part.packets,
    });
    UsageSample {
        length: Duration::from_nanos(machine.window_ns),
        parts: parts.collect(),
        background_cpu_ns: machine.background_cpu_ns,
    }
}

/// Length of the window, when the stop rules of all loads fix it.
fn length(cell: &Cell) -> Option<Duration> {
    cell.load
        .iter()
        .map(|role| match role.load.stop {
            Stop::Duration { window_ns } => Some(Duration::from_nanos(window_ns)),
            Stop::Count { .. } | Stop::Interrupted => None,
        })
        .collect::<Option<Vec<_>>>()
        .and_then(|lengths| lengths.into_iter().max())
}

fn longest_timeout(cell: &Cell) -> Duration {
    let timeouts = cell.load.iter().map(|role| role.load.timeout_ns);
    Duration::from_nanos(timeouts.max().unwrap_or(0))
}

/// Longest time without a message of an agent: warm-up, one sample interval, drain.
fn longest_silence(cell: &Cell) -> Duration {
    let longest = cell
        .load
        .iter()
        .map(|role| role.load.warmup_ns + role.load.sample_every_ns + role.load.timeout_ns);
    Duration::from_nanos(longest.max().unwrap_or(0))
}
