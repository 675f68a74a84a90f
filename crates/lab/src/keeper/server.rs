//! The keeper process: a single-threaded loop that starts and monitors processes, and kills them when Tare is gone.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;

use super::children::{self, Children};
use super::fd_passing::{SendQueue, SendStatus};
use super::folder::{self, PrivateFolder};
use super::guardian::{self, Namespaces};
use super::lines::Lines;
use super::pods::PodNetworks;
use super::protocol::{Event, ExitStatus, LINE_BYTES_MAX, Order, Request, Spawn};
use crate::LabError;
use crate::cgroup::limit_groups::{CgroupLimits, LimitGroups};
use crate::process;

/// Unsent replies above which no request is read.
const BACKLOG_BYTES_MAX: usize = 256 << 10;
/// Interval of checking a stop in progress.
const STOP_TICK: Duration = Duration::from_millis(5);
/// Interval of reaping adopted processes when idle.
const IDLE_TICK: Duration = Duration::from_secs(1);
/// A process that survives SIGKILL for this long hangs in the kernel.
const KILL_LIMIT: Duration = Duration::from_secs(5);
/// Error of a keeper without namespaces for requests about pods.
const NO_PODS: &str = "this keeper has no namespaces, and so no pods";

/// Where a keeper runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeeperMode {
    /// On the host, with a private folder in this one; `None`: in `$XDG_RUNTIME_DIR` or `/tmp`.
    Host(Option<PathBuf>),
    /// With namespaces of its own, which it has to create; private folder as above.
    Namespaces(Option<PathBuf>),
    /// Below its guardian on the host; it makes a private folder.
    OnHost(InsideOptions),
    /// In the namespaces that its guardian created; it makes a private folder.
    InNamespaces(InsideOptions),
}

/// What a guardian tells its keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsideOptions {
    /// The private folder to make.
    pub folder: PathBuf,
    /// Process id of the conductor, as the guardian sees it.
    pub conductor: u32,
}

/// Runs the keeper: standard input is its socket to the conductor. Returns when all processes are gone.
///
/// # Errors
/// When it cannot start; this is also sent to the conductor.
pub fn keeper_main(mode: KeeperMode) -> Result<(), LabError> {
    crate::sys::ignore_interrupts();
    // Fails only for a group leader; then Ctrl-C reaches us but is ignored.
    let _ = rustix::process::setsid();
    let socket = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(LabError::io("use standard input as the keeper's socket"))?;
    let stream = UnixStream::from(socket);
    guardian::forget_standard_input()?;
    let (options, has_pods) = match mode {
        KeeperMode::Host(base) => return guard(stream, base, Namespaces::Hosts),
        KeeperMode::Namespaces(base) => return guard(stream, base, Namespaces::Own),
        KeeperMode::OnHost(options) => (options, false),
        KeeperMode::InNamespaces(options) => (options, true),
    };
    let started = guardian::watch().and_then(|guardian| {
        let folder = PrivateFolder::make(options.folder.clone())?;
        let path = folder.path().to_owned();
        let server = match has_pods {
            true => PodNetworks::new().map(Some),
            false => Ok(None),
        };
        let server = server.and_then(|pods| Server::start(&stream, guardian, folder, pods));
        // The first error is the one to report.
        server.inspect_err(|_| drop(folder::remove(&path)))
    });
    match started {
        Ok(server) => {
            let ended = server.run();
            if let Some(base) = options.folder.parent() {
                folder::remove_those_of(base, options.conductor);
            }
            ended
        }
        Err(error) => {
            report_failure(&stream, &error);
            Err(error)
        }
    }
}

fn guard(
    stream: UnixStream,
    base: Option<PathBuf>,
    namespaces: Namespaces,
) -> Result<(), LabError> {
    guardian::guard(
        stream,
        &base.unwrap_or_else(folder::default_base),
        namespaces,
    )
}

/// Reports to the conductor that the keeper could not start.
pub(crate) fn report_failure(mut stream: &UnixStream, error: &LabError) {
    let event = Event::Failed {
        error: error.to_string(),
    };
    // The conductor may be gone.
    let _ = stream.write_all(&line(&event));
}

struct Server<'a> {
    stream: &'a UnixStream,
    /// Pipe to the guardian.
    guardian: OwnedFd,
    folder: PrivateFolder,
    pods: Option<PodNetworks>,
    children: Children,
    limit_groups: LimitGroups,
    lines: Lines,
    outbound: SendQueue,
    stopping: Vec<Stopping>,
}

/// A stop in progress.
struct Stopping {
    id: u64,
    name: String,
    kill_at: Instant,
}

enum LoopControl {
    Continue,
    Exit,
}

impl<'a> Server<'a> {
    fn start(
        stream: &'a UnixStream,
        guardian: OwnedFd,
        folder: PrivateFolder,
        pods: Option<PodNetworks>,
    ) -> Result<Self, LabError> {
        guardian::adopt_orphans()?;
        stream
            .set_nonblocking(true)
            .map_err(LabError::io("use the keeper's socket (standard input)"))?;
        let own_pid = match &pods {
            None => Some(std::process::id()),
            Some(pods) => pods.own_outer_pid(),
        };
        let mut server = Server {
            stream,
            guardian,
            pods,
            children: Children::default(),
            limit_groups: LimitGroups::new(folder.path()),
            lines: Lines::new(LINE_BYTES_MAX),
            outbound: SendQueue::default(),
            stopping: Vec::new(),
            folder,
        };
        server.send(&Event::Hello {
            pid: own_pid.ok_or_else(|| {
                let reason = "the host's /proc does not tell the keeper's process id";
                LabError::Keeper(String::from(reason))
            })?,
            folder: server.folder.path().to_owned(),
        });
        Ok(server)
    }

    fn run(mut self) -> Result<(), LabError> {
        while let LoopControl::Continue = self.run_once() {}
        self.children.end_all();
        self.folder
            .remove()
            .map_err(LabError::io("remove the private folder"))
    }

    /// Waits for events and handles them.
    fn run_once(&mut self) -> LoopControl {
        let (socket, guardian, outputs) = self.wait();
        self.children.reap();
        for name in outputs {
            if let Some(child) = self.children.by_name.get_mut(&name) {
                child.output.take();
            }
        }
        self.report_exits();
        self.advance_stops();
        let has_input = socket.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
        if !guardian.is_empty() {
            return LoopControl::Exit;
        }
        if has_input && let LoopControl::Exit = self.listen() {
            return LoopControl::Exit;
        }
        self.flush()
    }

    /// Polls sockets, outputs and pidfds; returns the events of the socket and of the pipe to the guardian, and the names
    /// of processes with output.
    fn wait(&self) -> (PollFlags, PollFlags, Vec<String>) {
        let mut interest = PollFlags::empty();
        if self.outbound.len() < BACKLOG_BYTES_MAX {
            interest |= PollFlags::IN;
        }
        if !self.outbound.is_empty() {
            interest |= PollFlags::OUT;
        }
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.stream.as_fd(), interest),
            PollFd::from_borrowed_fd(self.guardian.as_fd(), PollFlags::empty()),
        ];
        let mut writers: Vec<&String> = Vec::new();
        for (name, child) in &self.children.by_name {
            if let Some(pipe) = child.output.pipe() {
                writers.push(name);
                fds.push(readable(pipe));
            }
        }
        let running = self.children.by_name.values();
        for child in running.filter(|child| child.exit_status.is_none()) {
            fds.push(readable(child.ended.as_fd()));
        }
        let tick = if self.stopping.is_empty() {
            IDLE_TICK
        } else {
            STOP_TICK
        };
        let limit = process::timespec(tick);
        // An error is an interruption: the caller checks everything anyway.
        let _ = rustix::event::poll(&mut fds, Some(&limit));
        let ready = writers
            .into_iter()
            .zip(&fds[2..])
            .filter(|(_, fd)| !fd.revents().is_empty())
            .map(|(name, _)| name.clone())
            .collect();
        (fds[0].revents(), fds[1].revents(), ready)
    }

    fn listen(&mut self) -> LoopControl {
        let mut stream = self.stream;
        if self.lines.fill(&mut stream).is_err() {
            return LoopControl::Exit;
        }
        while let Some(line) = self.lines.next() {
            match serde_json::from_slice::<Request>(&line) {
                Ok(request) => {
                    if let LoopControl::Exit = self.execute(request) {
                        return LoopControl::Exit;
                    }
                }
                // A malformed request does not come from our conductor.
                Err(_) => return LoopControl::Exit,
            }
        }
        if self.lines.ended() {
            return LoopControl::Exit;
        }
        LoopControl::Continue
    }

    fn execute(&mut self, request: Request) -> LoopControl {
        let Request { id, order } = request;
        let answer = match order {
            Order::Spawn { spawn } => self.spawn(&spawn).map(|pid| (Some(pid), Vec::new())),
            Order::Signal { name, signal } => self.signal(&name, signal),
            Order::Stop {
                name,
                signal,
                grace_ms,
            } => return self.begin_stop(id, name, signal, grace_ms),
            Order::Tail { name } => self.tail(&name),
            Order::Pin { cpus } => pin(&cpus),
            Order::Attach { pod, address } => self
                .with_pods(|pods| pods.attach(&pod, address))
                .map(empty_reply),
            Order::Join { sites, plan } => {
                let owner = self.stream.as_fd();
                self.with_pods(|pods| pods.join(sites, &plan, owner))
                    .map(|trips| (None, vec![trips]))
            }
            Order::Links => self.with_pods(|pods| pods.counts()).map(|all| (None, all)),
            Order::Detach { pod } => self.with_pods(|pods| pods.detach(&pod)).map(empty_reply),
            Order::Redirect { pod, rules } => self
                .with_pods(|pods| pods.redirect(&pod, &rules))
                .map(empty_reply),
            Order::Socket { pod } => self.with_pods(|pods| pods.socket(&pod)).map(|socket| {
                self.outbound.push_socket(socket);
                empty_reply(())
            }),
            Order::TryBounds { bounds } => self.check_limits(&bounds).map(empty_reply),
            Order::Shutdown => return LoopControl::Exit,
        };
        let event = match answer {
            Ok((pid, lines)) => Event::Done { id, pid, lines },
            Err(error) => Event::Refused { id, error },
        };
        self.send(&event);
        LoopControl::Continue
    }

    fn spawn(&mut self, spawn: &Spawn) -> Result<u32, String> {
        let network = match (&spawn.pod, &self.pods) {
            (None, _) => None,
            (Some(pod), Some(pods)) => Some(pods.network(pod)?),
            (Some(_), None) => return Err(String::from(NO_PODS)),
        };
        let groups = match &spawn.bounds {
            Some(bounds) if !self.children.by_name.contains_key(&spawn.name) => {
                self.limit_groups.make(&spawn.name, bounds)?
            }
            _ => Vec::new(),
        };
        let place = children::SpawnContext {
            mark: &folder::name_of(self.folder.path()),
            network,
            outer_proc: self.pods.as_ref().map(PodNetworks::outer_proc),
            groups,
        };
        let started = self.children.spawn(spawn, place);
        if !self.children.by_name.contains_key(&spawn.name) {
            self.limit_groups.remove(&spawn.name);
        }
        started
    }

    /// Creates and removes the groups of a process that is not started.
    fn check_limits(&mut self, bounds: &CgroupLimits) -> Result<(), String> {
        const NOBODY: &str = "nobody";
        let made = self.limit_groups.make(NOBODY, bounds);
        self.limit_groups.remove(NOBODY);
        made.map(drop)
    }

    fn with_pods<T>(
        &mut self,
        work: impl FnOnce(&mut PodNetworks) -> Result<T, String>,
    ) -> Result<T, String> {
        self.pods.as_mut().map_or(Err(String::from(NO_PODS)), work)
    }

    fn signal(&self, name: &str, signal: i32) -> Result<(Option<u32>, Vec<String>), String> {
        let child = self.children.by_name.get(name);
        let child = child.ok_or_else(|| format!("no process named {name} is kept"))?;
        if child.exit_status.is_some() {
            return Err(format!("{name} has already ended"));
        }
        let signal =
            Signal::from_named_raw(signal).ok_or_else(|| format!("invalid signal {signal}"))?;
        rustix::process::kill_process(child.pid, signal)
            .map(|()| (None, Vec::new()))
            .map_err(|error| format!("cannot signal {name}: {error}"))
    }

    fn tail(&mut self, name: &str) -> Result<(Option<u32>, Vec<String>), String> {
        let child = self.children.by_name.get_mut(name);
        let child = child.ok_or_else(|| format!("no process named {name} is kept"))?;
        child.output.take();
        Ok((None, child.output.tail()))
    }

    fn begin_stop(&mut self, id: u64, name: String, signal: i32, grace_ms: u64) -> LoopControl {
        let Some(child) = self.children.by_name.get(&name) else {
            let error = format!("no process named {name} is kept");
            self.send(&Event::Refused { id, error });
            return LoopControl::Continue;
        };
        if child.exit_status.is_none() {
            // To the main process only: most servers stop their workers themselves, in their own order.
            let signal = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
            let _ = rustix::process::kill_process(child.pid, signal);
        }
        self.stopping.push(Stopping {
            id,
            name,
            kill_at: Instant::now() + Duration::from_millis(grace_ms),
        });
        LoopControl::Continue
    }

    /// Continues the stops: after exit or grace period the process and its descendants are killed.
    fn advance_stops(&mut self) {
        for stop in std::mem::take(&mut self.stopping) {
            let ended = match self.children.by_name.get(&stop.name) {
                Some(child) => child.exit_status.is_some(),
                None => true,
            };
            let now = Instant::now();
            if !ended && now < stop.kill_at {
                self.stopping.push(stop);
                continue;
            }
            let left = self.children.members(&stop.name);
            if left.is_empty() && ended {
                self.children.by_name.remove(&stop.name);
                self.limit_groups.remove(&stop.name);
                self.send(&Event::Done {
                    id: stop.id,
                    pid: None,
                    lines: Vec::new(),
                });
            } else if now > stop.kill_at + KILL_LIMIT {
                let error = format!(
                    "{} (pid {:?}) does not end even by SIGKILL: it hangs in the kernel",
                    stop.name,
                    left.iter().map(|p| p.pid).collect::<Vec<_>>()
                );
                self.send(&Event::Refused { id: stop.id, error });
            } else {
                for one in &left {
                    process::send_signal(one, Signal::KILL);
                }
                self.stopping.push(stop);
            }
        }
    }

    /// Reports each exit once, with the last output.
    fn report_exits(&mut self) {
        let mut events = Vec::new();
        for (name, child) in &mut self.children.by_name {
            let Some(mut how) = child.exit_status.filter(|_| !child.exit_reported) else {
                continue;
            };
            if let (ExitStatus::Signal(libc::SIGKILL), Some(limit_bytes)) =
                (how, child.memory_bytes_max)
                && self.limit_groups.memory_kills(name) > 0
            {
                how = ExitStatus::Memory { limit_bytes };
            }
            child.exit_reported = true;
            child.output.take();
            events.push(Event::Exited {
                name: name.clone(),
                pid: child.outer_pid,
                how,
                tail: child.output.tail(),
            });
        }
        for event in events {
            self.send(&event);
        }
    }

    fn send(&mut self, event: &Event) {
        self.outbound.push(line(event));
    }

    fn flush(&mut self) -> LoopControl {
        match self.outbound.flush(self.stream) {
            SendStatus::Open => LoopControl::Continue,
            SendStatus::Closed => LoopControl::Exit,
        }
    }
}

fn empty_reply((): ()) -> (Option<u32>, Vec<String>) {
    (None, Vec::new())
}

fn readable(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}

fn pin(cpus: &[u32]) -> Result<(Option<u32>, Vec<String>), String> {
    // All threads, also those of links between sites: they must leave the agents' core.
    process::pin_own_threads(cpus)
        .map(empty_reply)
        .map_err(|error| format!("cannot run the keeper on cores {cpus:?}: {error}"))
}

/// An event as a line of JSON. (It is plain data: serialisation cannot fail.)
fn line(event: &Event) -> Vec<u8> {
    let mut text = serde_json::to_vec(event).unwrap_or_default();
    text.push(b'\n');
    text
}
