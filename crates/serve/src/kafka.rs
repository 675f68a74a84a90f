//! Kafka clusters: who they are, how they are read while somebody looks, and what can be changed in them.

mod changes;
mod definition;
mod live;
pub mod load;
mod newest;
pub mod routes;
mod test_beds;
mod verify;
mod watcher;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use tare_export::metrics::Metrics;
use tare_kafka_admin::admin::AdminError;
use tare_kafka_admin::api::{ClusterEntry, ClusterOrigin, ClusterRequest, ClusterTest};
use tare_kafka_admin::reading::ReadingScope;
use tare_record::api::ServeOptions;

use crate::error::{Refusal, Reply};
use definition::Definitions;
use verify::VerifyJobs;
use watcher::ClusterWatcher;

/// The target of brokers.
const TARGET: &str = "kafka";

/// All that the server knows of clusters.
pub struct Kafka {
    definitions: Definitions,
    watchers: Mutex<BTreeMap<String, Arc<ClusterWatcher>>>,
    jobs: VerifyJobs,
}

impl Kafka {
    pub fn new(options: &ServeOptions, own: &Path) -> Kafka {
        Kafka {
            definitions: Definitions::new(options, own),
            watchers: Mutex::default(),
            jobs: VerifyJobs::default(),
        }
    }

    /// What reads a cluster; it begins when it is first asked for.
    fn watcher(&self, name: &str) -> Reply<Arc<ClusterWatcher>> {
        let entry = self.definitions.find(name)?;
        // What the definition names may have gone since it was kept, and --files and --env may be others.
        if entry.origin == ClusterOrigin::Server {
            self.definitions.check(entry.definition.clone())?;
        }
        let mut all = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watcher) = all.get(name).filter(|watcher| watcher.entry == entry) {
            return Ok(Arc::clone(watcher));
        }
        let watcher = Arc::new(ClusterWatcher::new(entry, &self.definitions));
        all.insert(name.to_owned(), Arc::clone(&watcher));
        Ok(watcher)
    }

    /// The same for a change, which a read-only cluster refuses.
    fn changeable(&self, name: &str) -> Reply<Arc<ClusterWatcher>> {
        let watcher = self.watcher(name)?;
        match watcher.entry.definition.read_only {
            false => Ok(watcher),
            true => Err(Refusal::forbidden(format!(
                "cluster {name} is read-only here: change that in its settings"
            ))),
        }
    }

    /// Whether a cluster can be reached, by a definition that was checked.
    fn test(&self, definition: ClusterRequest) -> Reply<ClusterTest> {
        let entry = ClusterEntry {
            origin: ClusterOrigin::Server,
            definition,
        };
        let watcher = ClusterWatcher::new(entry, &self.definitions);
        let read = watcher.read(&ReadingScope::default())?;
        let overview = read.overview();
        Ok(ClusterTest {
            id: overview.id,
            brokers: overview
                .brokers
                .into_iter()
                .filter_map(|one| one.address)
                .collect(),
        })
    }

    /// Forgets a cluster.
    fn remove(&self, name: &str) -> Reply<()> {
        self.definitions.remove(name)?;
        let mut all = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(name);
        Ok(())
    }

    /// Problems, lags and rates of the clusters that have a name, as of the last reading. Asking is looking: they are read as
    /// long as somebody asks.
    pub fn metrics(&self, page: &mut Metrics) {
        for entry in self.definitions.list().clusters {
            if entry.origin == ClusterOrigin::TestBed {
                continue;
            }
            if let Ok(watcher) = self.watcher(&entry.definition.name) {
                watcher.write_metrics(page);
            }
        }
    }
}

/// An error of a cluster as an answer.
pub fn refusal(error: &AdminError) -> Refusal {
    let text = error.to_string();
    match error {
        AdminError::Refused { error, .. } if error.is_forbidden() => Refusal::forbidden(text),
        _ if error.is_input() => Refusal::invalid(text),
        AdminError::Late { .. } => Refusal::new(StatusCode::GATEWAY_TIMEOUT, text),
        _ => Refusal::new(StatusCode::BAD_GATEWAY, text),
    }
}
