//! What is observed of a bed: its processes by instance, and its pods.

use tare_schema::external::{CPU_SECONDS, EXTERNAL, MEMORY_BYTES};
use tare_schema::topology::InstanceRole;

use super::bed::LocalBed;
use super::lock;
use crate::observe::{Watched, WatchedExternal, WatchedPod};
use crate::process;

impl LocalBed {
    pub(super) fn watched(&self) -> Vec<Watched> {
        let instances = &self.placed.plan.topology.instances;
        let mut all = Vec::new();
        for instance in instances {
            let role = role_word(instance.role);
            let mark = |kept: &str| format!("{}={kept}", crate::keeper::INSTANCE_MARK);
            let agents = self.living_agents(&instance.name);
            for ((kept, pid), number) in agents.iter().zip(1..) {
                // Several that share a load are told apart.
                let name = match number {
                    1 => instance.name.clone(),
                    more => format!("{}-{more}", instance.name),
                };
                let software = format!("tare {}", env!("CARGO_PKG_VERSION"));
                all.push(Watched::tree(&name, role, &software, *pid, &mark(kept)));
            }
            if let (true, Some(pid)) = (agents.is_empty(), self.pid_of(&instance.name)) {
                let software = self.placed.software.get(&instance.target);
                let software = software.cloned().unwrap_or_default();
                let kept = self.kept_name(&instance.name);
                all.push(Watched::tree(
                    &instance.name,
                    role,
                    &software,
                    pid,
                    &mark(&kept),
                ));
            }
        }
        let keeper = lock(&self.placed.keeper).pids();
        all.push(Watched::conductor(keeper));
        all
    }

    /// What is external: only what it tells itself is known of it.
    pub(super) fn watched_external(&self) -> Vec<WatchedExternal> {
        let usage = |name: &str| [CPU_SECONDS, MEMORY_BYTES].contains(&name);
        let external = self.placed.external.iter();
        external
            .map(|(name, found)| WatchedExternal {
                instance: name.clone(),
                software: format!("{EXTERNAL} {}", found.def.at),
                reader: found.pages(&self.placed.plan.topology, &usage),
            })
            .collect()
    }

    /// Agents of an instance that are there: an earlier trial's are not, and a role may be left out of this one.
    pub(super) fn living_agents(&self, instance: &str) -> Vec<&(String, u32)> {
        let all = self.agents.get(instance).map_or(&[][..], Vec::as_slice);
        let is_there = |pid: u32| process::stat(pid).is_some_and(|one| one.is_alive());
        all.iter().filter(|(_, pid)| is_there(*pid)).collect()
    }

    /// The pods that have a network of their own and somebody in them.
    pub(super) fn watched_pods(&self) -> Vec<WatchedPod> {
        let mut pods: Vec<WatchedPod> = Vec::new();
        for instance in &self.placed.plan.topology.instances {
            let agents = self.living_agents(&instance.name);
            let agent = agents.first().map(|(_, pid)| *pid);
            let pid = agent.or_else(|| self.pid_of(&instance.name));
            let (Some(pid), Some(_)) = (pid, self.placed.pods.network(&instance.pod)) else {
                continue;
            };
            match pods.iter_mut().find(|pod| pod.pod == instance.pod) {
                Some(pod) => pod.instances.push(instance.name.clone()),
                None => pods.push(WatchedPod {
                    pod: instance.pod.clone(),
                    pid,
                    instances: vec![instance.name.clone()],
                }),
            }
        }
        pods
    }
}

pub(super) fn role_word(role: InstanceRole) -> &'static str {
    match role {
        InstanceRole::App => "app",
        InstanceRole::Agent => "agent",
        InstanceRole::Sidecar => "sidecar",
        InstanceRole::Gateway => "gateway",
        InstanceRole::Sni => "sni",
        InstanceRole::Ingress => "ingress",
    }
}
