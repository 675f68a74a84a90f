//! Processes of a test bed's pods and their logs, for those who look into it.

use std::io::Write;

use tare_record::regular::open_to_append;

use super::LOG;
use super::observed::role_name;
use super::test_bed::LocalTestBed;
use crate::LabError;
use crate::keeper::lock;
use crate::lab_state::PodProcess;

/// Most of a log that is added at once.
const MORE_BYTES_MAX: u64 = 1 << 20;

impl LocalTestBed {
    /// The processes in all pods. An empty pod gets a pause process, so that it can be entered.
    ///
    /// # Errors
    /// When a pause process cannot be started.
    pub fn pod_processes(&mut self) -> Result<Vec<PodProcess>, LabError> {
        let instances = self.placed.plan.topology.instances.clone();
        let mut all = Vec::new();
        for instance in instances {
            let mut rendered = self.placed.rendered.iter();
            let dir = rendered.find(|one| one.instance == instance.name);
            let log = dir.map(|one| one.dir.join(LOG));
            let is_injected = self.is_injected(&instance.name);
            let enter = self.placed.pods.enter(&instance.pod, is_injected);
            let pid = match (self.pid_of(&instance.name), &enter) {
                // Numbers of processes elsewhere say nothing here.
                (_, Some(_)) => None,
                (None, None) if log.is_none() => Some(self.start_pause_process(&instance.pod)?),
                (pid, None) => pid,
            };
            let address = self.placed.pods.addresses.get(&instance.pod);
            let mut contexts = self.placed.layout.contexts.iter();
            let context = contexts.find(|context| context.name == instance.name);
            all.push(PodProcess {
                address: address.map(ToString::to_string).unwrap_or_default(),
                role: role_name(instance.role).to_owned(),
                software: self.placed.software_of(&instance).cloned(),
                pod: instance.pod,
                instance: instance.name,
                pid,
                log,
                enter,
                ports: context.map(|one| one.ports.clone()).unwrap_or_default(),
            });
        }
        Ok(all)
    }

    /// Starts a process that sleeps in a pod, so that the pod can be entered.
    fn start_pause_process(&self, pod: &str) -> Result<u32, LabError> {
        let argv = [String::from("sleep"), String::from("infinity")];
        let log = format!("{pod}-rest.log");
        let spawn = self.spawn(
            &format!("{pod} at rest"),
            pod,
            &argv,
            (&self.placed.folder, &log),
        );
        lock(&self.placed.host).spawn(&spawn)
    }

    /// Adds to the logs here what those of pods elsewhere have more, a limited amount at once.
    ///
    /// # Errors
    /// The pod that did not answer.
    pub fn follow_logs(&self) -> Result<(), LabError> {
        if !lock(&self.placed.host).is_elsewhere() {
            return Ok(());
        }
        let rendered = self.placed.rendered.iter();
        for (one, context) in rendered.zip(&self.placed.layout.contexts) {
            let path = one.dir.join(LOG);
            let what = || format!("bring {}", path.display());
            let mut file = open_to_append(&path, 0o644).map_err(LabError::io(what()))?;
            let known = file.metadata().map_err(LabError::io(what()))?.len();
            let more = if self.is_injected(&one.instance) {
                let log = self.placed.pods.log_of_injected(&context.pod);
                let log = log.unwrap_or_default().into_bytes();
                log.get(known as usize..).map(<[u8]>::to_vec)
            } else if let Some(pod) = self.placed.pods.network(&context.pod) {
                let read = lock(&self.placed.host).read(&pod, &path, (known, MORE_BYTES_MAX));
                read.map_err(LabError::io(what()))?.map(|(bytes, _)| bytes)
            } else {
                None
            };
            let written = file.write_all(&more.unwrap_or_default());
            written.map_err(LabError::io(what()))?;
        }
        Ok(())
    }

    /// Brings the logs of pods elsewhere to the folders here.
    pub(super) fn bring_logs(&self) -> Result<(), LabError> {
        self.bring_logs_of_injected()?;
        let mut host = lock(&self.placed.host);
        for pod in &self.placed.plan.topology.pods {
            let alike = self.placed.pods.alike(&pod.name).into_iter();
            for kept in alike.filter_map(|pod| self.placed.pods.network(&pod)) {
                host.bring(&kept, &self.placed.folder, ".log")?;
                let contexts = self.placed.layout.contexts.iter();
                for context in contexts.filter(|context| context.pod == pod.name) {
                    host.bring(&kept, &context.dir, ".log")?;
                }
            }
        }
        Ok(())
    }

    fn bring_logs_of_injected(&self) -> Result<(), LabError> {
        let rendered = self.placed.rendered.iter();
        for (one, context) in rendered.zip(&self.placed.layout.contexts) {
            if self.is_injected(&one.instance)
                && let Some(log) = self.placed.pods.log_of_injected(&context.pod)
            {
                let path = one.dir.join(LOG);
                let what = format!("write {}", path.display());
                std::fs::write(&path, log).map_err(LabError::io(what))?;
            }
        }
        Ok(())
    }
}
