//! The keeper process: a single-threaded loop that starts, watches and, when Tare is gone, kills.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;

use super::children::{self, Children};
use super::folder::{self, PrivateFolder};
use super::guardian;
use super::lines::Lines;
use super::passing::{Outlet, Sent};
use super::pods::Pods;
use super::protocol::{Ending, Event, LINE_BYTES_MAX, Order, Request, Spawn};
use crate::LabError;
use crate::cgroup::fence::{Bounds, Fences};
use crate::process;

/// Answers that the conductor has not read yet: beyond this no order is taken.
const BACKLOG_BYTES_MAX: usize = 256 << 10;
/// How often a stop in progress is looked at.
const STOP_TICK: Duration = Duration::from_millis(5);
/// How often adopted processes are reaped while nothing else happens.
const IDLE_TICK: Duration = Duration::from_secs(1);
/// After SIGKILL a process that is still there hangs in the kernel.
const KILL_LIMIT: Duration = Duration::from_secs(5);
/// Answer of a keeper on the host to questions about pods.
const NO_PODS: &str = "this keeper has no namespaces, and so no pods";
/// All that is done after Tare's death must fit in 2 s.
const LAST_LIMIT: Duration = Duration::from_millis(1700);

/// What a keeper stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// The host, with a private folder in this one; `None`: in `$XDG_RUNTIME_DIR` or `/tmp`.
    Host(Option<PathBuf>),
    /// Namespaces of its own, with a private folder as above.
    Namespaces(Option<PathBuf>),
    /// The namespaces it has been started in; its private folder is there already.
    Inside(PathBuf),
}

/// Runs the keeper: standard input is its socket to the conductor. Returns when all it kept is gone.
///
/// # Errors
/// When it cannot start; the conductor is told over the socket, too.
pub fn keeper_main(ground: Ground) -> Result<(), LabError> {
    crate::sys::ignore_interrupts();
    // Fails only for a group leader, and then Ctrl-C reaches us but is ignored.
    let _ = rustix::process::setsid();
    let socket = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(LabError::io("use standard input as the keeper's socket"))?;
    let stream = UnixStream::from(socket);
    guardian::forget_standard_input()?;
    let server = match ground {
        Ground::Namespaces(base) => {
            return guardian::guard(stream, &base.unwrap_or_else(folder::default_base));
        }
        Ground::Host(base) => {
            let base = base.unwrap_or_else(folder::default_base);
            folder::sweep(&base);
            PrivateFolder::make(&base)
                .and_then(|folder| Server::start(&stream, Home::Ours(folder), None))
        }
        Ground::Inside(folder) => guardian::is_there(&folder)
            .and_then(|()| Pods::new())
            .and_then(|pods| Server::start(&stream, Home::Guardians(folder), Some(pods))),
    };
    match server {
        Ok(server) => server.run(),
        Err(error) => {
            tell_failure(&stream, &error);
            Err(error)
        }
    }
}

/// Tells the conductor that there will be no keeper.
pub(crate) fn tell_failure(mut stream: &UnixStream, error: &LabError) {
    let event = Event::Failed {
        error: error.to_string(),
    };
    // If it is gone, nobody wants to know.
    let _ = stream.write_all(&line(&event));
}

/// The private folder, and who removes it.
enum Home {
    Ours(PrivateFolder),
    Guardians(PathBuf),
}

impl Home {
    fn path(&self) -> &Path {
        match self {
            Home::Ours(folder) => folder.path(),
            Home::Guardians(path) => path,
        }
    }
}

struct Server<'a> {
    stream: &'a UnixStream,
    home: Home,
    pods: Option<Pods>,
    children: Children,
    fences: Fences,
    lines: Lines,
    outbound: Outlet,
    stops: Vec<Stopping>,
}

/// A stop in progress.
struct Stopping {
    id: u64,
    name: String,
    kill_at: Instant,
}

enum After {
    GoOn,
    End,
}

impl<'a> Server<'a> {
    fn start(stream: &'a UnixStream, home: Home, pods: Option<Pods>) -> Result<Self, LabError> {
        // The value only has to be there: the kernel takes any for "yes".
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(LabError::io("become the parent of orphans"))?;
        stream
            .set_nonblocking(true)
            .map_err(LabError::io("use the keeper's socket (standard input)"))?;
        let own_pid = match &pods {
            None => Some(std::process::id()),
            Some(pods) => pods.own_outer_pid(),
        };
        let mut server = Server {
            stream,
            pods,
            children: Children::default(),
            fences: Fences::new(home.path()),
            lines: Lines::new(LINE_BYTES_MAX),
            outbound: Outlet::default(),
            stops: Vec::new(),
            home,
        };
        server.say(&Event::Hello {
            pid: own_pid.ok_or_else(|| {
                let reason = "the host's /proc does not tell the keeper's process id";
                LabError::Keeper(String::from(reason))
            })?,
            folder: server.home.path().to_owned(),
        });
        Ok(server)
    }

    fn run(mut self) -> Result<(), LabError> {
        while let After::GoOn = self.turn() {}
        let deadline = Instant::now() + LAST_LIMIT;
        while !self.children.kill_all() && Instant::now() < deadline {
            process::pause(Duration::from_millis(1));
        }
        match self.home {
            Home::Ours(folder) => folder
                .remove()
                .map_err(LabError::io("remove the private folder")),
            Home::Guardians(_) => Ok(()),
        }
    }

    /// Waits for something to happen and deals with it.
    fn turn(&mut self) -> After {
        let (socket, outputs) = self.wait();
        self.children.reap();
        for name in outputs {
            if let Some(child) = self.children.by_name.get_mut(&name) {
                child.output.take();
            }
        }
        self.tell_endings();
        self.advance_stops();
        let heard = socket.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
        if heard && let After::End = self.listen() {
            return After::End;
        }
        self.flush()
    }

    /// Polls the socket, the outputs and the endings; returns what the socket is ready for and who wrote.
    fn wait(&self) -> (PollFlags, Vec<String>) {
        let mut interest = PollFlags::empty();
        if self.outbound.len() < BACKLOG_BYTES_MAX {
            interest |= PollFlags::IN;
        }
        if !self.outbound.is_empty() {
            interest |= PollFlags::OUT;
        }
        let mut fds = vec![PollFd::from_borrowed_fd(self.stream.as_fd(), interest)];
        let mut writers: Vec<&String> = Vec::new();
        for (name, child) in &self.children.by_name {
            if let Some(pipe) = child.output.pipe() {
                writers.push(name);
                fds.push(readable(pipe));
            }
        }
        let running = self.children.by_name.values();
        for child in running.filter(|child| child.ending.is_none()) {
            fds.push(readable(child.ended.as_fd()));
        }
        let tick = if self.stops.is_empty() {
            IDLE_TICK
        } else {
            STOP_TICK
        };
        let limit = Timespec {
            tv_sec: tick.as_secs().cast_signed(),
            tv_nsec: tick.subsec_nanos().into(),
        };
        // An error is an interruption: the caller looks at everything anyway.
        let _ = rustix::event::poll(&mut fds, Some(&limit));
        let ready = writers
            .into_iter()
            .zip(&fds[1..])
            .filter(|(_, fd)| !fd.revents().is_empty())
            .map(|(name, _)| name.clone())
            .collect();
        (fds[0].revents(), ready)
    }

    fn listen(&mut self) -> After {
        let mut stream = self.stream;
        if self.lines.fill(&mut stream).is_err() {
            return After::End;
        }
        while let Some(line) = self.lines.next() {
            match serde_json::from_slice::<Request>(&line) {
                Ok(request) => {
                    if let After::End = self.carry_out(request) {
                        return After::End;
                    }
                }
                // Whoever sends rubbish is not our conductor.
                Err(_) => return After::End,
            }
        }
        if self.lines.ended() {
            return After::End;
        }
        After::GoOn
    }

    fn carry_out(&mut self, request: Request) -> After {
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
            Order::Plug { pod, address } => self
                .with_pods(|pods| pods.plug(&pod, address))
                .map(nothing_to_tell),
            Order::Join { sites, plan } => {
                let owner = self.stream.as_fd();
                self.with_pods(|pods| pods.join(sites, &plan, owner))
                    .map(|trips| (None, vec![trips]))
            }
            Order::Links => self.with_pods(|pods| pods.counts()).map(|all| (None, all)),
            Order::Unplug { pod } => self
                .with_pods(|pods| pods.unplug(&pod))
                .map(nothing_to_tell),
            Order::Capture { pod, capture } => self
                .with_pods(|pods| pods.capture(&pod, &capture))
                .map(nothing_to_tell),
            Order::Socket { pod } => self.with_pods(|pods| pods.socket(&pod)).map(|socket| {
                self.outbound.push_socket(socket);
                nothing_to_tell(())
            }),
            Order::TryBounds { bounds } => self.try_bounds(&bounds).map(nothing_to_tell),
            Order::Shutdown => return After::End,
        };
        let event = match answer {
            Ok((pid, lines)) => Event::Done { id, pid, lines },
            Err(error) => Event::Refused { id, error },
        };
        self.say(&event);
        After::GoOn
    }

    fn spawn(&mut self, spawn: &Spawn) -> Result<u32, String> {
        let network = match (&spawn.pod, &self.pods) {
            (None, _) => None,
            (Some(pod), Some(pods)) => Some(pods.network(pod)?),
            (Some(_), None) => return Err(String::from(NO_PODS)),
        };
        let groups = match &spawn.bounds {
            Some(bounds) if !self.children.by_name.contains_key(&spawn.name) => {
                self.fences.make(&spawn.name, bounds)?
            }
            _ => Vec::new(),
        };
        let place = children::Place {
            mark: &folder::name_of(self.home.path()),
            network,
            outer_proc: self.pods.as_ref().map(Pods::outer_proc),
            groups,
        };
        let started = self.children.spawn(spawn, place);
        if !self.children.by_name.contains_key(&spawn.name) {
            self.fences.remove(&spawn.name);
        }
        started
    }

    /// Makes the groups of a process that is not started.
    fn try_bounds(&mut self, bounds: &Bounds) -> Result<(), String> {
        const NOBODY: &str = "nobody";
        let made = self.fences.make(NOBODY, bounds);
        self.fences.remove(NOBODY);
        made.map(drop)
    }

    fn with_pods<T>(
        &mut self,
        work: impl FnOnce(&mut Pods) -> Result<T, String>,
    ) -> Result<T, String> {
        self.pods.as_mut().map_or(Err(String::from(NO_PODS)), work)
    }

    fn signal(&self, name: &str, signal: i32) -> Result<(Option<u32>, Vec<String>), String> {
        let child = self.children.by_name.get(name);
        let child = child.ok_or_else(|| format!("no process named {name} is kept"))?;
        if child.ending.is_some() {
            return Err(format!("{name} has already ended"));
        }
        let signal =
            Signal::from_named_raw(signal).ok_or_else(|| format!("{signal} is no signal"))?;
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

    fn begin_stop(&mut self, id: u64, name: String, signal: i32, grace_ms: u64) -> After {
        let Some(child) = self.children.by_name.get(&name) else {
            let error = format!("no process named {name} is kept");
            self.say(&Event::Refused { id, error });
            return After::GoOn;
        };
        if child.ending.is_none() {
            // To the leader only: most servers tell their workers themselves, in their own order.
            let signal = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
            let _ = rustix::process::kill_process(child.pid, signal);
        }
        self.stops.push(Stopping {
            id,
            name,
            kill_at: Instant::now() + Duration::from_millis(grace_ms),
        });
        After::GoOn
    }

    /// Carries the stops on: when the process has ended or its time is up, everything of it is killed.
    fn advance_stops(&mut self) {
        for stop in std::mem::take(&mut self.stops) {
            let ended = match self.children.by_name.get(&stop.name) {
                Some(child) => child.ending.is_some(),
                None => true,
            };
            let now = Instant::now();
            if !ended && now < stop.kill_at {
                self.stops.push(stop);
                continue;
            }
            let left = self.children.members(&stop.name);
            if left.is_empty() && ended {
                self.children.by_name.remove(&stop.name);
                self.fences.remove(&stop.name);
                self.say(&Event::Done {
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
                self.say(&Event::Refused { id: stop.id, error });
            } else {
                for one in &left {
                    process::send_signal(one, Signal::KILL);
                }
                self.stops.push(stop);
            }
        }
    }

    /// Reports endings, once each, with the end of the output.
    fn tell_endings(&mut self) {
        let mut events = Vec::new();
        for (name, child) in &mut self.children.by_name {
            let Some(mut how) = child.ending.filter(|_| !child.told) else {
                continue;
            };
            if let (Ending::Signal(libc::SIGKILL), Some(limit_bytes)) =
                (how, child.memory_bytes_max)
                && self.fences.memory_kills(name) > 0
            {
                how = Ending::Memory { limit_bytes };
            }
            child.told = true;
            child.output.take();
            events.push(Event::Exited {
                name: name.clone(),
                pid: child.outer_pid,
                how,
                tail: child.output.tail(),
            });
        }
        for event in events {
            self.say(&event);
        }
    }

    fn say(&mut self, event: &Event) {
        self.outbound.push(line(event));
    }

    fn flush(&mut self) -> After {
        match self.outbound.flush(self.stream) {
            Sent::SoFar => After::GoOn,
            Sent::Nobody => After::End,
        }
    }
}

fn nothing_to_tell((): ()) -> (Option<u32>, Vec<String>) {
    (None, Vec::new())
}

fn readable(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}

fn pin(cpus: &[u32]) -> Result<(Option<u32>, Vec<String>), String> {
    // The threads of links between sites are among them: they must leave the agents' core.
    process::pin_own_threads(cpus)
        .map(nothing_to_tell)
        .map_err(|error| format!("cannot run the keeper on cores {cpus:?}: {error}"))
}

/// An event as a line. (An event is plain data: it always has a JSON form.)
fn line(event: &Event) -> Vec<u8> {
    let mut text = serde_json::to_vec(event).unwrap_or_default();
    text.push(b'\n');
    text
}
