//! Fault injection during a trial: starts faults on time, waits for them, and records when they happened.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tare_lab::LabError;
use tare_lab::environment::{FaultAction, TestBed};
use tare_lab::fault::FaultHandle;
use tare_record::plan::{Cell, FaultKind, PreparedTopic};
use tare_record::record::FaultRecord;
use tare_stats::random::Random;

/// Longest wait after the load for faults that have not finished; their own time limits are shorter.
const WAIT_MAX: Duration = Duration::from_secs(90);

/// The faults of one trial.
pub(crate) struct Faults<'a> {
    cell: &'a Cell,
    trial: u32,
    random: Random,
    window_start: Instant,
    started: Vec<StartedFault>,
    /// Instances that were killed or stopped and have not been started again.
    ended: BTreeSet<String>,
    /// Instances that are paused.
    paused: BTreeSet<String>,
    /// Instances whose process was killed or stopped in this trial: their counters start again from 0.
    restarted: BTreeSet<String>,
}

struct StartedFault {
    at_ns: u64,
    action: &'static str,
    subjects: Vec<String>,
    began: Instant,
    actions: Vec<FaultHandle>,
}

impl<'a> Faults<'a> {
    /// The faults of a trial; random choices come from its seed.
    pub fn of(cell: &'a Cell, (trial, seed): (u32, u64)) -> Self {
        Self {
            cell,
            trial,
            random: Random::for_purpose(seed, "faults"),
            window_start: Instant::now(),
            started: Vec::new(),
            ended: BTreeSet::new(),
            paused: BTreeSet::new(),
            restarted: BTreeSet::new(),
        }
    }

    /// Sets the start of the window, from which the times of faults count.
    pub fn set_window_start(&mut self, at: Instant) {
        self.window_start = at;
    }

    /// When the next fault is due.
    pub fn next_at(&self) -> Option<Instant> {
        let next = self.cell.faults.get(self.started.len())?;
        Some(self.window_start + Duration::from_nanos(next.at_ns))
    }

    /// Starts the faults that are due, and polls those under way.
    /// Fails when the environment itself fails.
    pub fn advance(&mut self, bed: &mut dyn TestBed) -> Result<(), LabError> {
        while self.next_at().is_some_and(|at| at <= Instant::now()) {
            let fault = &self.cell.faults[self.started.len()];
            let began = Instant::now();
            let (subjects, actions) = self.inject(&fault.action, bed)?.into_iter().unzip();
            self.started.push(StartedFault {
                at_ns: fault.at_ns,
                action: fault.action.word(),
                subjects,
                began,
                actions,
            });
        }
        for action in self.started.iter_mut().flat_map(|one| &mut one.actions) {
            let _ = action.poll();
        }
        Ok(())
    }

    /// Begins a fault; returns the instances or the topic that it applies to.
    fn inject(
        &mut self,
        fault: &FaultKind,
        bed: &mut dyn TestBed,
    ) -> Result<Vec<(String, FaultHandle)>, LabError> {
        let (action, of) = match fault {
            FaultKind::Kill { of } => (FaultAction::Kill, of),
            FaultKind::Stop { of } => (FaultAction::Stop, of),
            FaultKind::Start { of } => (FaultAction::Start, of),
            FaultKind::Pause { of } => (FaultAction::Pause, of),
            FaultKind::Resume { of } => (FaultAction::Resume, of),
            FaultKind::Change { of } => (FaultAction::Change, of),
            FaultKind::Elect { step } | FaultKind::Reassign { step } => {
                let Some(topic) = self.topic(step) else {
                    return Ok(Vec::new());
                };
                let topics = bed.topics()?;
                let handle = match fault {
                    FaultKind::Reassign { .. } => topics.reassign(&topic)?,
                    _ => topics.elect_preferred_leaders(&topic)?,
                };
                return Ok(vec![(topic.topic, handle)]);
            }
        };
        let instances = self.choose(action, of).into_iter();
        instances
            .map(|one| {
                let handle = bed.inject_fault(&one, action)?;
                Ok((one, handle))
            })
            .collect()
    }

    /// The instances of a fault: kill, stop and pause draw a running one, start and resume take all that are down or paused, change takes all.
    fn choose(&mut self, action: FaultAction, of: &[String]) -> Vec<String> {
        let affected = match action {
            FaultAction::Start => &mut self.ended,
            FaultAction::Resume => &mut self.paused,
            // One that is down says so.
            FaultAction::Change => return of.to_vec(),
            FaultAction::Kill | FaultAction::Stop | FaultAction::Pause => {
                let drawn = self.draw(of);
                if let Some(one) = &drawn {
                    if action == FaultAction::Pause {
                        self.paused.insert(one.clone());
                    } else {
                        self.paused.remove(one);
                        self.ended.insert(one.clone());
                        self.restarted.insert(one.clone());
                    }
                }
                return drawn.into_iter().collect();
            }
        };
        let chosen = of.iter().filter(|one| affected.remove(*one));
        chosen.cloned().collect()
    }

    /// Draws one of the instances that are neither down nor paused.
    fn draw(&mut self, of: &[String]) -> Option<String> {
        let up = of
            .iter()
            .filter(|one| !self.ended.contains(*one) && !self.paused.contains(*one));
        let up: Vec<&String> = up.collect();
        let at = usize::try_from(self.random.below(up.len().max(1) as u64)).ok()?;
        up.get(at).map(|one| (*one).clone())
    }

    fn topic(&self, step: &str) -> Option<PreparedTopic> {
        let mut topics = self.cell.prepare.iter().filter_map(PreparedTopic::of);
        let topic = topics.find(|topic| topic.step == step)?;
        Some(topic.of_trial(self.trial))
    }

    /// Waits until all faults have finished, for at most [`WAIT_MAX`].
    pub fn wait_all(&mut self) {
        let until = Instant::now() + WAIT_MAX;
        for action in self.started.iter_mut().flat_map(|one| &mut one.actions) {
            let _ = action.wait(until.saturating_duration_since(Instant::now()));
        }
    }

    /// Instances whose counters start again from 0.
    pub fn restarted(&self) -> &BTreeSet<String> {
        &self.restarted
    }

    /// The records of all events of the plan, those that were never started included.
    pub fn records(mut self) -> Vec<FaultRecord> {
        let start = self.window_start;
        let since = |at: Instant| u64::try_from((at - start).as_nanos()).unwrap_or(u64::MAX);
        let mut all = Vec::new();
        for one in &mut self.started {
            let no_target = one.actions.is_empty();
            let mut words = Vec::new();
            let mut done_ns = Some(since(one.began));
            let mut failed = no_target;
            for action in &mut one.actions {
                match action.poll() {
                    Some(ended) => {
                        done_ns = done_ns.max(Some(since(ended.at)));
                        failed |= ended.how.is_err();
                        words.push(ended.how.clone().unwrap_or_else(|why| why));
                    }
                    None => {
                        failed = true;
                        words.push(String::from("it did not finish in time"));
                    }
                }
            }
            if no_target {
                words.push(String::from("no such instance was running"));
            }
            all.push(FaultRecord {
                at_ns: one.at_ns,
                began_ns: Some(since(one.began)),
                done_ns: done_ns.filter(|_| !failed),
                action: one.action.to_owned(),
                subjects: one.subjects.clone(),
                result: words.join("; "),
                failed,
            });
        }
        let never = self.cell.faults.iter().skip(all.len());
        all.extend(never.map(|fault| FaultRecord {
            at_ns: fault.at_ns,
            began_ns: None,
            done_ns: None,
            action: fault.action.word().to_owned(),
            subjects: Vec::new(),
            result: String::from("not started: the load had ended"),
            failed: true,
        }));
        all
    }
}
