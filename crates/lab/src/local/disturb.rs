//! What is done to a running bed on purpose: instances ended, started again, held; and everything brought back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::bed::LocalBed;
use super::{SharedKeeper, admin, lock};
use crate::LabError;
use crate::deed::Deed;
use crate::environment::Disturbance;
use crate::probe::{Life, Waited};
use crate::process;

/// A process that was sent its end is gone in this time, one that was asked to go as well.
const ENDS_WITHIN: Duration = Duration::from_secs(60);
/// Between looks.
const PAUSE: Duration = Duration::from_millis(2);

impl LocalBed {
    /// Does something to the bed, or begins to.
    pub(super) fn begin(&mut self, what: &Disturbance) -> Result<Deed, LabError> {
        match what {
            Disturbance::Kill(instance) => self.end(instance, libc::SIGKILL),
            Disturbance::Stop(instance) => self.end(instance, libc::SIGTERM),
            Disturbance::Start(instance) => self.start_again(instance),
            Disturbance::Pause(instance) => self.hold(instance),
            Disturbance::Resume(instance) => self.let_go(instance),
            Disturbance::Elect(step) => admin::elect(&self.placed, step),
            Disturbance::Reassign(step) => admin::reassign(&self.placed, step),
        }
    }

    /// Everything that was ended runs again and is ready, and nothing is held.
    pub(super) fn bring_back(&mut self) -> Result<(), LabError> {
        for instance in self.held.clone() {
            self.let_go(&instance)?;
        }
        let mut starting = Vec::new();
        for instance in self.ended.clone() {
            starting.push((instance.clone(), self.start_again(&instance)?));
        }
        for (instance, mut deed) in starting {
            // Its probe has a limit of its own, which is told with its name.
            let how = deed.wait(Duration::MAX).map(|ended| ended.how.clone());
            if let Some(Err(how)) = how {
                return Err(LabError::Died {
                    instance,
                    how,
                    log_tail: Vec::new(),
                });
            }
        }
        Ok(())
    }

    /// Sends an instance its end. It is no death then.
    fn end(&mut self, instance: &str, signal: i32) -> Result<Deed, LabError> {
        if self.pid_of(instance).is_none() {
            return Ok(Deed::done(Err(format!("{instance} does not run"))));
        }
        let kept = self.kept_name(instance);
        if let Err(error) = lock(&self.placed.keeper).signal(&kept, signal) {
            return Ok(Deed::done(Err(error.to_string())));
        }
        self.started.retain(|(name, _)| name != instance);
        self.held.remove(instance);
        self.ended.insert(instance.to_owned());
        let keeper = Arc::clone(&self.placed.keeper);
        let instance = instance.to_owned();
        Deed::by("end", move || ending(&keeper, &kept, &instance))
    }

    /// Starts an instance on what it left.
    fn start_again(&mut self, instance: &str) -> Result<Deed, LabError> {
        let rendered = &self.placed.rendered;
        let index = rendered.iter().position(|one| one.instance == instance);
        let Some(index) = index.filter(|_| self.ended.contains(instance)) else {
            return Ok(Deed::done(Err(format!("{instance} was not ended"))));
        };
        let kept = self.kept_name(instance);
        // Whoever was asked to end and has not yet does so now: there cannot be two of it.
        lock(&self.placed.keeper).stop(&kept, libc::SIGKILL, Duration::ZERO)?;
        self.launch(index)?;
        self.ended.remove(instance);
        let rendered = self.placed.rendered[index].clone();
        let door = self.door(index);
        let keeper = Arc::clone(&self.placed.keeper);
        let instance = instance.to_owned();
        Deed::by("start", move || {
            let mut gone = None;
            let mut life = || match lock(&keeper).exit_of(&kept) {
                Ok(None) => Life::Running,
                Ok(Some(exit)) => {
                    gone = Some(exit.how.to_string());
                    Life::Ended
                }
                Err(error) => {
                    gone = Some(error.to_string());
                    Life::Ended
                }
            };
            let waited = rendered.probe.wait(&door, rendered.ready_within, &mut life);
            match waited {
                Waited::Ready(after) => Ok(format!(
                    "{instance} was ready after {:.1} s",
                    after.as_secs_f64()
                )),
                Waited::Gone => Err(format!("{instance} ended: {}", gone.unwrap_or_default())),
                Waited::NotReady { waited, answer } => Err(format!(
                    "{instance} was not ready after {:.1} s ({answer})",
                    waited.as_secs_f64()
                )),
            }
        })
    }

    fn hold(&mut self, instance: &str) -> Result<Deed, LabError> {
        let held = self.signal_all(instance, libc::SIGSTOP);
        if held.is_ok() {
            self.held.insert(instance.to_owned());
        }
        Ok(Deed::done(held.map(|()| format!("{instance} is held"))))
    }

    fn let_go(&mut self, instance: &str) -> Result<Deed, LabError> {
        let goes = self.signal_all(instance, libc::SIGCONT);
        self.held.remove(instance);
        Ok(Deed::done(goes.map(|()| format!("{instance} goes on"))))
    }

    /// Sends a signal to the process of an instance, or to the agents of one.
    fn signal_all(&self, instance: &str, signal: i32) -> Result<(), String> {
        let agents = self.living_agents(instance).into_iter();
        let mut kept: Vec<String> = agents.map(|(kept, _)| kept.clone()).collect();
        if self.pid_of(instance).is_some() {
            kept.push(self.kept_name(instance));
        }
        if kept.is_empty() {
            return Err(format!("{instance} does not run"));
        }
        for kept in kept {
            let sent = lock(&self.placed.keeper).signal(&kept, signal);
            sent.map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// Waits for the end of a process.
fn ending(keeper: &SharedKeeper, kept: &str, instance: &str) -> Result<String, String> {
    let until = Instant::now() + ENDS_WITHIN;
    loop {
        let exit = lock(keeper).exit_of(kept);
        match exit.map_err(|error| error.to_string())? {
            // How is no riddle: it was sent the signal.
            Some(_) => return Ok(format!("{instance} ended")),
            None if Instant::now() >= until => {
                let seconds = ENDS_WITHIN.as_secs();
                return Err(format!("{instance} had not ended after {seconds} s"));
            }
            None => process::pause(PAUSE),
        }
    }
}
