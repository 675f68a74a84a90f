//! Fault injection during a trial: starts faults on time, waits for them, and records when they happened.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tare_lab::LabError;
use tare_lab::environment::{FaultAction, TestBed};
use tare_lab::fault::FaultHandle;
use tare_schema::plan::{Act, Cell, TopicOf};
use tare_schema::record::EventRecord;
use tare_stats::random::Random;

/// Longest wait after the load for faults that have not finished; their own time limits are shorter.
const WAIT_MAX: Duration = Duration::from_secs(90);

/// The faults of one trial.
pub(crate) struct Faults<'a> {
    cell: &'a Cell,
    trial: u32,
    random: Random,
    window_start: Instant,
    started: Vec<StartedEvent>,
    /// Instances that were killed or stopped and have not been started again.
    ended: BTreeSet<String>,
    /// Instances that are paused.
    paused: BTreeSet<String>,
    /// Instances whose process was killed or stopped in this trial: their counters start again from 0.
    restarted: BTreeSet<String>,
}

/// An event that has been started.
struct StartedEvent {
    at_ns: u64,
    act: &'static str,
    to: Vec<String>,
    began: Instant,
    actions: Vec<FaultHandle>,
}

impl<'a> Faults<'a> {
    /// The faults of a trial; random choices come from its seed.
    pub fn of(cell: &'a Cell, (trial, seed): (u32, u64)) -> Self {
        Self {
            cell,
            trial,
            random: Random::for_purpose(seed, "events"),
            window_start: Instant::now(),
            started: Vec::new(),
            ended: BTreeSet::new(),
            paused: BTreeSet::new(),
            restarted: BTreeSet::new(),
        }
    }

    /// Sets the start of the window, from which the times of events count.
    pub fn set_window_start(&mut self, at: Instant) {
        self.window_start = at;
    }

    /// When the next event is due.
    pub fn next_at(&self) -> Option<Instant> {
        let next = self.cell.events.get(self.started.len())?;
        Some(self.window_start + Duration::from_nanos(next.at_ns))
    }

    /// Starts the events that are due, and polls those under way.
    ///
    /// # Errors
    /// When the environment itself fails.
    pub fn advance(&mut self, bed: &mut dyn TestBed) -> Result<(), LabError> {
        while self.next_at().is_some_and(|at| at <= Instant::now()) {
            let event = &self.cell.events[self.started.len()];
            let what = self.choose(&event.act);
            let began = Instant::now();
            let mut actions = Vec::new();
            for one in &what {
                actions.push(bed.inject_fault(one)?);
            }
            self.started.push(StartedEvent {
                at_ns: event.at_ns,
                act: event.act.word(),
                to: what.iter().map(target_name).collect(),
                began,
                actions,
            });
        }
        for deed in self.started.iter_mut().flat_map(|one| &mut one.actions) {
            let _ = deed.poll();
        }
        Ok(())
    }

    /// The faults of an action: kill, stop and pause draw a running instance, start and resume take all that are down or paused.
    fn choose(&mut self, act: &Act) -> Vec<FaultAction> {
        let down = |set: &BTreeSet<String>, of: &[String]| -> Vec<String> {
            of.iter()
                .filter(|one| set.contains(*one))
                .cloned()
                .collect()
        };
        match act {
            Act::Kill { of } => self.draw(of).map(|one| self.end(one, FaultAction::Kill)),
            Act::Stop { of } => self.draw(of).map(|one| self.end(one, FaultAction::Stop)),
            Act::Pause { of } => self.draw(of).map(|one| {
                self.paused.insert(one.clone());
                FaultAction::Pause(one)
            }),
            Act::Start { of } => {
                let all = down(&self.ended, of);
                self.ended.retain(|one| !all.contains(one));
                return all.into_iter().map(FaultAction::Start).collect();
            }
            Act::Resume { of } => {
                let all = down(&self.paused, of);
                self.paused.retain(|one| !all.contains(one));
                return all.into_iter().map(FaultAction::Resume).collect();
            }
            Act::Elect { step } => self.topic(step).map(FaultAction::Elect),
            Act::Reassign { step } => self.topic(step).map(FaultAction::Reassign),
        }
        .into_iter()
        .collect()
    }

    fn end(&mut self, one: String, how: fn(String) -> FaultAction) -> FaultAction {
        self.paused.remove(&one);
        self.ended.insert(one.clone());
        self.restarted.insert(one.clone());
        how(one)
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

    fn topic(&self, step: &str) -> Option<TopicOf> {
        let mut topics = self.cell.prepare.iter().filter_map(TopicOf::of);
        let topic = topics.find(|topic| topic.step == step)?;
        Some(topic.of_trial(self.trial))
    }

    /// Waits until all faults have finished, for at most [`WAIT_MAX`].
    pub fn wait_all(&mut self) {
        let until = Instant::now() + WAIT_MAX;
        for deed in self.started.iter_mut().flat_map(|one| &mut one.actions) {
            let _ = deed.wait(until.saturating_duration_since(Instant::now()));
        }
    }

    /// Instances whose counters start again from 0.
    pub fn restarted(&self) -> &BTreeSet<String> {
        &self.restarted
    }

    /// The records of all events of the plan, those that were never started included.
    pub fn records(mut self) -> Vec<EventRecord> {
        let start = self.window_start;
        let since = |at: Instant| u64::try_from((at - start).as_nanos()).unwrap_or(u64::MAX);
        let mut all = Vec::new();
        for one in &mut self.started {
            let no_target = one.actions.is_empty();
            let mut words = Vec::new();
            let mut done_ns = Some(since(one.began));
            let mut failed = no_target;
            for deed in &mut one.actions {
                match deed.poll() {
                    Some(ended) => {
                        done_ns = done_ns.max(Some(since(ended.at)));
                        failed |= ended.how.is_err();
                        words.push(ended.how.clone().unwrap_or_else(|why| why));
                    }
                    None => {
                        failed = true;
                        words.push(String::from("it did not come to an end"));
                    }
                }
            }
            if no_target {
                words.push(String::from("there was nobody to do it to"));
            }
            all.push(EventRecord {
                at_ns: one.at_ns,
                began_ns: Some(since(one.began)),
                done_ns: done_ns.filter(|_| !failed),
                act: one.act.to_owned(),
                to: one.to.clone(),
                told: words.join("; "),
                failed,
            });
        }
        let never = self.cell.events.iter().skip(all.len());
        all.extend(never.map(|event| EventRecord {
            at_ns: event.at_ns,
            began_ns: None,
            done_ns: None,
            act: event.act.word().to_owned(),
            to: Vec::new(),
            told: String::from("the load was over before"),
            failed: true,
        }));
        all
    }
}

/// Name of the instance or topic that a fault applies to.
fn target_name(what: &FaultAction) -> String {
    match what {
        FaultAction::Kill(one)
        | FaultAction::Stop(one)
        | FaultAction::Start(one)
        | FaultAction::Pause(one)
        | FaultAction::Resume(one) => one.clone(),
        FaultAction::Elect(topic) | FaultAction::Reassign(topic) => topic.topic.clone(),
    }
}
