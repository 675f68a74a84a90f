//! The observation of a trial: from the start of its window to the last agent's report.

use std::time::{Duration, Instant};

use tare_lab::environment::{Bed, Observation};
use tare_schema::load::Stop;
use tare_schema::plan::Cell;
use tare_schema::record::TrialRecord;

use crate::agents::{Agents, Heard};
use crate::disturb::Disturbances;
use crate::error::{Stopped, alive};
use crate::event::Listener;

/// From the order to start to the first intended send: an agent is up, connected and ready in a fraction of it.
const LEAD: Duration = Duration::from_millis(200);
/// Distance between two readings of memory and two looks at whether the parts are alive.
const TICK: Duration = Duration::from_millis(250);
/// Longest wait for one message; short, so that an interruption is noticed.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long after the end of its drain an agent may take to report.
const REPORT_WITHIN: Duration = Duration::from_secs(10);

/// From the order to start to the first intended send.
pub(crate) fn lead(cell: &Cell) -> Duration {
    let roles = cell.load.iter();
    let opening_ns = roles.map(|role| role.load.connections.open_over_ns).max();
    LEAD + Duration::from_nanos(opening_ns.unwrap_or(0))
}

/// Follows the agents to their results, observing over exactly the window that begins then.
pub(crate) fn observe(
    cell: &Cell,
    window_start: Instant,
    (bed, agents): (&mut dyn Bed, &mut Agents),
    disturbances: &mut Disturbances<'_>,
    listener: &mut dyn Listener,
    record: &mut TrialRecord,
) -> Result<(), Stopped> {
    disturbances.window_starts(window_start);
    let window_end = length(cell).map(|length| window_start + length);
    let give_up = window_end.map(|end| end + longest_timeout(cell) + REPORT_WITHIN);
    let mut observation: Option<Box<dyn Observation>> = None;
    let mut usage = None;
    let mut next_tick = window_start;
    // Without a fixed window the agent's samples tell that it is alive.
    let silence = lead(cell) + longest_silence(cell) + REPORT_WITHIN;
    let mut last_word = Instant::now();
    while !agents.are_done() {
        let now = Instant::now();
        if listener.interrupted() {
            agents.interrupt();
            return Err(Stopped::Interrupted);
        }
        if observation.is_none() && usage.is_none() && now >= window_start {
            observation = Some(bed.observe()?);
        }
        disturbances.advance(bed)?;
        if window_end.is_some_and(|end| now >= end)
            && let Some(observation) = observation.take()
        {
            usage = Some(observation.finish()?);
        }
        if now >= next_tick {
            next_tick = now + TICK;
            if let Some(observation) = &mut observation {
                observation.tick();
            }
            alive(bed)?;
        }
        if give_up.is_some_and(|limit| now > limit) || last_word.elapsed() > silence {
            return Err(Stopped::Failed(
                "an agent did not report in time: see its log".into(),
            ));
        }
        let edges = [
            Some(window_start),
            window_end,
            Some(next_tick),
            disturbances.next_at(),
        ];
        let wake = edges.into_iter().flatten().filter(|at| *at > now).min();
        let patience = wake.map_or(PATIENCE, |at| PATIENCE.min(at - now));
        if let Heard::Something = agents.listen(patience, listener)? {
            last_word = Instant::now();
        }
    }
    if let Some(observation) = observation.take() {
        usage = Some(observation.finish()?);
    }
    if let Some((parts, machine)) = usage {
        (record.parts, record.machine) = (parts, Some(machine));
    }
    Ok(())
}

/// Length of the observed window, when the load's stop rule fixes it.
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

/// The longest that an agent has nothing to say: its warm-up, one sample, its drain.
fn longest_silence(cell: &Cell) -> Duration {
    let longest = cell
        .load
        .iter()
        .map(|role| role.load.warmup_ns + role.load.sample_every_ns + role.load.timeout_ns);
    Duration::from_nanos(longest.max().unwrap_or(0))
}
