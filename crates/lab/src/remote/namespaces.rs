//! Pods as network namespaces of this machine, each with a view of the file system of its own: the environment `remote`,
//! which tests everything that a cluster needs without a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tare_experiment::target::Capability;
use tare_net::Switch;
use tare_record::plan::Limits;

use super::connection::Dial;
use super::pod_keeper::HOSTS;
use super::pod_provider::{PodAddress, PodProvider, PodRequest};
use super::run_keeper::RunKeeperConfig;
use crate::LabError;
use crate::host::Host;
use crate::keeper::{CgroupLimits, Confinement, FileSystemView, Keeper, Spawn, lock};
use crate::local::isolation;
use crate::variables;

/// The run keeper's pod.
const RUN_KEEPER: &str = "run-keeper";
/// Parent of private folders: each pod has its own.
pub(crate) const BASE: &str = "/tmp";
/// Time for a connection to the run keeper.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// Most output of a keeper that is kept.
const LOG_BYTES_MAX: u64 = 1 << 20;
/// What a pod's host names begin with.
const LOCALHOST: &str = "127.0.0.1 localhost\n";
/// Capabilities of a keeper in a pod: for agents, which set their own scheduling class; for the users of what is measured, to start,
/// signal and read it, and to take all of these from it; and, last, for redirected traffic.
const CAPABILITIES: [Capability; 8] = [
    Capability::SysNice,
    Capability::Chown,
    Capability::DacOverride,
    Capability::Kill,
    Capability::Setgid,
    Capability::Setpcap,
    Capability::Setuid,
    Capability::NetAdmin,
];
/// Limit of open files for keepers, and so for what they start.
const FILES_MAX: u64 = 1 << 20;

/// Pods of this machine.
pub struct Namespaces {
    tare: PathBuf,
    keeper: Arc<Mutex<Keeper>>,
    /// Numbers of pods, which give their addresses.
    numbers: Arc<Mutex<BTreeMap<String, u16>>>,
    run_keeper: String,
    run_keeper_pid: Option<u32>,
}

impl Namespaces {
    /// Starts what holds the namespaces.
    ///
    /// # Errors
    /// When namespaces are not possible here.
    pub fn start(tare: &Path) -> Result<Namespaces, LabError> {
        let keeper = Keeper::start_in_namespaces(tare, Some(Path::new(BASE)))?;
        Ok(Namespaces {
            tare: tare.to_owned(),
            keeper: Arc::new(Mutex::new(keeper)),
            numbers: Arc::default(),
            run_keeper: String::from(RUN_KEEPER),
            run_keeper_pid: None,
        })
    }

    /// Stand-ins for so many clusters: in one network, each with a run keeper of its own.
    ///
    /// # Errors
    /// When namespaces are not possible here.
    pub fn start_several(tare: &Path, count: usize) -> Result<Vec<Namespaces>, LabError> {
        let first = Namespaces::start(tare)?;
        let further = (2..=count).map(|number| Namespaces {
            tare: tare.to_owned(),
            keeper: Arc::clone(&first.keeper),
            numbers: Arc::clone(&first.numbers),
            run_keeper: format!("{RUN_KEEPER}-{number}"),
            run_keeper_pid: None,
        });
        let further: Vec<Namespaces> = further.collect();
        Ok(std::iter::once(first).chain(further).collect())
    }

    /// A network namespace with the lowest free address.
    fn attach(&self, pod: &str) -> Result<Ipv4Addr, LabError> {
        let mut numbers = lock(&self.numbers);
        let taken: BTreeSet<u16> = numbers.values().copied().collect();
        let number = (0..u16::MAX).find(|number| !taken.contains(number));
        let address = number.and_then(Switch::pod_address);
        let (Some(number), Some(address)) = (number, address) else {
            return Err(LabError::Plan(String::from("these are too many pods")));
        };
        lock(&self.keeper).attach(pod, address)?;
        numbers.insert(pod.to_owned(), number);
        Ok(address)
    }

    /// Starts a keeper in a pod, with its configuration in a file.
    fn start_keeper(
        &self,
        pod: &str,
        flag: &str,
        config: &impl Serialize,
        may: KeeperMay<'_>,
    ) -> Result<u32, LabError> {
        let KeeperMay {
            programs,
            cpus,
            limits,
            redirects,
        } = may;
        let mut keeper = lock(&self.keeper);
        let folder = keeper.folder().to_owned();
        let stem = pod.replace('/', ".");
        let file = folder.join(format!("{stem}.json"));
        let text = serde_json::to_vec(config).map_err(|error| LabError::Plan(error.to_string()))?;
        let mut options = fs::OpenOptions::new();
        let made = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&file)
            .and_then(|mut made| io::Write::write_all(&mut made, &text));
        made.map_err(LabError::io(format!("write {}", file.display())))?;
        let hosts = folder.join(format!("{stem}.hosts"));
        fs::write(&hosts, LOCALHOST).map_err(LabError::io(format!("write {}", hosts.display())))?;
        // What lies in open folders can be read anyway.
        let hidden = |path: &PathBuf| {
            let is_closed = || {
                path.ancestors()
                    .skip(1)
                    .any(|one| !isolation::can_enter(one))
            };
            path.starts_with(BASE) || path.starts_with("/dev/shm") || is_closed()
        };
        let programs = programs.iter().chain([&self.tare]);
        let folders = programs.flat_map(|path| isolation::folders_of_program(path));
        let mut readable: BTreeSet<PathBuf> = folders.filter(hidden).collect();
        readable.insert(file.clone());
        let spawn = Spawn {
            name: keeper_of(pod),
            argv: vec![
                self.tare.display().to_string(),
                String::from("keeper"),
                flag.to_owned(),
                file.display().to_string(),
            ],
            env: variables::of_measured(Path::new("/")),
            cwd: PathBuf::from("/"),
            cpus: cpus.to_vec(),
            output: folder.join(format!("{stem}.log")),
            output_bytes_max: LOG_BYTES_MAX,
            nofile: Some(FILES_MAX),
            bounds: CgroupLimits::new(limits.cpu, limits.memory_bytes),
            pod: Some(pod.to_owned()),
            hosts: Some(hosts),
            confinement: Some(Confinement {
                capabilities: match redirects {
                    true => CAPABILITIES.to_vec(),
                    false => CAPABILITIES[..7].to_vec(),
                },
                view: Some(FileSystemView {
                    readable,
                    // High-water marks of memory are reset there.
                    writable: BTreeSet::from([PathBuf::from("/proc"), PathBuf::from(HOSTS)]),
                }),
                ..Confinement::default()
            }),
            ..Spawn::default()
        };
        keeper.spawn(&spawn)
    }
}

/// What a keeper may read and use.
#[derive(Clone, Copy, Default)]
struct KeeperMay<'a> {
    programs: &'a [PathBuf],
    cpus: &'a [u32],
    limits: Limits,
    redirects: bool,
}

fn keeper_of(pod: &str) -> String {
    format!("keeper of {pod}")
}

impl PodProvider for Namespaces {
    fn environment(&self) -> &'static str {
        "remote"
    }

    fn has_users(&self) -> bool {
        isolation::is_root()
    }

    fn start_run_keeper(
        &mut self,
        config: &RunKeeperConfig,
    ) -> Result<(SocketAddr, Dial), LabError> {
        let address = self.attach(&self.run_keeper)?;
        let pid = self.start_keeper(&self.run_keeper, "--run", config, KeeperMay::default())?;
        self.run_keeper_pid = Some(pid);
        let (keeper, pod) = (Arc::clone(&self.keeper), self.run_keeper.clone());
        let within = SocketAddr::from((Ipv4Addr::LOCALHOST, config.port));
        let dial = move || {
            let opener = Host::opener(&mut *lock(&keeper), &pod)?;
            opener(&within.to_string(), CONNECT_WITHIN)
        };
        Ok((SocketAddr::from((address, config.port)), Box::new(dial)))
    }

    fn create(
        &mut self,
        pods: &[PodRequest],
        _objects: &[Value],
    ) -> Result<BTreeMap<String, PodAddress>, LabError> {
        let mut addresses = BTreeMap::new();
        for pod in pods {
            let name = &pod.config.name;
            let address = IpAddr::from(self.attach(name)?);
            addresses.insert(name.clone(), address.into());
            let may = KeeperMay {
                programs: &pod.programs,
                cpus: &pod.cpus,
                limits: pod.limits,
                redirects: pod.purpose.redirects,
            };
            self.start_keeper(name, "--pod", &pod.config, may)?;
        }
        Ok(addresses)
    }

    fn exited(&mut self, pod: &str) -> Option<String> {
        let pod = if pod.is_empty() {
            &self.run_keeper
        } else {
            pod
        };
        match lock(&self.keeper).exit_of(&keeper_of(pod)) {
            Ok(exit) => exit.map(|exit| {
                let last = exit.tail.last().map(|line| format!(": {line}"));
                format!("{}{}", exit.how, last.unwrap_or_default())
            }),
            Err(error) => Some(error.to_string()),
        }
    }

    fn remove(&mut self, pods: &[String]) -> Result<(), LabError> {
        let mut numbers = lock(&self.numbers);
        let mut keeper = lock(&self.keeper);
        let mut first = Ok(());
        for pod in pods.iter().filter(|pod| numbers.contains_key(*pod)) {
            let stopped = keeper.stop(&keeper_of(pod), libc::SIGTERM, Duration::from_secs(2));
            first = first.and(stopped.and(keeper.detach(pod)));
        }
        drop(keeper);
        numbers.retain(|name, _| !pods.contains(name));
        first
    }

    fn pids(&self) -> BTreeSet<u32> {
        let own = lock(&self.keeper).pids();
        own.into_iter().chain(self.run_keeper_pid).collect()
    }
}
