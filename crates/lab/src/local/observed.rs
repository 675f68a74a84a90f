//! Lists what is observed of a test bed: its processes by instance, and its pods.

use tare_record::external::{CPU_SECONDS, EXTERNAL, MEMORY_BYTES};
use tare_record::topology::{InstanceRole, SHARED_CONTROL_PLANE};

use super::lock;
use super::test_bed::{LocalTestBed, StartedAgent};
use crate::counters::CounterReader;
use crate::keeper::INSTANCE_MARK;
use crate::observe::{EXTERNAL_ROLE, ObservedExternal, ObservedInstance, ObservedPod};

impl LocalTestBed {
    pub(super) fn observed(&self) -> Vec<(String, ObservedInstance)> {
        let instances = &self.placed.plan.topology.instances;
        let is_elsewhere = lock(&self.placed.host).is_elsewhere();
        let mut all = Vec::new();
        for instance in instances {
            let role = role_name(instance.role);
            let limits = self.placed.plan.limits.get(&instance.name);
            let is_held_with_pod = is_elsewhere && limits.is_some_and(|one| one.cpu.is_some());
            let pod = || {
                let network = self.placed.pods.network(&instance.pod);
                network.unwrap_or_default()
            };
            let mark = |kept: &str| format!("{INSTANCE_MARK}={kept}");
            let agents = self.living_agents(&instance.name);
            for (agent, number) in agents.iter().zip(1..) {
                // Agents that share a load get numbers.
                let name = match number {
                    1 => instance.name.clone(),
                    more => format!("{}-{more}", instance.name),
                };
                let software = format!("tare {}", env!("CARGO_PKG_VERSION"));
                let mark = mark(&agent.name);
                let mut observed = ObservedInstance::tree(&name, role, &software, agent.pid, &mark);
                observed.is_held_with_pod = is_held_with_pod;
                all.push((agent.pod.clone(), observed));
            }
            let software = self.placed.software_of(instance);
            if self.is_injected(&instance.name) {
                let software = software.map_or("", String::as_str);
                let observed = ObservedInstance::injected(&instance.name, role, software);
                all.push((pod(), observed));
            } else if let (true, Some(pid)) = (agents.is_empty(), self.pid_of(&instance.name)) {
                let software = software.cloned().unwrap_or_default();
                let kept = self.keeper_name(&instance.name);
                let mut observed =
                    ObservedInstance::tree(&instance.name, role, &software, pid, &mark(&kept));
                observed.is_held_with_pod = is_held_with_pod;
                all.push((pod(), observed));
            }
        }
        all
    }

    /// External parts: only what they report themselves is known.
    pub(super) fn observed_external(&self) -> Vec<ObservedExternal> {
        let usage = |name: &str| [CPU_SECONDS, MEMORY_BYTES].contains(&name);
        let external = self.placed.external.iter();
        external
            .map(|(name, found)| ObservedExternal {
                instance: name.clone(),
                role: EXTERNAL_ROLE,
                software: format!("{EXTERNAL} {}", found.def.at),
                reader: self
                    .placed
                    .caller_of(name)
                    .and_then(|caller| found.pages((&self.placed.plan.topology, &caller), &usage)),
            })
            .collect()
    }

    /// The control plane of a cluster's mesh: what its own statistics tell, read from a pod of the arm.
    pub(super) fn observed_control_plane(&self) -> Vec<ObservedExternal> {
        let topology = &self.placed.plan.topology;
        let mut parts = topology.parts();
        let Some(proxy) = parts.find(|one| topology.is_injected(&one.name)) else {
            return Vec::new();
        };
        let connector = || self.placed.pods.connector(&proxy.pod);
        let all = self.placed.pods.control_plane().into_iter();
        all.map(|pod| ObservedExternal {
            reader: Some(CounterReader::of_process(
                &pod.name,
                &pod.metrics,
                connector(),
            )),
            role: SHARED_CONTROL_PLANE,
            instance: pod.name,
            software: pod.software,
        })
        .collect()
    }

    /// Running agents of an instance: those of an earlier trial have exited, and a role may be unused in this one.
    pub(super) fn living_agents(&self, instance: &str) -> Vec<&StartedAgent> {
        let all = self.agents.get(instance).map_or(&[][..], Vec::as_slice);
        let mut host = lock(&self.placed.host);
        all.iter()
            .filter(|agent| host.is_running(&agent.name, agent.pid))
            .collect()
    }

    /// Pods with a network namespace and a running process.
    pub(super) fn observed_pods(&self) -> Vec<ObservedPod> {
        let mut pods: Vec<ObservedPod> = Vec::new();
        for instance in &self.placed.plan.topology.instances {
            let agents = self.living_agents(&instance.name);
            let agent = agents.first().map(|agent| agent.pid);
            let pid = agent.or_else(|| self.pid_of(&instance.name));
            let (Some(pid), Some(_)) = (pid, self.placed.pods.network(&instance.pod)) else {
                continue;
            };
            match pods.iter_mut().find(|pod| pod.pod == instance.pod) {
                Some(pod) => pod.instances.push(instance.name.clone()),
                None => pods.push(ObservedPod {
                    pod: instance.pod.clone(),
                    pid,
                    instances: vec![instance.name.clone()],
                }),
            }
        }
        pods
    }
}

pub(super) fn role_name(role: InstanceRole) -> &'static str {
    match role {
        InstanceRole::App => "app",
        InstanceRole::Agent => "agent",
        InstanceRole::Sidecar => "sidecar",
        InstanceRole::Gateway => "gateway",
        InstanceRole::Sni => "sni",
        InstanceRole::Ingress => "ingress",
        InstanceRole::ControlPlane => "control-plane",
        InstanceRole::Support => "support",
    }
}
