//! The conductor's client of the keeper: sends requests, receives replies and exit events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use tare_net::redirect::RedirectRules;

use super::fd_passing::FdReader;
use super::folder;
use super::lines::Lines;
use super::protocol::{Event, ExitStatus, LINE_BYTES_MAX, LinkCounts, Order, Request, Spawn};
use tare_net::link::{LinkPlan, RoundTrips};

use crate::LabError;
use crate::cgroup::limit_groups::CgroupLimits;
use crate::process;
use crate::variables::{ProgramKind, Variables};

/// Timeout of a reply, except to a stop.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Timeout of a shutdown: a keeper kills everything within 2 s.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(4);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessExit {
    /// Its process id.
    pub pid: u32,
    pub how: ExitStatus,
    /// The last lines of its output.
    pub tail: Vec<String>,
}

/// A running keeper. Dropping it kills all its processes and removes its folder.
pub struct Keeper {
    process: Child,
    stream: UnixStream,
    lines: Lines,
    /// Sockets received with replies.
    sockets: VecDeque<OwnedFd>,
    folder: PathBuf,
    /// Parent of that folder.
    base: PathBuf,
    /// Process id of the keeper itself, a child of its guardian.
    keeper_pid: u32,
    last_id: u64,
    replies: BTreeMap<u64, Reply>,
    exits: BTreeMap<String, ProcessExit>,
    dead: Option<String>,
}

type Reply = Result<(Option<u32>, Vec<String>), String>;

impl Keeper {
    /// Starts `<tare> keeper [--base DIR]` and waits until it is ready.
    ///
    /// # Errors
    /// When the program cannot be started or does not follow the protocol.
    pub fn start(tare: &Path, base: Option<&Path>) -> Result<Keeper, LabError> {
        Keeper::start_with(tare, base, &[])
    }

    /// Starts a keeper with its own namespaces: it can create pods.
    ///
    /// # Errors
    /// As above; and when namespaces cannot be created.
    pub fn start_in_namespaces(tare: &Path, base: Option<&Path>) -> Result<Keeper, LabError> {
        Keeper::start_with(tare, base, &["--namespaces"])
    }

    fn start_with(tare: &Path, base: Option<&Path>, flags: &[&str]) -> Result<Keeper, LabError> {
        let (ours, theirs) =
            UnixStream::pair().map_err(LabError::io("make a socket for the keeper"))?;
        let mut command = Command::new(tare);
        command.arg("keeper").args(flags);
        if let Some(base) = base {
            command.arg("--base").arg(base);
        }
        // What runs as the same user reads it in /proc: no secret may be there.
        Variables::from(ProgramKind::Plain).give(&mut command);
        let process = command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .map_err(LabError::io(format!(
                "start the keeper, {}",
                tare.display()
            )))?;
        drop(command);
        let mut keeper = Keeper {
            process,
            stream: ours,
            lines: Lines::new(LINE_BYTES_MAX),
            sockets: VecDeque::new(),
            folder: PathBuf::new(),
            base: base.map_or_else(folder::default_base, Path::to_owned),
            keeper_pid: 0,
            last_id: 0,
            replies: BTreeMap::new(),
            exits: BTreeMap::new(),
            dead: None,
        };
        let deadline = Instant::now() + ANSWER_LIMIT;
        while keeper.folder.as_os_str().is_empty() {
            keeper.read_until(deadline)?;
        }
        Ok(keeper)
    }

    /// Its private folder for keys, sockets and rendered files; removed with the keeper.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Id of the process that Tare started: the guardian.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Ids of all processes of the keeper itself.
    #[must_use]
    pub fn pids(&self) -> BTreeSet<u32> {
        BTreeSet::from([self.process.id(), self.keeper_pid])
    }

    /// Id of the keeper itself, a child of its guardian.
    #[must_use]
    pub fn inside_pid(&self) -> u32 {
        self.keeper_pid
    }

    /// Starts a process.
    ///
    /// # Errors
    /// Why it did not start.
    pub fn spawn(&mut self, spawn: &Spawn) -> Result<u32, LabError> {
        self.exits.remove(&spawn.name);
        let order = Order::Spawn {
            spawn: spawn.clone(),
        };
        let refused = |reason| LabError::Spawn {
            name: spawn.name.clone(),
            program: spawn.argv.first().cloned().unwrap_or_default(),
            reason,
        };
        let (pid, _) = self.ask(order, ANSWER_LIMIT)?.map_err(refused)?;
        pid.ok_or_else(|| LabError::Keeper(String::from("the keeper started a process without id")))
    }

    /// Sends a signal to the process of this name (not to its children).
    ///
    /// # Errors
    /// When it has exited.
    pub fn signal(&mut self, name: &str, signal: i32) -> Result<(), LabError> {
        let name = name.to_owned();
        self.order(Order::Signal { name, signal }).map(drop)
    }

    /// Stops a process by a signal, after the grace period by SIGKILL. Returns when it and its descendants are gone.
    ///
    /// # Errors
    /// When it is not known, or hangs in the kernel.
    pub fn stop(&mut self, name: &str, signal: i32, grace: Duration) -> Result<(), LabError> {
        let order = Order::Stop {
            name: name.to_owned(),
            signal,
            grace_ms: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX),
        };
        let result = self.ask(order, grace + ANSWER_LIMIT)?;
        self.exits.remove(name);
        result.map(drop).map_err(LabError::Keeper)
    }

    /// The last lines of a process's output.
    ///
    /// # Errors
    /// When it is not known.
    pub fn tail(&mut self, name: &str) -> Result<Vec<String>, LabError> {
        let name = name.to_owned();
        self.order(Order::Tail { name })
    }

    /// Pins the keeper, and processes without cores of their own, to these cores.
    ///
    /// # Errors
    /// When the cores are not available.
    pub fn pin(&mut self, cpus: &[u32]) -> Result<(), LabError> {
        let cpus = cpus.to_vec();
        self.order(Order::Pin { cpus }).map(drop)
    }

    /// Creates a pod's network namespace and attaches it to the run's switch.
    ///
    /// # Errors
    /// Why not; always for a keeper without namespaces.
    pub fn attach(&mut self, pod: &str, address: Ipv4Addr) -> Result<(), LabError> {
        let pod = pod.to_owned();
        self.order(Order::Attach { pod, address }).map(drop)
    }

    /// Connects two sites by an emulated link; returns the round-trip times measured on it.
    ///
    /// # Errors
    /// Why not; always for a keeper without namespaces.
    pub fn join(&mut self, sites: [u8; 2], plan: &LinkPlan) -> Result<RoundTrips, LabError> {
        let plan = plan.clone();
        let lines = self.order(Order::Join { sites, plan })?;
        serde_json::from_str(&lines.concat())
            .map_err(|error| LabError::Keeper(format!("no round trips were told: {error}")))
    }

    /// Counters of every link between sites since it was created.
    ///
    /// # Errors
    /// When the keeper has no namespaces or does not answer.
    pub fn links(&mut self) -> Result<Vec<LinkCounts>, LabError> {
        let lines = self.order(Order::Links)?;
        let counts = lines.iter().map(|line| serde_json::from_str(line));
        counts
            .collect::<Result<_, _>>()
            .map_err(|error| LabError::Keeper(format!("no counts of links were told: {error}")))
    }

    /// Releases a pod's network namespace.
    ///
    /// # Errors
    /// When there is no such pod.
    pub fn detach(&mut self, pod: &str) -> Result<(), LabError> {
        let pod = pod.to_owned();
        self.order(Order::Detach { pod }).map(drop)
    }

    /// Redirects a pod's traffic to its sidecar.
    ///
    /// # Errors
    /// When there is no such pod, no nft, or no group for the sidecars.
    pub fn redirect(&mut self, pod: &str, rules: &RedirectRules) -> Result<(), LabError> {
        let (pod, rules) = (pod.to_owned(), rules.clone());
        self.order(Order::Redirect { pod, rules }).map(drop)
    }

    /// An unconnected TCP socket in a pod's network namespace.
    ///
    /// # Errors
    /// When there is no such pod.
    pub fn socket(&mut self, pod: &str) -> Result<OwnedFd, LabError> {
        let pod = pod.to_owned();
        self.order(Order::Socket { pod })?;
        self.sockets.pop_front().ok_or_else(|| {
            LabError::Keeper(String::from("the keeper's answer came without its socket"))
        })
    }

    /// Checks that processes can be limited like this.
    ///
    /// # Errors
    /// Why not, with the next step.
    pub fn check_limits(&mut self, bounds: CgroupLimits) -> Result<(), LabError> {
        self.order(Order::TryBounds { bounds }).map(drop)
    }

    /// How a process exited, if it did without being stopped.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn exit_of(&mut self, name: &str) -> Result<Option<ProcessExit>, LabError> {
        self.poll_events()?;
        Ok(self.exits.get(name).cloned())
    }

    /// Processes pending messages of the keeper, without waiting.
    fn poll_events(&mut self) -> Result<(), LabError> {
        self.check_alive()?;
        self.stream
            .set_nonblocking(true)
            .map_err(LabError::io("read the keeper's socket"))?;
        let read = self.fill();
        self.stream
            .set_nonblocking(false)
            .map_err(LabError::io("read the keeper's socket"))?;
        self.process_input(read)
    }

    /// Sends a request that starts and stops nothing; the lines of its reply.
    fn order(&mut self, order: Order) -> Result<Vec<String>, LabError> {
        let (_, lines) = self.ask(order, ANSWER_LIMIT)?.map_err(LabError::Keeper)?;
        Ok(lines)
    }

    fn ask(&mut self, order: Order, limit: Duration) -> Result<Reply, LabError> {
        self.check_alive()?;
        self.last_id += 1;
        let id = self.last_id;
        let mut text = serde_json::to_vec(&Request { id, order })
            .map_err(|error| LabError::Keeper(error.to_string()))?;
        text.push(b'\n');
        if text.len() > LINE_BYTES_MAX {
            let reason = format!("an order of more than {LINE_BYTES_MAX} bytes");
            return Err(LabError::Keeper(reason));
        }
        if let Err(error) = self.stream.write_all(&text) {
            return Err(self.mark_dead(error.to_string()));
        }
        let deadline = Instant::now() + limit;
        loop {
            if let Some(reply) = self.replies.remove(&id) {
                return Ok(reply);
            }
            self.read_until(deadline)?;
        }
    }

    /// Waits for the keeper's next message.
    fn read_until(&mut self, deadline: Instant) -> Result<(), LabError> {
        self.check_alive()?;
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let reason = String::from("it did not answer in time");
            return Err(self.mark_dead(reason));
        }
        self.stream
            .set_read_timeout(Some(left))
            .map_err(LabError::io("read the keeper's socket"))?;
        let read = self.fill();
        self.process_input(read)
    }

    fn fill(&mut self) -> std::io::Result<()> {
        self.lines.fill(&mut FdReader {
            stream: &self.stream,
            sockets: &mut self.sockets,
        })
    }

    fn process_input(&mut self, read: std::io::Result<()>) -> Result<(), LabError> {
        while let Some(line) = self.lines.next() {
            match serde_json::from_slice(&line) {
                Ok(Event::Hello { pid, folder }) => {
                    self.keeper_pid = pid;
                    self.folder = folder;
                }
                Ok(Event::Failed { error }) => return Err(LabError::Keeper(error)),
                Ok(Event::Done { id, pid, lines }) => {
                    self.replies.insert(id, Ok((pid, lines)));
                }
                Ok(Event::Refused { id, error }) => {
                    self.replies.insert(id, Err(error));
                }
                Ok(Event::Exited {
                    name,
                    pid,
                    how,
                    tail,
                }) => {
                    self.exits.insert(name, ProcessExit { pid, how, tail });
                }
                Err(error) => return Err(self.mark_dead(format!("it spoke nonsense ({error})"))),
            }
        }
        if let Err(error) = read {
            return Err(self.mark_dead(error.to_string()));
        }
        if self.lines.ended() {
            return Err(self.mark_dead(String::from("its socket is closed")));
        }
        Ok(())
    }

    fn check_alive(&self) -> Result<(), LabError> {
        match &self.dead {
            None => Ok(()),
            Some(why) => Err(LabError::KeeperDied {
                pid: self.pid(),
                why: why.clone(),
            }),
        }
    }

    /// Marks the keeper as dead and cleans up for it: kills its processes, removes its folder.
    fn mark_dead(&mut self, why: String) -> LabError {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        // A keeper that hangs is killed, and its guardian cleans up after it; then the guardian.
        if !self.has_exited_in_time() {
            let keeper = process::stat(self.keeper_pid);
            if let Some(keeper) = keeper.filter(|keeper| keeper.parent == self.process.id()) {
                process::send_signal(&keeper, Signal::KILL);
                self.has_exited_in_time();
            }
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        if self.folder.as_os_str().is_empty() {
            // It may have created one before it could report it.
            folder::sweep(&self.base);
        } else {
            folder::clear(&self.folder);
        }
        self.dead = Some(why.clone());
        LabError::KeeperDied {
            pid: self.pid(),
            why,
        }
    }

    /// Waits for the exit of the process that Tare started.
    fn has_exited_in_time(&mut self) -> bool {
        let deadline = Instant::now() + SHUTDOWN_LIMIT;
        loop {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            process::pause(Duration::from_millis(2));
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if self.dead.is_some() {
            // What was made for this keeper after it had been cleaned up for.
            if !self.folder.as_os_str().is_empty() {
                let _ = folder::remove(&self.folder);
            }
            return;
        }
        // End-of-file would do; the message makes a trace of the socket readable.
        let order = Order::Shutdown;
        let farewell = serde_json::to_vec(&Request { id: 0, order }).unwrap_or_default();
        let _ = self.stream.write_all(&farewell);
        let _ = self.stream.write_all(b"\n");
        let _ = self.mark_dead(String::from("it was told to end"));
    }
}
