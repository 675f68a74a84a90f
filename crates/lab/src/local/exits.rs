//! Detects instances that exited unexpectedly, and why.

use super::lock;
use super::test_bed::LocalTestBed;
use crate::cgroup::{Controller, Mounts};
use crate::environment::UnexpectedExit;

impl LocalTestBed {
    /// Instances that have exited, or lost a process at their memory limit; each is reported once.
    pub(super) fn new_exits(&mut self) -> Vec<UnexpectedExit> {
        let mut exits = Vec::new();
        for (name, _) in &self.started {
            let exit = lock(&self.placed.keeper).exit_of(&format!("{}/{name}", self.placed.name));
            let unexpected = match exit {
                Ok(None) => match self.memory_kill(name) {
                    Some(unexpected) => unexpected,
                    None => continue,
                },
                Ok(Some(exit)) => UnexpectedExit {
                    instance: name.clone(),
                    how: exit.how.to_string(),
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
            log_tail: lock(&self.placed.keeper)
                .tail(&self.keeper_name(name))
                .unwrap_or_default(),
        })
    }
}
