//! Who has died in a bed, and of what.

use super::bed::LocalBed;
use super::lock;
use crate::cgroup::{Controller, Mounts};
use crate::environment::Death;

impl LocalBed {
    /// Instances that have ended, or lost a process to their limit of memory; each is told once.
    pub(super) fn new_deaths(&mut self) -> Vec<Death> {
        let mut deaths = Vec::new();
        for (name, _) in &self.started {
            let exit = lock(&self.placed.keeper).exit_of(&format!("{}/{name}", self.placed.name));
            let death = match exit {
                Ok(None) => match self.short_of_memory(name) {
                    Some(death) => death,
                    None => continue,
                },
                Ok(Some(exit)) => Death {
                    instance: name.clone(),
                    how: exit.how.to_string(),
                    log_tail: exit.tail,
                },
                Err(error) => Death {
                    instance: name.clone(),
                    how: error.to_string(),
                    log_tail: Vec::new(),
                },
            };
            if self.reported_dead.insert(name.clone()) {
                deaths.push(death);
            }
        }
        deaths
    }

    /// A part that goes on although the kernel killed one of its processes is not what was to be measured.
    fn short_of_memory(&self, name: &str) -> Option<Death> {
        let limit_bytes = self.bounds(name)?.memory_bytes?;
        let group = Mounts::read().group_of(Controller::Memory, self.pid_of(name)?)?;
        (group.memory_kills()? > 0).then(|| Death {
            instance: name.to_owned(),
            how: format!(
                "the kernel killed one of its processes: together they wanted more memory than the limit of \
                 {limit_bytes} bytes"
            ),
            log_tail: lock(&self.placed.keeper)
                .tail(&self.kept_name(name))
                .unwrap_or_default(),
        })
    }
}
