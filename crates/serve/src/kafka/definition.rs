//! Definitions of clusters: those of this server in its folder, those of `tare kafka clusters` in the user's file, those of test
//! beds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tare_experiment::clusters::{self, ClusterDef};
use tare_kafka_admin::api::{ClusterEntry, ClusterList, ClusterOrigin, ClusterRequest};
use tare_kafka_admin::client::bootstrap;
use tare_lab::cached;
use tare_record::api::ServeOptions;
use tare_record::regular::read_regular_text;

use super::test_beds;
use crate::error::{Refusal, Reply};
use crate::places;

/// File in the server's folder.
const FILE: &str = "clusters.json";
/// Folder in it with the throttles that were set here and not removed yet.
const THROTTLES: &str = "kafka-throttles";
/// Largest file of clusters.
const BYTES_MAX: u64 = 1 << 20;
/// Most clusters of this server, and most addresses of one.
const CLUSTERS_MAX: usize = 200;
const ADDRESSES_MAX: usize = 64;

/// Where definitions are, and what they may name.
pub struct Definitions {
    file: PathBuf,
    /// The file of `tare kafka clusters`.
    of_command_line: Option<PathBuf>,
    files: Vec<PathBuf>,
    environment: Vec<String>,
    /// Folder of targets, which say what the metrics of brokers are called.
    pub targets: PathBuf,
    /// Folder with the throttles that were set here.
    pub throttles: PathBuf,
    writing: Mutex<()>,
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredClusters {
    clusters: Vec<ClusterRequest>,
}

impl Definitions {
    pub fn new(options: &ServeOptions, own: &Path) -> Definitions {
        Definitions {
            file: own.join(FILE),
            of_command_line: options.clusters.clone(),
            files: options.files.clone(),
            environment: options.environment.clone(),
            targets: options.home.join("targets"),
            throttles: own.join(THROTTLES),
            writing: Mutex::default(),
        }
    }

    /// All clusters, by name. A file that cannot be read has none: the commands that write it say why.
    pub fn list(&self) -> ClusterList {
        let of_command_line = self.of_command_line.as_ref();
        let of_command_line = of_command_line.and_then(|path| clusters::read(path).ok());
        let of_command_line = of_command_line.unwrap_or_default().clusters.into_iter();
        let of_command_line = of_command_line.map(|(name, cluster)| ClusterEntry {
            origin: ClusterOrigin::CommandLine,
            definition: ClusterRequest {
                name,
                cluster,
                read_only: false,
                show_records: false,
                lag_limit: None,
            },
        });
        let of_test_beds = test_beds::all().into_iter().map(|bed| bed.entry);
        // A name of this server's stands before the same one of others.
        let found: BTreeMap<String, ClusterEntry> = of_command_line
            .chain(of_test_beds)
            .chain(self.stored().unwrap_or_default().entries())
            .map(|entry| (entry.definition.name.clone(), entry))
            .collect();
        ClusterList {
            clusters: found.into_values().collect(),
            environment: self.environment.clone(),
        }
    }

    pub fn find(&self, name: &str) -> Reply<ClusterEntry> {
        let mut all = self.list().clusters.into_iter();
        let found = all.find(|entry| entry.definition.name == name);
        found.ok_or_else(|| {
            Refusal::not_found(format!(
                "there is no cluster {}: add it, or name one of the list",
                name.chars().take(100).collect::<String>()
            ))
        })
    }

    /// A definition as it is kept: checked, its files by their whole paths.
    pub fn check(&self, request: ClusterRequest) -> Reply<ClusterRequest> {
        places::name(&request.name).map_err(|_| {
            Refusal::invalid("the name of a cluster has letters, digits, “.”, “_” and “-” only")
        })?;
        let mut request = request;
        let cluster = &mut request.cluster;
        if cluster.allow_public_target {
            return Err(Refusal::invalid(
                "public addresses are not allowed from here: use `tare kafka clusters add --allow-public-target`",
            ));
        }
        if cluster.bootstrap.is_empty() || cluster.bootstrap.len() > ADDRESSES_MAX {
            return Err(Refusal::invalid(format!(
                "name 1 to {ADDRESSES_MAX} brokers: HOST:PORT"
            )));
        }
        bootstrap(cluster).map_err(Refusal::invalid)?;
        for file in files(cluster) {
            let path = self.file(file)?;
            *file = path;
        }
        for variable in variables(cluster) {
            if !self.environment.contains(variable) {
                return Err(Refusal::invalid(format!(
                    "this server may not read the variable {variable}: start it with --env {variable}"
                )));
            }
        }
        if let Some(metrics) = &request.cluster.metrics {
            metrics.way().map_err(Refusal::invalid)?;
        }
        Ok(request)
    }

    /// Keeps a definition that was checked.
    pub fn keep(&self, request: ClusterRequest) -> Reply<ClusterEntry> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stored = self.stored()?;
        stored.clusters.retain(|other| other.name != request.name);
        if stored.clusters.len() >= CLUSTERS_MAX {
            return Err(Refusal::conflict(format!(
                "this server keeps at most {CLUSTERS_MAX} clusters: remove one"
            )));
        }
        stored.clusters.push(request.clone());
        self.write(&stored)?;
        Ok(ClusterEntry {
            origin: ClusterOrigin::Server,
            definition: request,
        })
    }

    /// Forgets a definition; the cluster itself is not changed.
    pub fn remove(&self, name: &str) -> Reply<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stored = self.stored()?;
        let before = stored.clusters.len();
        stored.clusters.retain(|other| other.name != name);
        if stored.clusters.len() == before {
            self.find(name)?;
            return Err(Refusal::conflict(format!(
                "cluster {name} is not defined here: `tare kafka clusters remove {name}` removes it"
            )));
        }
        self.write(&stored)
    }

    fn stored(&self) -> Reply<StoredClusters> {
        if !self.file.exists() {
            return Ok(StoredClusters::default());
        }
        let wrong = |reason: String| {
            Refusal::failed(format!(
                "{}: {reason}; restore or delete it",
                self.file.display()
            ))
        };
        let text =
            read_regular_text(&self.file, BYTES_MAX).map_err(|error| wrong(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
    }

    fn write(&self, stored: &StoredClusters) -> Reply<()> {
        Ok(cached::write(&self.file, stored)?)
    }

    /// The whole path of a file in one of the directories of `--files`.
    fn file(&self, name: &str) -> Reply<String> {
        let relative = self.files.iter().find_map(|folder| {
            let inside = Path::new(name)
                .strip_prefix(folder)
                .unwrap_or(Path::new(name));
            let inside = inside.to_str()?;
            let is_there = places::open_below(folder, inside).is_ok();
            is_there.then(|| folder.join(inside))
        });
        let path = relative.ok_or_else(|| {
            Refusal::invalid("there is no such file in the directories of --files")
        })?;
        Ok(path.display().to_string())
    }
}

impl StoredClusters {
    fn entries(self) -> impl Iterator<Item = ClusterEntry> {
        let all = self.clusters.into_iter();
        all.map(|definition| ClusterEntry {
            origin: ClusterOrigin::Server,
            definition,
        })
    }
}

/// The files that a definition names.
fn files(cluster: &mut ClusterDef) -> impl Iterator<Item = &mut String> {
    let tls = cluster.tls.iter_mut();
    let tls = tls.flat_map(|tls| [&mut tls.ca, &mut tls.cert, &mut tls.key]);
    let sasl = cluster.sasl.iter_mut().map(|sasl| &mut sasl.password_file);
    let metrics = cluster.metrics.iter_mut();
    let metrics = metrics.map(|metrics| &mut metrics.password_file);
    tls.chain(sasl).chain(metrics).flatten()
}

/// The variables that a definition names.
fn variables(cluster: &ClusterDef) -> impl Iterator<Item = &String> {
    let sasl = cluster.sasl.iter().map(|sasl| &sasl.password_env);
    let metrics = cluster.metrics.iter();
    let metrics = metrics.map(|metrics| &metrics.password_env);
    sasl.chain(metrics).flatten()
}
