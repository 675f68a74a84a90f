//! Instances from commands before their start until they are ready, and those that exit unexpectedly.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tare_experiment::target::CommandDef;

use super::test_bed::LocalTestBed;
use super::{addresses, lock};
use crate::LabError;
use crate::cgroup::{Controller, Mounts};
use crate::connector::Connector;
use crate::environment::UnexpectedExit;
use crate::host::SharedHost;
use crate::keeper::{self, ExitStatus, ProcessExit};
use crate::probe::{InstanceState, Readiness};
use crate::process;
use crate::render::Rendered;

/// Interval of progress reports.
const TELLING: Duration = Duration::from_secs(1);

impl LocalTestBed {
    /// Runs a command before the start; it must exit with code 0.
    pub(super) fn run_step(&self, index: usize, step: &CommandDef) -> Result<(), LabError> {
        let rendered = &self.placed.rendered[index];
        let what = format!("{} ({})", rendered.instance, step.name);
        let log = format!("{}.log", step.name.replace(['/', ' '], "-"));
        let spawn = self.spawn_step(&what, index, step, &log);
        lock(&self.placed.host).spawn(&spawn)?;
        let exit = keeper::wait_for_exit(&self.placed.host, &spawn.name, step.timeout.0)?;
        let tail = lock(&self.placed.host).tail(&spawn.name)?;
        lock(&self.placed.host).stop(&spawn.name, libc::SIGTERM, Duration::ZERO)?;
        match exit {
            Some(exit) if exit.how == ExitStatus::Code(0) => Ok(()),
            Some(exit) => Err(LabError::Died {
                instance: what,
                how: exit.how.to_string(),
                log_tail: exit.tail,
            }),
            None => Err(LabError::NotReady {
                instance: what,
                probe: String::from("it did not end"),
                waited: step.timeout.0,
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
        let tick = &mut || {
            if begun.elapsed() >= reported + TELLING {
                reported = begun.elapsed();
                waiting(&rendered.instance, reported);
            }
        };
        let process = (&self.placed.host, kept.as_str());
        let (waited, exit) = wait_until_ready(process, rendered, &self.connector(index), tick)?;
        let instance = rendered.instance.clone();
        match waited {
            Readiness::Ready(_) => self.conflict(index).map_or(Ok(()), Err),
            Readiness::Gone => Err(self.conflict(index).unwrap_or_else(|| {
                let (how, log_tail) = exit
                    .map(|exit| (of_server(exit.how), exit.tail))
                    .unwrap_or_default();
                LabError::Died {
                    instance,
                    how,
                    log_tail,
                }
            })),
            Readiness::NotReady { waited, answer } => {
                let log_tail = lock(&self.placed.host).tail(&kept).unwrap_or_default();
                Err(self.conflict(index).unwrap_or(LabError::NotReady {
                    instance,
                    probe: answer,
                    waited,
                    log_tail,
                }))
            }
        }
    }

    /// Instances that have exited, or lost a process at their memory limit; each is reported once.
    pub(super) fn new_exits(&mut self) -> Vec<UnexpectedExit> {
        let mut exits = Vec::new();
        for (name, _) in &self.started {
            let exit = lock(&self.placed.host).exit_of(&format!("{}/{name}", self.placed.name));
            let unexpected = match exit {
                Ok(None) => match self.memory_kill(name) {
                    Some(unexpected) => unexpected,
                    None => continue,
                },
                Ok(Some(exit)) => UnexpectedExit {
                    instance: name.clone(),
                    how: of_server(exit.how),
                    log_tail: exit.tail,
                },
                Err(error) => UnexpectedExit {
                    instance: name.clone(),
                    how: error.to_string(),
                    log_tail: Vec::new(),
                },
            };
            if self.reported_exits.insert(name.clone()) {
                exits.push(unexpected);
            }
        }
        exits
    }

    /// An instance that continues after the kernel killed one of its processes counts as failed, too.
    fn memory_kill(&self, name: &str) -> Option<UnexpectedExit> {
        let limit_bytes = self.bounds(name)?.memory_bytes?;
        let group = Mounts::read().group_of(Controller::Memory, self.pid_of(name)?)?;
        (group.memory_kills()? > 0).then(|| UnexpectedExit {
            instance: name.to_owned(),
            how: format!(
                "the kernel killed one of its processes: together they wanted more memory than the limit of \
                 {limit_bytes} bytes"
            ),
            log_tail: lock(&self.placed.host)
                .tail(&self.keeper_name(name))
                .unwrap_or_default(),
        })
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

/// Probes an instance until it is ready or its process exits; calls `tick` before each attempt.
pub(super) fn wait_until_ready(
    (keeper, kept): (&SharedHost, &str),
    rendered: &Rendered,
    connector: &Connector,
    tick: &mut dyn FnMut(),
) -> Result<(Readiness, Option<ProcessExit>), LabError> {
    let mut ended = Ok(None);
    let mut state = || {
        tick();
        match lock(keeper).exit_of(kept) {
            Ok(None) => InstanceState::Running,
            found => {
                ended = found;
                InstanceState::Ended
            }
        }
    };
    let waited = rendered
        .probe
        .wait(connector, rendered.ready_within, &mut state);
    ended.map(|exit| (waited, exit))
}

/// How a process ended that should serve until it is stopped.
fn of_server(how: ExitStatus) -> String {
    match how {
        ExitStatus::Code(0) => String::from(
            "exit code 0, though it should serve; if it goes into the background, start it so that it stays in the foreground",
        ),
        other => other.to_string(),
    }
}
