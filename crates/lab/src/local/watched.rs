//! What is observed of a bed: its processes by instance, and its pods.

use tare_schema::topology::InstanceRole;

use super::bed::LocalBed;
use super::lock;
use crate::observe::{Watched, WatchedPod};

impl LocalBed {
    pub(super) fn watched(&self) -> Vec<Watched> {
        let instances = &self.placed.plan.topology.instances;
        let mut all = Vec::new();
        for instance in instances {
            let agent = self.agents.get(&instance.name);
            let (kept, pid, software) = match (agent, self.pid_of(&instance.name)) {
                (Some((kept, pid)), _) => (
                    kept.clone(),
                    *pid,
                    format!("tare {}", env!("CARGO_PKG_VERSION")),
                ),
                (None, Some(pid)) => (
                    self.kept_name(&instance.name),
                    pid,
                    self.placed
                        .software
                        .get(&instance.target)
                        .cloned()
                        .unwrap_or_default(),
                ),
                (None, None) => continue,
            };
            all.push(Watched::tree(
                &instance.name,
                role_word(instance.role),
                &software,
                pid,
                &format!("{}={kept}", crate::keeper::INSTANCE_MARK),
            ));
        }
        let keeper = lock(&self.placed.keeper).pids();
        all.push(Watched::conductor(keeper));
        all
    }

    /// The pods that have a network of their own and somebody in them.
    pub(super) fn watched_pods(&self) -> Vec<WatchedPod> {
        let mut pods: Vec<WatchedPod> = Vec::new();
        for instance in &self.placed.plan.topology.instances {
            let agent = self.agents.get(&instance.name).map(|(_, pid)| *pid);
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
