//! Comparisons of replicas: each in a thread with a connection of its own, known by a number until the server ends.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tare_kafka_admin::admin::{Admin, AdminError, PartitionInfo};
use tare_kafka_admin::api::{VerifyJob, VerifyRequest, VerifyState};
use tare_kafka_admin::reading::ReadingScope;

use super::watcher::{ClusterWatcher, gone};
use crate::error::{Refusal, Reply};

/// Comparisons that run at a time, and those that are remembered.
const RUNNING_MAX: usize = 2;
const KEPT_MAX: usize = 20;

/// All comparisons.
#[derive(Default)]
pub struct VerifyJobs(Mutex<BTreeMap<u64, Arc<Job>>>);

struct Job {
    cluster: String,
    state: Mutex<VerifyJob>,
    is_stopped: AtomicBool,
}

impl Job {
    fn state(&self) -> VerifyJob {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn update(&self, change: impl FnOnce(&mut VerifyJob)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl VerifyJobs {
    pub fn start(&self, watcher: &ClusterWatcher, request: &VerifyRequest) -> Reply<VerifyJob> {
        let partitions = watcher.with(|admin| admin.topics_named(&[&request.topic]))?;
        let partitions: Vec<PartitionInfo> = partitions
            .into_iter()
            .flat_map(|topic| topic.partitions)
            .filter(|one| match &request.partitions {
                None => true,
                Some(some) => some.contains(&one.partition),
            })
            .collect();
        let known = watcher.read(&ReadingScope::default())?;
        let sizes = known.view().partition_bytes();
        let size =
            |one: &PartitionInfo| sizes.get(&(request.topic.clone(), one.partition)).copied();
        let mut admin = watcher.own_connection()?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = all.values().map(|job| job.state().state);
        if running
            .filter(|state| *state == VerifyState::Running)
            .count()
            >= RUNNING_MAX
        {
            return Err(Refusal::conflict(format!(
                "{RUNNING_MAX} comparisons are running: wait for one, or stop it"
            )));
        }
        let id = all.keys().last().map_or(1, |last| last + 1);
        let job = Arc::new(Job {
            cluster: watcher.entry.definition.name.clone(),
            state: Mutex::new(VerifyJob {
                id,
                topic: request.topic.clone(),
                state: VerifyState::Running,
                partitions: u32::try_from(partitions.len()).unwrap_or(u32::MAX),
                done: 0,
                compared_bytes: 0,
                total_bytes: partitions.iter().map(size).sum(),
                results: Vec::new(),
                problem: None,
            }),
            is_stopped: AtomicBool::new(false),
        });
        let worker = Arc::clone(&job);
        let topic = request.topic.clone();
        std::thread::Builder::new()
            .name("verify".into())
            .spawn(move || {
                let ended = run(&worker, &mut admin, &topic, &partitions);
                worker.update(|state| {
                    state.state = match (&ended, worker.is_stopped.load(Ordering::Relaxed)) {
                        (Err(_), false) => VerifyState::Failed,
                        (_, true) => VerifyState::Stopped,
                        (Ok(()), false) => VerifyState::Done,
                    };
                    state.problem = ended.err().map(|error| error.to_string());
                });
            })?;
        let state = job.state();
        all.insert(id, job);
        while all.len() > KEPT_MAX {
            let oldest = all
                .iter()
                .find(|(_, job)| job.state().state != VerifyState::Running)
                .map(|(id, _)| *id);
            match oldest {
                Some(id) => all.remove(&id),
                None => break,
            };
        }
        Ok(state)
    }

    fn find(&self, cluster: &str, id: u64) -> Reply<Arc<Job>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let job = all.get(&id).filter(|job| job.cluster == cluster);
        job.cloned()
            .ok_or_else(|| gone("comparison", &id.to_string()))
    }

    pub fn state(&self, cluster: &str, id: u64) -> Reply<VerifyJob> {
        Ok(self.find(cluster, id)?.state())
    }

    pub fn stop(&self, cluster: &str, id: u64) -> Reply<()> {
        self.find(cluster, id)?
            .is_stopped
            .store(true, Ordering::Relaxed);
        Ok(())
    }
}

fn run(
    job: &Job,
    admin: &mut Admin,
    topic: &str,
    partitions: &[PartitionInfo],
) -> Result<(), AdminError> {
    let mut compared = 0;
    for partition in partitions {
        let result = admin.verify(topic, partition, &mut |progress| {
            job.update(|state| state.compared_bytes = compared + progress.size_bytes);
            match job.is_stopped.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        compared += result.size_bytes;
        job.update(|state| {
            state.done += 1;
            state.compared_bytes = compared;
            state.results.push(result);
        });
        if job.is_stopped.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(())
}
