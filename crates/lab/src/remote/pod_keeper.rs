//! The keeper of a pod elsewhere: carries out the conductor's orders there, by a keeper of its own. It ends with the run
//! keeper, and its keeper ends everything else with it, however it ends.

use std::fs;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tare_record::regular::write_new;

use super::channels::Channels;
use super::connection::{Caller, Peer};
use super::frame::MESSAGE_BYTES_MAX;
use super::greeting::client_config;
use super::message::{FromPod, PodOrder, ToPod, pack, unpack};
use crate::LabError;
use crate::environment::Observation;
use crate::host::read_part;
use crate::http;
use crate::keeper::{Keeper, lock};
use crate::local::isolation;
use crate::observe::{LocalObservation, ObservedInstance, ObservedPod};
use crate::process;

/// Interval at which memory is sampled while resource usage is observed.
const TICK: Duration = Duration::from_millis(250);
/// Interval of looking whether a process that should connect still waits to be let in.
const LOOK: Duration = Duration::from_millis(50);
/// Time for the last replies to be sent.
const FAREWELL: Duration = Duration::from_secs(1);
/// Host names of the pod.
pub(super) const HOSTS: &str = "/etc/hosts";
/// Mode of folders on the way to those of instances: others pass and list nothing.
pub(super) const WAY_MODE: u32 = 0o711;
/// Mode of a folder for temporary files: nobody removes or renames what is another's.
const TEMPORARY_MODE: u32 = 0o1777;
/// Longest measurement of the clock.
const CLOCK_WITHIN: Duration = Duration::from_secs(5);

/// What the keeper of a pod is told.
#[derive(Clone, Serialize, Deserialize)]
pub struct PodKeeperConfig {
    /// The pod's name in the run.
    pub name: String,
    /// The run keeper.
    pub address: SocketAddr,
    /// Of this name alone.
    pub token: String,
    /// Certificate of the authority that signed the run keeper's.
    pub authority: String,
    /// Folder of the run's files: the same path in every pod and where they are made. Nothing else may be in this place.
    pub folder: PathBuf,
    /// Folders of the conductor's machine that are elsewhere in the pod: they become links.
    #[serde(default)]
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Without a word of the run keeper for so long it is gone.
    pub silence_ms: u64,
}

struct PodKeeper {
    keeper: Keeper,
    peer: Arc<Peer>,
    channels: Arc<Channels>,
    observation: Option<Box<dyn Observation>>,
    /// When its last reading is due.
    last_reading: Option<Instant>,
    /// What came of it.
    observed: Option<Reply>,
    /// Sockets on which a process should connect: dropped when it has, or never will.
    awaited: Awaited,
}

/// Process → listener.
type Awaited = Arc<Mutex<Vec<(String, Arc<UnixListener>)>>>;

/// A reply: an object and bytes.
type Reply = Result<(Value, Vec<u8>), String>;

/// Runs until the run keeper ends it or is gone. `tare` is the program that its own keeper is started from.
///
/// # Errors
/// When it cannot start.
pub fn pod_keeper_main(tare: &Path, config: PodKeeperConfig) -> Result<(), LabError> {
    crate::sys::ignore_interrupts();
    for (path, to) in &config.links {
        link(path, to).map_err(LabError::io(made(path)))?;
    }
    make_run_folder(&config.folder).map_err(LabError::io("make the run's folder"))?;
    // Not beside it: what a keeper takes for folders of dead keepers may belong to processes of other pods.
    let keeper = Keeper::start(tare, Some(&config.folder))?;
    let peer = Peer::new().map_err(LabError::io("make a session"))?;
    let address = config.address;
    let silence = Duration::from_millis(config.silence_ms);
    let caller = Caller {
        dial: Box::new(move || TcpStream::connect_timeout(&address, silence.min(TICK * 20))),
        config: client_config(&config.authority).map_err(LabError::Keeper)?,
        token: config.token,
        name: config.name,
        silence,
    };
    let saying = Arc::clone(&peer);
    let channels = Channels::new(Arc::new(move |channel, bytes: Option<&[u8]>| {
        let message = match bytes {
            Some(bytes) => pack(&FromPod::Bytes { channel }, bytes),
            None => pack(&FromPod::Close { channel }, &[]),
        };
        // A session that is over has no channels.
        let _ = saying.send(message);
    }));
    let (orders, inbox) = channel();
    let (calling, relaying) = (Arc::clone(&peer), Arc::clone(&channels));
    std::thread::Builder::new()
        .name(String::from("run-keeper"))
        .spawn(move || {
            let deliver = |message: Vec<u8>| take(&message, &relaying, &orders, &calling);
            caller.run(&calling, deliver);
        })
        .map_err(LabError::io("call the run keeper"))?;
    let mut pod = PodKeeper {
        keeper,
        peer,
        channels,
        observation: None,
        last_reading: None,
        observed: None,
        awaited: Arc::default(),
    };
    match pod.run(&inbox) {
        None => Ok(()),
        Some(why) => Err(LabError::RunKeeperGone { why }),
    }
}

/// Gives orders to the main thread, and bytes to their sockets.
fn take(
    message: &[u8],
    channels: &Channels,
    orders: &Sender<(u64, PodOrder, Vec<u8>)>,
    peer: &Peer,
) {
    match unpack(message) {
        Ok((ToPod::Request { id, order }, bytes)) => {
            let _ = orders.send((id, order, bytes.to_vec()));
        }
        Ok((ToPod::Bytes { channel }, bytes)) => channels.write(channel, bytes.to_vec()),
        Ok((ToPod::Close { channel }, _)) => channels.close(channel),
        Err(reason) => peer.end(&reason),
    }
}

impl PodKeeper {
    /// Runs until it is told to end; otherwise why it ends.
    fn run(&mut self, inbox: &Receiver<(u64, PodOrder, Vec<u8>)>) -> Option<String> {
        loop {
            if let Some(why) = self.peer.ended() {
                return Some(why);
            }
            let left = |at: Instant| at.saturating_duration_since(Instant::now());
            let tick = self.last_reading.map_or(TICK, |at| TICK.min(left(at)));
            let order = inbox.recv_timeout(tick);
            if self.last_reading.is_some_and(|at| left(at).is_zero()) {
                self.observed = Some(self.finish_observation());
            }
            match order {
                Ok((id, PodOrder::End, _)) => {
                    self.reply(id, Ok((Value::Null, Vec::new())));
                    self.peer.wait_sent(FAREWELL);
                    self.peer.end("it was told to end");
                    process::pause(LOOK);
                    return None;
                }
                Ok((id, order, bytes)) => {
                    if let Some(reply) = self.execute(id, order, &bytes) {
                        self.reply(id, reply);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(observation) = &mut self.observation {
                        observation.tick();
                    }
                }
                // The other thread has ended the session.
                Err(RecvTimeoutError::Disconnected) => process::pause(LOOK),
            }
        }
    }

    fn reply(&self, id: u64, reply: Reply) {
        reply_by(&self.peer, id, reply);
    }

    /// Carries out an order; `None`: the reply comes later.
    fn execute(&mut self, id: u64, order: PodOrder, bytes: &[u8]) -> Option<Reply> {
        let done = |result: Result<(), LabError>| in_words(result.map(|()| Value::Null));
        Some(match order {
            PodOrder::Spawn { spawn } => in_words(self.keeper.spawn(&spawn).map(|pid| json!(pid))),
            PodOrder::Signal { name, signal } => done(self.keeper.signal(&name, signal)),
            PodOrder::Stop {
                name,
                signal,
                grace_ms,
            } => {
                let grace = Duration::from_millis(grace_ms);
                done(self.keeper.stop(&name, signal, grace))
            }
            PodOrder::Tail { name } => in_words(self.keeper.tail(&name).map(|tail| json!(tail))),
            PodOrder::Exit { name } => {
                let exit = self.keeper.exit_of(&name);
                if let Ok(Some(_)) = exit {
                    self.give_up_waiting_for(&name);
                }
                in_words(exit.map(|exit| json!(exit)))
            }
            PodOrder::Pin { cpus } => {
                let own = process::pin_own_threads(&cpus).map_err(LabError::io("keep to cores"));
                done(own.and_then(|()| self.keeper.pin(&cpus)))
            }
            PodOrder::Cores => in_words(own_cores().map(|cores| json!(cores))),
            PodOrder::NameHosts => {
                done(append(Path::new(HOSTS), bytes).map_err(LabError::io("name hosts")))
            }
            PodOrder::Redirect { rules } => match rules.apply_here() {
                Ok(()) => Ok((Value::Null, Vec::new())),
                Err(error) => Err(error.to_string()),
            },
            PodOrder::Folder { path, mode } => {
                done(make_folder(&path, mode).map_err(LabError::io(made(&path))))
            }
            PodOrder::Write { path, mode } => {
                done(write_new(&path, mode, bytes).map_err(LabError::io(made(&path))))
            }
            PodOrder::Give { paths, user } => done(
                paths
                    .iter()
                    .try_for_each(|path| isolation::give(path, user)),
            ),
            PodOrder::Read {
                path,
                from,
                bytes_max,
            } => read(&path, (from, bytes_max)).map_err(|e| e.to_string()),
            PodOrder::List { folder, end } => Ok((json!(list(&folder, &end)), Vec::new())),
            PodOrder::Connect {
                to,
                within_ms,
                channel,
            } => return self.connect(id, to, Duration::from_millis(within_ms), channel),
            PodOrder::Listen {
                path,
                process,
                channel,
            } => done(self.listen(&path, process, channel)),
            PodOrder::Observe { instances, pod } => done(self.observe(instances, pod)),
            PodOrder::ObserveFor { time_ms } => {
                self.last_reading = Some(Instant::now() + Duration::from_millis(time_ms));
                Ok((Value::Null, Vec::new()))
            }
            PodOrder::Observed => {
                let earlier = self.observed.take();
                earlier.unwrap_or_else(|| self.finish_observation())
            }
            PodOrder::Clock => {
                let offset = self.peer.clock(CLOCK_WITHIN);
                offset.map(|offset| (json!(offset), Vec::new()))
            }
            PodOrder::End => Ok((Value::Null, Vec::new())),
        })
    }

    fn finish_observation(&mut self) -> Reply {
        self.last_reading = None;
        match self.observation.take() {
            None => Err(String::from("nothing is observed")),
            Some(observation) => in_words(observation.finish().map(|usage| json!(usage))),
        }
    }

    /// Connects without keeping other orders waiting.
    fn connect(&self, id: u64, to: String, within: Duration, channel: u64) -> Option<Reply> {
        let (peer, channels) = (Arc::clone(&self.peer), Arc::clone(&self.channels));
        let work = move || {
            let socket = match to.strip_prefix("unix:") {
                Some(path) => http::connect_within(path, within),
                None => to
                    .parse()
                    .map_err(|_| format!("`{to}` is no address"))
                    .and_then(|at: SocketAddr| {
                        TcpStream::connect_timeout(&at, within).map_err(|error| error.to_string())
                    }),
            };
            let unlimited = socket.and_then(|socket| {
                let limits = socket.set_write_timeout(None);
                limits.map_err(|error| error.to_string())?;
                Ok(socket)
            });
            match unlimited {
                Err(reason) => reply_by(&peer, id, Err(reason)),
                Ok(socket) => {
                    // Joined first: bytes may follow the reply at once.
                    let joined = channels.join(channel, socket).map(|()| Value::Null);
                    reply_by(&peer, id, in_words(joined));
                }
            }
        };
        let started = std::thread::Builder::new()
            .name(String::from("connect"))
            .spawn(work);
        started.err().map(|error| Err(error.to_string()))
    }

    fn listen(&self, path: &Path, process: String, channel: u64) -> Result<(), LabError> {
        let what = format!("listen on {}", path.display());
        let listener = UnixListener::bind(path).map_err(LabError::io(what.as_str()))?;
        listener.set_nonblocking(true).map_err(LabError::io(what))?;
        let listener = Arc::new(listener);
        lock(&self.awaited).push((process, Arc::clone(&listener)));
        let (awaited, channels) = (Arc::clone(&self.awaited), Arc::clone(&self.channels));
        let peer = Arc::clone(&self.peer);
        let work = move || {
            let is_same = |other: &Arc<UnixListener>| Arc::ptr_eq(other, &listener);
            while peer.ended().is_none() {
                if let Ok((socket, _)) = listener.accept() {
                    lock(&awaited).retain(|(_, other)| !is_same(other));
                    let _ = socket.set_nonblocking(false);
                    let _ = channels.join(channel, TcpStream::from(OwnedFd::from(socket)));
                    return;
                }
                if !lock(&awaited).iter().any(|(_, other)| is_same(other)) {
                    let _ = peer.send(pack(&FromPod::Close { channel }, &[]));
                    return;
                }
                let mut fds = [PollFd::new(&*listener, PollFlags::IN)];
                let _ = poll(&mut fds, Some(&process::timespec(LOOK)));
            }
        };
        std::thread::Builder::new()
            .name(String::from("listen"))
            .spawn(work)
            .map(drop)
            .map_err(LabError::io("wait for a process to connect"))
    }

    fn give_up_waiting_for(&self, process: &str) {
        lock(&self.awaited).retain(|(name, _)| name != process);
    }

    fn observe(
        &mut self,
        mut instances: Vec<ObservedInstance>,
        pod: String,
    ) -> Result<(), LabError> {
        let names = instances.iter().map(|one| one.name().to_owned()).collect();
        instances.push(ObservedInstance::conductor(self.keeper.pids()));
        let pod = ObservedPod {
            pod,
            pid: std::process::id(),
            instances: names,
        };
        let observation = LocalObservation::start(instances, vec![pod], None)?;
        (self.last_reading, self.observed) = (None, None);
        self.observation = Some(Box::new(observation));
        Ok(())
    }
}

fn reply_by(peer: &Peer, id: u64, reply: Reply) {
    let (result, bytes) = match reply {
        Ok((value, bytes)) => (Ok(value), bytes),
        Err(reason) => (Err(reason), Vec::new()),
    };
    // A session that is over has no replies.
    let _ = peer.send(pack(&FromPod::Reply { id, result }, &bytes));
}

fn in_words(result: Result<Value, LabError>) -> Reply {
    let value = result.map_err(|error| error.to_string())?;
    Ok((value, Vec::new()))
}

/// How many cores this process may use.
fn own_cores() -> Result<u32, LabError> {
    let cores = rustix::thread::sched_getaffinity(None).map_err(io::Error::from);
    let cores = cores.map_err(LabError::io("read the cores of the pod"))?;
    Ok(cores.count())
}

fn made(path: &Path) -> String {
    format!("make {}", path.display())
}

fn link(path: &Path, to: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent)?;
    // What is measured finds its program there, also below the home of root.
    for folder in parent.ancestors() {
        let mode = fs::metadata(folder)?.permissions().mode();
        if mode & 0o001 == 0 {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o011))?;
        }
    }
    std::os::unix::fs::symlink(to, path)
}

/// Makes the folder of a run where others have theirs: what is measured passes through it, and cannot put another in its place.
fn make_run_folder(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        let is_own = fs::metadata(parent)?.uid() == rustix::process::geteuid().as_raw();
        if is_own && fs::metadata(parent)?.permissions().mode() & 0o002 != 0 {
            fs::set_permissions(parent, fs::Permissions::from_mode(TEMPORARY_MODE))?;
        }
    }
    make_folder(path, WAY_MODE)
}

fn make_folder(path: &Path, mode: u32) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    match builder.mode(mode).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made,
    }
}

fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::OpenOptions::new()
        .append(true)
        .open(path)?
        .write_all(bytes)
}

fn read(path: &Path, (from, bytes_max): (u64, u64)) -> io::Result<(Value, Vec<u8>)> {
    // The rest of the message has room in what is left of it.
    let found = read_part(path, (from, bytes_max.min(MESSAGE_BYTES_MAX as u64 / 2)))?;
    Ok(found.map_or((Value::Null, Vec::new()), |(bytes, length)| {
        (json!(length), bytes)
    }))
}

/// Names of the plain files of a folder; none of a folder that cannot be read.
fn list(folder: &Path, end: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let names = files.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.ends_with(end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn nobody_can_put_another_folder_in_the_place_of_the_runs() {
        let base = tempfile::tempdir().unwrap();
        let shared = base.path().join("tmp");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
        make_run_folder(&shared.join("run")).unwrap();
        assert_eq!((mode(&shared), mode(&shared.join("run"))), (0o1777, 0o711));
        make_run_folder(&base.path().join("run")).unwrap();
        // Only where others could.
        assert_eq!(mode(base.path()) & 0o1000, 0);
    }

    #[test]
    fn a_program_below_a_closed_folder_can_be_reached_by_its_link() {
        let base = tempfile::tempdir().unwrap();
        let home = base.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
        link(&home.join("cache/envoy"), Path::new("/usr")).unwrap();
        assert_eq!(mode(&home), 0o711);
    }
}
