//! What is done to a bed during a trial: begun on time, waited for, and told with the times at which it happened.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tare_lab::LabError;
use tare_lab::deed::Deed;
use tare_lab::environment::{Bed, Disturbance};
use tare_schema::plan::{Act, Cell, TopicOf};
use tare_schema::record::EventRecord;
use tare_stats::random::Random;

/// Longest wait for what is still under way when the load is over; deeds have limits of their own below that.
const WITHIN: Duration = Duration::from_secs(90);

/// The disturbances of one trial.
pub(crate) struct Disturbances<'a> {
    cell: &'a Cell,
    trial: u32,
    random: Random,
    window_start: Instant,
    begun: Vec<Begun>,
    /// Instances that were ended and not started again.
    ended: BTreeSet<String>,
    /// Instances that are held.
    held: BTreeSet<String>,
    /// Instances whose processes are not the ones that began the trial.
    renewed: BTreeSet<String>,
}

/// An event that has begun.
struct Begun {
    at_ns: u64,
    act: &'static str,
    to: Vec<String>,
    began: Instant,
    deeds: Vec<Deed>,
}

impl<'a> Disturbances<'a> {
    /// Those of a trial, whose draws come from its seed.
    pub fn of(cell: &'a Cell, (trial, seed): (u32, u64)) -> Self {
        Self {
            cell,
            trial,
            random: Random::for_purpose(seed, "events"),
            window_start: Instant::now(),
            begun: Vec::new(),
            ended: BTreeSet::new(),
            held: BTreeSet::new(),
            renewed: BTreeSet::new(),
        }
    }

    /// The window starts then.
    pub fn window_starts(&mut self, at: Instant) {
        self.window_start = at;
    }

    /// When the next one is to be begun.
    pub fn next_at(&self) -> Option<Instant> {
        let next = self.cell.events.get(self.begun.len())?;
        Some(self.window_start + Duration::from_nanos(next.at_ns))
    }

    /// Begins what is due, and looks how the others are getting on.
    ///
    /// # Errors
    /// When the laboratory itself cannot go on.
    pub fn advance(&mut self, bed: &mut dyn Bed) -> Result<(), LabError> {
        while self.next_at().is_some_and(|at| at <= Instant::now()) {
            let event = &self.cell.events[self.begun.len()];
            let what = self.choose(&event.act);
            let began = Instant::now();
            let mut deeds = Vec::new();
            for one in &what {
                deeds.push(bed.disturb(one)?);
            }
            self.begun.push(Begun {
                at_ns: event.at_ns,
                act: event.act.word(),
                to: what.iter().map(subject).collect(),
                began,
                deeds,
            });
        }
        for deed in self.begun.iter_mut().flat_map(|one| &mut one.deeds) {
            let _ = deed.poll();
        }
        Ok(())
    }

    /// What an act comes to in this moment.
    fn choose(&mut self, act: &Act) -> Vec<Disturbance> {
        let down = |set: &BTreeSet<String>, of: &[String]| -> Vec<String> {
            of.iter()
                .filter(|one| set.contains(*one))
                .cloned()
                .collect()
        };
        match act {
            Act::Kill { of } => self.draw(of).map(|one| self.end(one, Disturbance::Kill)),
            Act::Stop { of } => self.draw(of).map(|one| self.end(one, Disturbance::Stop)),
            Act::Pause { of } => self.draw(of).map(|one| {
                self.held.insert(one.clone());
                Disturbance::Pause(one)
            }),
            Act::Start { of } => {
                let all = down(&self.ended, of);
                self.ended.retain(|one| !all.contains(one));
                return all.into_iter().map(Disturbance::Start).collect();
            }
            Act::Resume { of } => {
                let all = down(&self.held, of);
                self.held.retain(|one| !all.contains(one));
                return all.into_iter().map(Disturbance::Resume).collect();
            }
            Act::Elect { step } => self.topic(step).map(Disturbance::Elect),
            Act::Reassign { step } => self.topic(step).map(Disturbance::Reassign),
        }
        .into_iter()
        .collect()
    }

    fn end(&mut self, one: String, how: fn(String) -> Disturbance) -> Disturbance {
        self.held.remove(&one);
        self.ended.insert(one.clone());
        self.renewed.insert(one.clone());
        how(one)
    }

    /// One of those that are up and go on.
    fn draw(&mut self, of: &[String]) -> Option<String> {
        let up = of
            .iter()
            .filter(|one| !self.ended.contains(*one) && !self.held.contains(*one));
        let up: Vec<&String> = up.collect();
        let at = usize::try_from(self.random.below(up.len().max(1) as u64)).ok()?;
        up.get(at).map(|one| (*one).clone())
    }

    fn topic(&self, step: &str) -> Option<TopicOf> {
        let mut topics = self.cell.prepare.iter().filter_map(TopicOf::of);
        let topic = topics.find(|topic| topic.step == step)?;
        Some(topic.of_trial(self.trial))
    }

    /// Waits for what is under way.
    pub fn settle(&mut self) {
        let until = Instant::now() + WITHIN;
        for deed in self.begun.iter_mut().flat_map(|one| &mut one.deeds) {
            let _ = deed.wait(until.saturating_duration_since(Instant::now()));
        }
    }

    /// Instances that count from the beginning again.
    pub fn renewed(&self) -> &BTreeSet<String> {
        &self.renewed
    }

    /// What happened, and when.
    pub fn records(mut self) -> Vec<EventRecord> {
        let start = self.window_start;
        let since = |at: Instant| u64::try_from((at - start).as_nanos()).unwrap_or(u64::MAX);
        let mut all = Vec::new();
        for one in &mut self.begun {
            let nobody = one.deeds.is_empty();
            let mut words = Vec::new();
            let mut done_ns = Some(since(one.began));
            let mut failed = nobody;
            for deed in &mut one.deeds {
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
            if nobody {
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

/// What is disturbed, by its name.
fn subject(what: &Disturbance) -> String {
    match what {
        Disturbance::Kill(one)
        | Disturbance::Stop(one)
        | Disturbance::Start(one)
        | Disturbance::Pause(one)
        | Disturbance::Resume(one) => one.clone(),
        Disturbance::Elect(topic) | Disturbance::Reassign(topic) => topic.topic.clone(),
    }
}
