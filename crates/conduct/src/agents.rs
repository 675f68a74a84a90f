//! The agents of one trial: started with their orders, listened to, and what they leave.

use std::path::Path;
use std::time::Duration;

use tare_lab::environment::{Agent, Bed};
use tare_schema::agent::{AgentMessage, LoadResult, Sample};
use tare_schema::load::{Deal, Endpoint};

use crate::disk::write_synced;
use crate::error::{ConductError, Stopped};
use crate::event::Listener;
use crate::orders::Orders;
use crate::samples;

/// The agents of a trial.
#[derive(Default)]
pub(crate) struct Agents {
    all: Vec<RunningAgent>,
}

/// An agent with what it said.
struct RunningAgent {
    role: String,
    endpoint: Endpoint,
    agent: Box<dyn Agent>,
    samples: Vec<Sample>,
    result: Option<LoadResult>,
}

/// Whether an agent said anything.
pub(crate) enum Heard {
    Something,
    Nothing,
}

impl Agents {
    /// Starts those of all roles. They begin at the moment that the orders say.
    pub fn start(orders: &Orders<'_>, bed: &mut dyn Bed) -> Result<Self, Stopped> {
        let (cell, (_, seed)) = (orders.cell, orders.trial);
        let mut agents = Agents::default();
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
                agents.all.push(RunningAgent {
                    agent: bed.start_agent(&role.instance, &plan)?,
                    role: role.role.clone(),
                    endpoint: endpoint.clone(),
                    samples: Vec::new(),
                    result: None,
                });
            }
        }
        Ok(agents)
    }

    /// Whether all have reported.
    pub fn are_done(&self) -> bool {
        self.all.iter().all(|agent| agent.result.is_some())
    }

    /// Asks all of them to end.
    pub fn interrupt(&mut self) {
        for agent in &mut self.all {
            // It may have ended by itself; either way it is gone with the bed.
            let _ = agent.agent.interrupt();
        }
    }

    /// Reads what they have to say, for at most about this long.
    pub fn listen(
        &mut self,
        patience: Duration,
        listener: &mut dyn Listener,
    ) -> Result<Heard, Stopped> {
        let mut heard = Heard::Nothing;
        let busy = self.all.iter_mut().filter(|agent| agent.result.is_none());
        let busy: Vec<&mut RunningAgent> = busy.collect();
        let each = patience / busy.len().max(1) as u32;
        for agent in busy {
            let message = agent.agent.next(each)?;
            if message.is_some() {
                heard = Heard::Something;
            }
            match message {
                None | Some(AgentMessage::Hello { .. } | AgentMessage::Ready { .. }) => {}
                Some(AgentMessage::Sample(sample)) => {
                    listener.sample(&agent.role, &sample);
                    agent.samples.push(sample);
                }
                Some(AgentMessage::Result(result)) => agent.result = Some(*result),
                Some(AgentMessage::Failed { error }) => return Err(Stopped::Failed(error)),
            }
        }
        Ok(heard)
    }

    /// Addresses that they send to.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        let all = self.all.iter();
        all.map(|agent| agent.endpoint.clone()).collect()
    }

    /// Writes the histograms and the samples into the trial's folder.
    pub fn write_files(&self, folder: &Path) -> Result<(), ConductError> {
        let logs = |of: fn(&LoadResult) -> &str| {
            let results = self.all.iter().filter_map(|agent| agent.result.as_ref());
            join_logs(results.map(of))
        };
        let latency = logs(|result| &result.latency_hlog);
        write_synced(&folder.join("latency.hlog"), latency.as_bytes())?;
        let lateness = logs(|result| &result.lateness_hlog);
        write_synced(&folder.join("lateness.hlog"), lateness.as_bytes())?;
        let samples = self.all.iter().flat_map(|agent| {
            let of_agent = agent.samples.iter();
            of_agent.map(|sample| (agent.role.clone(), *sample))
        });
        let samples = samples::to_csv(&samples.collect::<Vec<_>>());
        write_synced(&folder.join("samples.csv"), samples.as_bytes())
    }

    /// What they measured, without the histograms.
    pub fn into_results(self) -> Vec<LoadResult> {
        let results = self.all.into_iter().filter_map(|agent| agent.result);
        results.map(LoadResult::without_logs).collect()
    }
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
