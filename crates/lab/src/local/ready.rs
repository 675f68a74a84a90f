//! Runs commands before an instance starts, and waits until it is ready.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::test_bed::LocalTestBed;
use super::{addresses, lock};
use crate::LabError;
use crate::keeper::ProcessExit;
use crate::probe::{InstanceState, Readiness};
use crate::process;
use crate::render::Step;

/// Interval of polling a running step.
const PAUSE: Duration = Duration::from_millis(5);
/// Interval of progress reports.
const TELLING: Duration = Duration::from_secs(1);

impl LocalTestBed {
    /// Runs a command before the start; it must exit with code 0.
    pub(super) fn run_step(&self, index: usize, step: &Step) -> Result<(), LabError> {
        let rendered = &self.placed.rendered[index];
        let pod = &self.placed.layout.contexts[index].pod;
        let what = format!("{} ({})", rendered.instance, step.name);
        let log = format!("{}.log", step.name.replace(['/', ' '], "-"));
        let spawn = self.spawn(&what, pod, &step.command, (&rendered.dir, &log));
        lock(&self.placed.keeper).spawn(&spawn)?;
        let deadline = Instant::now() + step.timeout;
        let exit = loop {
            if let Some(exit) = lock(&self.placed.keeper).exit_of(&spawn.name)? {
                break Some(exit);
            }
            if Instant::now() >= deadline {
                break None;
            }
            process::pause(PAUSE);
        };
        let tail = lock(&self.placed.keeper).tail(&spawn.name)?;
        lock(&self.placed.keeper).stop(&spawn.name, libc::SIGTERM, Duration::ZERO)?;
        match exit {
            Some(exit) if exit.how == crate::keeper::ExitStatus::Code(0) => Ok(()),
            Some(exit) => Err(LabError::Died {
                instance: what,
                how: exit.how.to_string(),
                log_tail: exit.tail,
            }),
            None => Err(LabError::NotReady {
                instance: what,
                probe: String::from("it did not end"),
                waited: step.timeout,
                log_tail: tail,
            }),
        }
    }

    /// Waits until an instance is ready, reporting every second.
    pub(super) fn wait_ready(
        &self,
        index: usize,
        waiting: &mut dyn FnMut(&str, Duration),
    ) -> Result<(), LabError> {
        let rendered = &self.placed.rendered[index];
        let begun = Instant::now();
        let mut reported = Duration::ZERO;
        let kept = self.keeper_name(&rendered.instance);
        let mut failure: Option<LabError> = None;
        let mut exit: Option<ProcessExit> = None;
        let waited =
            rendered
                .probe
                .wait(&self.connector(index), rendered.ready_within, &mut || {
                    if begun.elapsed() >= reported + TELLING {
                        reported = begun.elapsed();
                        waiting(&rendered.instance, reported);
                    }
                    match lock(&self.placed.keeper).exit_of(&kept) {
                        Ok(None) => InstanceState::Running,
                        Ok(found) => {
                            exit = found;
                            InstanceState::Ended
                        }
                        Err(error) => {
                            failure = Some(error);
                            InstanceState::Ended
                        }
                    }
                });
        if let Some(error) = failure {
            return Err(error);
        }
        let instance = rendered.instance.clone();
        match waited {
            Readiness::Ready(_) => self.conflict(index).map_or(Ok(()), Err),
            Readiness::Gone => Err(self.conflict(index).unwrap_or_else(|| LabError::Died {
                instance,
                how: exit
                    .as_ref()
                    .map_or_else(|| String::from("it is gone"), |e| e.how.to_string()),
                log_tail: exit.map(|exit| exit.tail).unwrap_or_default(),
            })),
            Readiness::NotReady { waited, answer } => {
                let log_tail = lock(&self.placed.keeper).tail(&kept).unwrap_or_default();
                Err(self.conflict(index).unwrap_or(LabError::NotReady {
                    instance,
                    probe: answer,
                    waited,
                    log_tail,
                }))
            }
        }
    }

    /// A port of the instance that another process has taken since it was chosen.
    ///
    /// Checked after a successful probe, too: the other process may have answered it.
    fn conflict(&self, index: usize) -> Option<LabError> {
        if !self.placed.pods.are_open_to_strangers() {
            return None;
        }
        let context = &self.placed.layout.contexts[index];
        let all = process::snapshot();
        let own =
            process::with_descendants(&all, &self.pid_of(&context.name).into_iter().collect());
        let listens = context
            .routes
            .iter()
            .filter_map(|route| route.listen.as_ref());
        let mut places = listens
            .map(|listen| SocketAddr::from((listen.address, listen.port)))
            .chain([context.admin]);
        let taken = places.find(|at| addresses::is_held_by_others(*at, &own))?;
        Some(LabError::PortInUse {
            address: taken.to_string(),
            holder: addresses::holder(taken),
        })
    }
}
