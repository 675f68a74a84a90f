//! The agents of one trial: started, read until they report, their files written.

use std::path::Path;
use std::time::Duration;

use tare_lab::environment::{Agent, TestBed};
use tare_record::agent::{AgentMessage, LoadResult, Sample};
use tare_record::load::{Endpoint, Shard};

use crate::agent_plans::AgentPlans;
use crate::disk::write_synced;
use crate::error::{ConductError, TrialError};
use crate::event::TrialObserver;
use crate::samples;

/// The agents of a trial.
#[derive(Default)]
pub(crate) struct Agents {
    all: Vec<RunningAgent>,
}

/// A running agent with the messages received from it.
struct RunningAgent {
    role: String,
    endpoint: Endpoint,
    agent: Box<dyn Agent>,
    samples: Vec<Sample>,
    result: Option<LoadResult>,
}

/// Whether any message arrived.
pub(crate) enum Received {
    Something,
    Nothing,
}

impl Agents {
    /// Starts the agents of all roles. Their load begins at `start_at_unix_us` of the plans.
    pub fn start(agent_plans: &AgentPlans<'_>, bed: &mut dyn TestBed) -> Result<Self, TrialError> {
        let (cell, (_, seed)) = (agent_plans.cell, agent_plans.trial);
        let mut agents = Agents::default();
        let mut writer = 0;
        for role in &cell.load {
            let endpoint = bed.endpoint(&role.edge, &role.instance)?;
            let parts = role.agents.max(1);
            for part in 0..parts {
                let mut plan = agent_plans.of(
                    role,
                    &endpoint,
                    Shard {
                        count: parts,
                        index: part,
                    },
                );
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

    /// Whether all agents have sent their results.
    pub fn are_done(&self) -> bool {
        self.all.iter().all(|agent| agent.result.is_some())
    }

    /// Asks all agents to end.
    pub fn interrupt(&mut self) {
        for agent in &mut self.all {
            // The agent may have exited by itself; otherwise stopping the test bed ends it.
            let _ = agent.agent.interrupt();
        }
    }

    /// Reads one message of each busy agent, waiting about `poll_timeout` in total.
    pub fn receive(
        &mut self,
        poll_timeout: Duration,
        observer: &mut dyn TrialObserver,
    ) -> Result<Received, TrialError> {
        let mut received = Received::Nothing;
        let busy = self.all.iter_mut().filter(|agent| agent.result.is_none());
        let busy: Vec<&mut RunningAgent> = busy.collect();
        let each = poll_timeout / busy.len().max(1) as u32;
        for agent in busy {
            let message = agent.agent.next(each)?;
            if message.is_some() {
                received = Received::Something;
            }
            match message {
                None | Some(AgentMessage::Hello { .. } | AgentMessage::Ready { .. }) => {}
                Some(AgentMessage::Sample(sample)) => {
                    observer.sample(&agent.role, &sample);
                    agent.samples.push(sample);
                }
                Some(AgentMessage::Result(result)) => agent.result = Some(*result),
                Some(AgentMessage::Failed { error }) => return Err(TrialError::Failed(error)),
            }
        }
        Ok(received)
    }

    /// Addresses that the agents send to.
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

    /// The results of the agents, without the histogram logs.
    pub fn into_results(self) -> Vec<LoadResult> {
        let results = self.all.into_iter().filter_map(|agent| agent.result);
        results.map(LoadResult::without_logs).collect()
    }
}

/// Joins the histogram logs of several agents: the header of the first, the intervals of all.
fn join_logs<'a>(logs: impl Iterator<Item = &'a str>) -> String {
    let mut joined = String::new();
    for (index, log) in logs.enumerate() {
        for line in log.lines() {
            // `#[Censored` comments belong to an interval: they carry what the format itself cannot.
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
