//! One trial: counters, agents, observation, counters again.

use std::path::Path;
use std::time::{Duration, Instant};

use tare_lab::LabError;
use tare_lab::environment::{Agent, Bed, Death, Observation};
use tare_schema::agent::{Acknowledged, AgentMessage, LoadResult, Sample};
use tare_schema::load::{Deal, Endpoint, Stop};
use tare_schema::plan::{Cell, Plan, RoleLoad};
use tare_schema::record::{
    Audited, EventRecord, MachineUsage, PartUsage, Proof, ReadBackRecord, RoleResult, Told,
    TrialStatus,
};

use crate::ConductError;
use crate::beds::Ground;
use crate::clock::{now_unix_us, until};
use crate::disk::write_synced;
use crate::disturb::Disturbances;
use crate::orders::{Orders, Worked};
use crate::prepare::Prepared;
use crate::status::judge;
use crate::traffic::Sent;
use crate::{evidence, prepare, read_back, samples, told};

/// From the order to start to the first intended send: an agent is up, connected and ready in a fraction of it.
const LEAD: Duration = Duration::from_millis(200);
/// Distance between two readings of memory and two looks at whether the parts are alive.
const TICK: Duration = Duration::from_millis(250);
/// Longest wait for one message; short, so that an interruption is noticed.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long after the end of its drain an agent may take to report.
const REPORT_WITHIN: Duration = Duration::from_secs(10);

/// What a trial gave.
#[derive(Debug)]
pub(crate) struct Measured {
    pub status: TrialStatus,
    pub saturated: bool,
    pub load: Vec<RoleResult>,
    pub parts: Vec<PartUsage>,
    pub machine: Option<MachineUsage>,
    pub proofs: Vec<Proof>,
    pub audits: Vec<Audited>,
    pub endpoints: Vec<Endpoint>,
    pub told: Vec<Told>,
    pub events: Vec<EventRecord>,
    pub read_back: Option<ReadBackRecord>,
}

impl Measured {
    /// A trial in which a part died or an agent could not work.
    pub fn failed(reason: String, log_tail: Vec<String>) -> Self {
        Measured {
            status: TrialStatus::Failed { reason, log_tail },
            saturated: false,
            load: Vec::new(),
            parts: Vec::new(),
            machine: None,
            proofs: Vec::new(),
            audits: Vec::new(),
            endpoints: Vec::new(),
            told: Vec::new(),
            events: Vec::new(),
            read_back: None,
        }
    }
}

/// How a trial ended.
#[derive(Debug)]
pub(crate) enum Trial {
    Measured(Box<Measured>),
    /// The user wants to stop: nothing of it is kept.
    Interrupted,
}

/// Ears of a trial.
pub(crate) trait Listener {
    fn sample(&mut self, role: &str, sample: &Sample);
    fn interrupted(&self) -> bool;
}

/// The same cell whose load warms up for at least so long.
fn warmed_longer(cell: &Cell, burn_in_ns: u64) -> Cell {
    let mut cell = cell.clone();
    for role in &mut cell.load {
        role.load.warmup_ns = role.load.warmup_ns.max(burn_in_ns);
    }
    cell
}

/// Measures one cell on a bed that is up.
pub(crate) fn measure(
    plan: &Plan,
    cell: &Cell,
    ((trial, seed), worked): ((u32, u64), &Worked),
    ground: Ground<'_>,
    folder: &Path,
    listener: &mut dyn Listener,
) -> Result<Trial, ConductError> {
    let Ground {
        bed,
        taken,
        burn_in_ns,
    } = ground;
    let warmed = burn_in_ns.map(|burn_in_ns| warmed_longer(cell, burn_in_ns));
    let cell = warmed.as_ref().unwrap_or(cell);
    match prepare::steps(cell, (trial, seed), (&mut *bed, taken), listener) {
        Ok(Prepared::Ready) => {}
        Ok(Prepared::Interrupted) => return Ok(Trial::Interrupted),
        Ok(Prepared::Failed(reason)) => return Ok(failed(bed, &reason)),
        Err(error) => return failed_by(bed, error),
    }
    let before = match bed.counters() {
        Ok(before) => before,
        Err(error) => return failed_by(bed, error),
    };
    let orders = Orders {
        cell,
        trial: (trial, seed),
        placement: &plan.placement,
        worked,
        start_at_unix_us: now_unix_us() + lead(cell).as_micros() as u64,
    };
    let mut agents = match start_agents(&orders, bed) {
        Ok(agents) => agents,
        Err(error) => return failed_by(bed, error),
    };
    let mut disturbances = Disturbances::of(cell, (trial, seed));
    let watched = match watch(cell, bed, &mut agents, &mut disturbances, listener) {
        Ok(Watched::Interrupted) => return Ok(Trial::Interrupted),
        Ok(Watched::Died(death)) => return Ok(died(death)),
        Ok(Watched::Ended(watched)) => watched,
        Err(Stopped::Lab(error)) => return failed_by(bed, error),
        Err(Stopped::Trial(reason)) => return Ok(failed(bed, &reason)),
    };
    if !cell.events.is_empty() {
        disturbances.settle();
        if let Err(error) = bed.mend() {
            return failed_by(bed, error);
        }
    }
    if let Some(death) = bed.deaths().into_iter().next() {
        return Ok(died(death));
    }
    let evidence = match evidence::gather(plan, cell, &agents_sent(&agents), &before, bed) {
        Ok(evidence) => evidence,
        Err(error) => return failed_by(bed, error),
    };
    write_files(folder, &agents)?;
    let acknowledged = acknowledged(&agents);
    let found = match read_back::read(cell, (trial, seed), &acknowledged, bed) {
        Ok(found) => found,
        Err(error) => return failed_by(bed, error),
    };
    // What was started again counts from nothing.
    let mut after = evidence.after.clone();
    after.retain(|counters| !disturbances.renewed().contains(&counters.instance));
    let mut measured = judge(plan, agents, watched, evidence);
    measured.told = told::told(&before, &after);
    measured.events = disturbances.records();
    read_back::lay(&mut measured, found);
    prepare::undo(cell, trial, bed);
    Ok(Trial::Measured(Box::new(measured)))
}

/// An agent with what it said.
pub(crate) struct RunningAgent {
    pub role: RoleLoad,
    pub endpoint: Endpoint,
    window_start_unix_us: u64,
    agent: Box<dyn Agent>,
    samples: Vec<Sample>,
    pub result: Option<LoadResult>,
}

fn start_agents(orders: &Orders<'_>, bed: &mut dyn Bed) -> Result<Vec<RunningAgent>, LabError> {
    let (cell, (_, seed)) = (orders.cell, orders.trial);
    let mut agents = Vec::new();
    let mut writer = 0;
    for role in &cell.load {
        let endpoint = bed.endpoint(&role.edge, &role.instance)?;
        let parts = role.agents.max(1);
        for part in 0..parts {
            let mut plan = orders.of(role, &endpoint, Deal { parts, part });
            if cell.read_back.is_some() {
                plan.load.client.number_records(seed, writer);
                writer += plan.load.workers;
            }
            agents.push(RunningAgent {
                agent: bed.start_agent(&role.instance, &plan)?,
                window_start_unix_us: orders.start_at_unix_us + role.load.warmup_ns / 1000,
                role: role.clone(),
                endpoint: endpoint.clone(),
                samples: Vec::new(),
                result: None,
            });
        }
    }
    Ok(agents)
}

/// From the order to start to the first intended send.
fn lead(cell: &Cell) -> Duration {
    let roles = cell.load.iter();
    let opening_ns = roles.map(|role| role.load.connections.open_over_ns).max();
    LEAD + Duration::from_nanos(opening_ns.unwrap_or(0))
}

/// What was seen while the agents worked.
pub(crate) struct Usage {
    pub parts: Vec<PartUsage>,
    pub machine: Option<MachineUsage>,
}

enum Watched {
    Ended(Usage),
    Died(Death),
    Interrupted,
}

/// Follows the agents to their results, observing over exactly the window.
fn watch(
    cell: &Cell,
    bed: &mut dyn Bed,
    agents: &mut [RunningAgent],
    disturbances: &mut Disturbances<'_>,
    listener: &mut dyn Listener,
) -> Result<Watched, Stopped> {
    let Some(first) = agents.first() else {
        return Err(Stopped::Trial(
            "the cell has no load: give the experiment a load section".into(),
        ));
    };
    let window_start = Instant::now() + until(first.window_start_unix_us);
    disturbances.window_starts(window_start);
    let window_end = window_length(cell).map(|length| window_start + length);
    let give_up = window_end.map(|end| end + longest_timeout(cell) + REPORT_WITHIN);
    let mut observation: Option<Box<dyn Observation>> = None;
    let mut usage = None;
    let mut next_tick = window_start;
    let mut dead = None;
    // Without a fixed window the agent's samples tell that it is alive.
    let silence = lead(cell) + longest_silence(cell) + REPORT_WITHIN;
    let mut last_word = Instant::now();
    while agents.iter().any(|agent| agent.result.is_none()) {
        let now = Instant::now();
        if listener.interrupted() {
            for agent in agents.iter_mut() {
                // The agent may have ended by itself; either way it is gone with the bed.
                let _ = agent.agent.interrupt();
            }
            return Ok(Watched::Interrupted);
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
            dead = bed.deaths().into_iter().next();
            if dead.is_some() {
                break;
            }
        }
        if give_up.is_some_and(|limit| now > limit) || last_word.elapsed() > silence {
            return Err(Stopped::Trial(
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
        if let Heard::Something = listen(agents, patience, listener)? {
            last_word = Instant::now();
        }
    }
    if let Some(death) = dead {
        return Ok(Watched::Died(death));
    }
    if let Some(observation) = observation.take() {
        usage = Some(observation.finish()?);
    }
    let (parts, machine) = match usage {
        Some((parts, machine)) => (parts, Some(machine)),
        None => (Vec::new(), None),
    };
    Ok(Watched::Ended(Usage { parts, machine }))
}

/// Whether an agent said anything.
enum Heard {
    Something,
    Nothing,
}

/// Why a trial cannot go on.
enum Stopped {
    /// The laboratory says so.
    Lab(LabError),
    /// Something in the trial, in words.
    Trial(String),
}

impl From<LabError> for Stopped {
    fn from(error: LabError) -> Self {
        Stopped::Lab(error)
    }
}

/// Reads what the agents have to say, for at most about this long.
fn listen(
    agents: &mut [RunningAgent],
    patience: Duration,
    listener: &mut dyn Listener,
) -> Result<Heard, Stopped> {
    let mut heard = Heard::Nothing;
    let waiting = agents.iter().filter(|a| a.result.is_none()).count().max(1);
    let each = patience / waiting as u32;
    for agent in agents.iter_mut().filter(|agent| agent.result.is_none()) {
        let message = agent.agent.next(each)?;
        if message.is_some() {
            heard = Heard::Something;
        }
        match message {
            None | Some(AgentMessage::Hello { .. } | AgentMessage::Ready { .. }) => {}
            Some(AgentMessage::Sample(sample)) => {
                listener.sample(&agent.role.role, &sample);
                agent.samples.push(sample);
            }
            Some(AgentMessage::Result(result)) => agent.result = Some(*result),
            Some(AgentMessage::Failed { error }) => return Err(Stopped::Trial(error)),
        }
    }
    Ok(heard)
}

/// Length of the observed window, when the load's stop rule fixes it.
fn window_length(cell: &Cell) -> Option<Duration> {
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

/// Whether an error is the laboratory's own and not a part's: no later trial would fare better.
pub(crate) fn is_ours(error: &LabError) -> bool {
    matches!(
        error,
        LabError::KeeperDied { .. } | LabError::Keeper(_) | LabError::Io { .. }
    )
}

/// A trial that failed by an error of the laboratory; the run ends when it is the laboratory's own.
fn failed_by(bed: &mut dyn Bed, error: LabError) -> Result<Trial, ConductError> {
    if is_ours(&error) {
        return Err(error.into());
    }
    Ok(failed(bed, &error.to_string()))
}

/// A trial that could not go on; when a part has died, that is the reason.
fn failed(bed: &mut dyn Bed, reason: &str) -> Trial {
    match bed.deaths().into_iter().next() {
        Some(death) => died(death),
        None => Trial::Measured(Box::new(Measured::failed(reason.to_owned(), Vec::new()))),
    }
}

fn died(death: Death) -> Trial {
    let reason = format!("{} ended during the trial: {}", death.instance, death.how);
    Trial::Measured(Box::new(Measured::failed(reason, death.log_tail)))
}

/// What the agents' records were acknowledged of.
fn acknowledged(agents: &[RunningAgent]) -> Vec<Acknowledged> {
    let results = agents.iter().filter_map(|agent| agent.result.as_ref());
    results
        .flat_map(|result| result.acknowledged.clone())
        .collect()
}

/// Requests written per edge, over the whole life of the agents.
fn agents_sent(agents: &[RunningAgent]) -> Vec<Sent> {
    agents
        .iter()
        .filter_map(|agent| {
            agent.result.as_ref().map(|result| Sent {
                edge: agent.role.edge.clone(),
                role: agent.role.role.clone(),
                requests: result.requests_sent_total,
                by_request: result.by_request.clone(),
                connections: result.connections.opened,
                bytes: result.bytes_sent,
            })
        })
        .collect()
}

fn write_files(folder: &Path, agents: &[RunningAgent]) -> Result<(), ConductError> {
    let results = || agents.iter().filter_map(|agent| agent.result.as_ref());
    let latency = join_logs(results().map(|result| result.latency_hlog.as_str()));
    write_synced(&folder.join("latency.hlog"), latency.as_bytes())?;
    let lateness = join_logs(results().map(|result| result.lateness_hlog.as_str()));
    write_synced(&folder.join("lateness.hlog"), lateness.as_bytes())?;
    let rows: Vec<(String, Sample)> = agents
        .iter()
        .flat_map(|agent| {
            agent
                .samples
                .iter()
                .map(|sample| (agent.role.role.clone(), *sample))
        })
        .collect();
    write_synced(
        &folder.join("samples.csv"),
        samples::to_csv(&rows).as_bytes(),
    )
}

/// Several agents' logs as one: the head of the first, the intervals of all.
fn join_logs<'a>(logs: impl Iterator<Item = &'a str>) -> String {
    let mut joined = String::new();
    for (index, log) in logs.enumerate() {
        for line in log.lines() {
            // Comments that belong to an interval say what the format itself cannot.
            let head =
                line.starts_with('"') || (line.starts_with('#') && !line.starts_with("#[Censored"));
            if index == 0 || !head {
                joined.push_str(line);
                joined.push('\n');
            }
        }
    }
    joined
}
