//! Faults in a running test bed: instances killed, stopped, restarted, paused; and recovery from them.

use std::sync::Arc;
use std::time::Duration;

use super::lock;
use super::ready::wait_until_ready;
use super::test_bed::LocalTestBed;
use crate::LabError;
use crate::fault::FaultHandle;
use crate::host::SharedHost;
use crate::keeper::{self, ExitStatus};
use crate::probe::Readiness;

/// Timeout for a process to exit after SIGKILL or SIGTERM.
const ENDS_WITHIN: Duration = Duration::from_secs(60);

impl LocalTestBed {
    /// Pauses all running instances.
    pub(super) fn pause_all(&mut self) -> Result<(), LabError> {
        let started = self.started.iter().map(|(name, _)| name);
        // Injected proxies cannot be paused: they are processes of another user, in another container.
        let running = started.filter(|name| !self.is_injected(name));
        let running: Vec<String> = running.cloned().collect();
        for instance in running {
            lock(&self.placed.host).signal(&self.keeper_name(&instance), libc::SIGSTOP)?;
            self.paused.insert(instance);
        }
        Ok(())
    }

    /// Resumes all paused instances; returns when they are ready: their timeouts ran on, so members of a cluster may have to elect
    /// a leader again.
    pub(super) fn resume_all(
        &mut self,
        waiting: &mut dyn FnMut(&str, Duration),
    ) -> Result<(), LabError> {
        let paused = std::mem::take(&mut self.paused);
        for instance in &paused {
            lock(&self.placed.host).signal(&self.keeper_name(instance), libc::SIGCONT)?;
        }
        for index in 0..self.placed.rendered.len() {
            if paused.contains(&self.placed.rendered[index].instance) {
                self.wait_ready(index, waiting)?;
            }
        }
        Ok(())
    }

    /// Resumes all paused instances and restarts all stopped ones; returns when they are ready.
    pub(super) fn recover_all(&mut self) -> Result<(), LabError> {
        self.resume_all(&mut |_, _| {})?;
        let mut starting = Vec::new();
        for instance in self.ended.clone() {
            starting.push((instance.clone(), self.restart(&instance)?));
        }
        for (instance, mut fault) in starting {
            // No timeout here: the probe has one, and its error names the instance.
            let how = fault.wait(Duration::MAX).map(|ended| ended.how.clone());
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

    /// Sends SIGKILL or SIGTERM to an instance; its exit is then not unexpected.
    pub(super) fn end(&mut self, instance: &str, signal: i32) -> Result<FaultHandle, LabError> {
        if self.pid_of(instance).is_none() {
            return Ok(FaultHandle::done(Err(format!("{instance} does not run"))));
        }
        let kept = self.keeper_name(instance);
        if let Err(error) = lock(&self.placed.host).signal(&kept, signal) {
            return Ok(FaultHandle::done(Err(error.to_string())));
        }
        self.started.retain(|(name, _)| name != instance);
        self.paused.remove(instance);
        self.ended.insert(instance.to_owned());
        let keeper = Arc::clone(&self.placed.host);
        let instance = instance.to_owned();
        FaultHandle::spawn("end", move || wait_for_end(&keeper, &kept, &instance))
    }

    /// Restarts an instance on the data it left.
    pub(super) fn restart(&mut self, instance: &str) -> Result<FaultHandle, LabError> {
        let rendered = &self.placed.rendered;
        let index = rendered.iter().position(|one| one.instance == instance);
        let Some(index) = index.filter(|_| self.ended.contains(instance)) else {
            return Ok(FaultHandle::done(Err(format!("{instance} was not ended"))));
        };
        let kept = self.keeper_name(instance);
        // A process that has not exited yet is killed now: there cannot be two of it.
        lock(&self.placed.host).stop(&kept, libc::SIGKILL, Duration::ZERO)?;
        self.launch(index)?;
        self.ended.remove(instance);
        let rendered = self.placed.rendered[index].clone();
        let connector = self.connector(index);
        let keeper = Arc::clone(&self.placed.host);
        let instance = instance.to_owned();
        FaultHandle::spawn("start", move || {
            let waited = wait_until_ready((&keeper, &kept), &rendered, &connector, &mut || ());
            let (waited, exit) = waited.map_err(|error| error.to_string())?;
            match waited {
                Readiness::Ready(after) => Ok(format!(
                    "{instance} was ready after {:.1} s",
                    after.as_secs_f64()
                )),
                Readiness::Gone => {
                    let how = exit.map(|exit| exit.how.to_string()).unwrap_or_default();
                    Err(format!("{instance} ended: {how}"))
                }
                Readiness::NotReady { waited, answer } => Err(format!(
                    "{instance} was not ready after {:.1} s ({answer})",
                    waited.as_secs_f64()
                )),
            }
        })
    }

    pub(super) fn pause(&mut self, instance: &str) -> Result<FaultHandle, LabError> {
        let paused = self.signal_all(instance, libc::SIGSTOP);
        if paused.is_ok() {
            self.paused.insert(instance.to_owned());
        }
        Ok(FaultHandle::done(
            paused.map(|()| format!("{instance} paused")),
        ))
    }

    pub(super) fn resume(&mut self, instance: &str) -> Result<FaultHandle, LabError> {
        let resumed = self.signal_all(instance, libc::SIGCONT);
        self.paused.remove(instance);
        Ok(FaultHandle::done(
            resumed.map(|()| format!("{instance} resumed")),
        ))
    }

    /// Runs the command of an instance that changes its configuration.
    pub(super) fn change(&mut self, instance: &str) -> Result<FaultHandle, LabError> {
        if self.pid_of(instance).is_none() {
            return Ok(FaultHandle::done(Err(format!("{instance} does not run"))));
        }
        let rendered = &self.placed.rendered;
        let index = rendered.iter().position(|one| one.instance == instance);
        let found = index.and_then(|index| Some((index, rendered[index].change.clone()?)));
        let Some((index, step)) = found else {
            let why = format!("the target of {instance} has no command `change`");
            return Ok(FaultHandle::done(Err(why)));
        };
        self.changes += 1;
        let log = format!("change-{}.log", self.changes);
        let what = format!("{instance} (change {})", self.changes);
        let spawn = self.spawn_step(&what, index, &step, &log);
        lock(&self.placed.host).spawn(&spawn)?;
        let keeper = Arc::clone(&self.placed.host);
        let (instance, kept) = (instance.to_owned(), spawn.name);
        FaultHandle::spawn("change", move || {
            let exit = keeper::wait_for_exit(&keeper, &kept, step.timeout.0);
            let stopped = lock(&keeper).stop(&kept, libc::SIGKILL, Duration::ZERO);
            let exit = exit.map_err(|error| error.to_string())?;
            stopped.map_err(|error| error.to_string())?;
            let Some(exit) = exit else {
                let seconds = step.timeout.0.as_secs();
                return Err(format!(
                    "the change of {instance} had not ended after {seconds} s"
                ));
            };
            let last = exit.tail.last().cloned().unwrap_or_default();
            match exit.how {
                ExitStatus::Code(0) => Ok(format!("{instance}: {last}")),
                how => Err(format!("{instance}: {last} ({how})")),
            }
        })
    }

    /// Sends a signal to the process of an instance, or to the agents of one.
    fn signal_all(&self, instance: &str, signal: i32) -> Result<(), String> {
        let agents = self.living_agents(instance).into_iter();
        let mut kept: Vec<String> = agents.map(|agent| agent.name.clone()).collect();
        if self.pid_of(instance).is_some() {
            kept.push(self.keeper_name(instance));
        }
        if kept.is_empty() {
            return Err(format!("{instance} does not run"));
        }
        for kept in kept {
            let sent = lock(&self.placed.host).signal(&kept, signal);
            sent.map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// Waits until a process exits.
fn wait_for_end(keeper: &SharedHost, kept: &str, instance: &str) -> Result<String, String> {
    match keeper::wait_for_exit(keeper, kept, ENDS_WITHIN) {
        // How it exited is not reported: it was sent a signal.
        Ok(Some(_)) => Ok(format!("{instance} ended")),
        Ok(None) => {
            let seconds = ENDS_WITHIN.as_secs();
            Err(format!("{instance} had not ended after {seconds} s"))
        }
        Err(error) => Err(error.to_string()),
    }
}
