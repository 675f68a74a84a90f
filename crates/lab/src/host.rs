//! What a test bed needs of the place where its processes run: the keeper of this host, or keepers of pods elsewhere.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use tare_record::clock::ClockOffset;
use tare_record::load::AddressPolicy;
use tare_record::regular::open_growing;

use crate::LabError;
use crate::connector;
use crate::environment::{Observation, Pace};
use crate::http;
use crate::keeper::{INSTANCE_MARK, Keeper, ProcessExit, Spawn};
use crate::observe::{LocalObservation, ObservedInstance, ObservedLinks, ObservedPod, OtherArms};
use crate::process;

/// The place, shared by an environment, its test beds and their agents.
pub(crate) type SharedHost = Arc<Mutex<dyn Host>>;

/// Connects to `address:port`, or to `unix:PATH`, within a time.
pub(crate) type Opener = Box<dyn FnOnce(&str, Duration) -> io::Result<TcpStream> + Send>;

/// Where the messages of an agent arrive.
pub(crate) enum AgentSocket {
    /// It will connect to this.
    Listener(UnixListener),
    /// Its connection is passed on to this, which is closed when it never comes.
    Stream(UnixStream),
}

/// What is to be observed of a test bed.
pub(crate) struct Observed {
    /// Each with its pod, as named to the host.
    pub instances: Vec<(String, ObservedInstance)>,
    /// Pods with a network namespace of this host.
    pub pods: Vec<ObservedPod>,
    pub links: Option<ObservedLinks>,
    /// Beginning of the names of its processes and pods; others are those of other arms.
    pub test_bed: String,
}

/// Begins an observation; the host must not be locked meanwhile.
pub(crate) type Beginning = Box<dyn FnOnce() -> Result<Box<dyn Observation>, LabError>>;

/// What starts and signals processes, and reaches the pods and files of their place.
pub(crate) trait Host: Send {
    /// Starts a process; its id there.
    fn spawn(&mut self, spawn: &Spawn) -> Result<u32, LabError>;

    fn signal(&mut self, name: &str, signal: i32) -> Result<(), LabError>;

    /// Stops a process; returns when it and its descendants are gone.
    fn stop(&mut self, name: &str, signal: i32, grace: Duration) -> Result<(), LabError>;

    /// The last lines of a process's output.
    fn tail(&mut self, name: &str) -> Result<Vec<String>, LabError>;

    /// How a process exited, if it did without being stopped.
    fn exit_of(&mut self, name: &str) -> Result<Option<ProcessExit>, LabError>;

    /// Whether a started process has not exited.
    fn is_running(&mut self, name: &str, pid: u32) -> bool;

    /// Keeps everything but instances and agents to these cores.
    fn pin(&mut self, cpus: &[u32]) -> Result<(), LabError>;

    /// Connects from a pod.
    fn opener(&mut self, pod: &str) -> io::Result<Opener>;

    /// Finds an address of what is external, `HOST:PORT`, as its name resolves where the pods are; those that call it may do so from then on.
    fn find_external(&mut self, at: &str, reach: AddressPolicy) -> Result<SocketAddr, String> {
        connector::reachable(at, reach)
    }

    /// A part of a file of a pod: from this byte, at most so many; and its length. `None`: there is none.
    fn read(
        &mut self,
        pod: &str,
        path: &Path,
        part: (u64, u64),
    ) -> io::Result<Option<(Vec<u8>, u64)>>;

    /// Whether processes here are not those of this machine.
    fn is_elsewhere(&self) -> bool {
        false
    }

    /// How fast its pods are reached.
    fn pace(&mut self) -> Pace {
        Pace::HERE
    }

    /// Makes files and folders with all they contain visible in a pod, at the same paths.
    fn send(&mut self, _pod: &str, _paths: &[PathBuf]) -> Result<(), LabError> {
        Ok(())
    }

    /// Makes a user the owner of what was sent to a pod.
    fn give(&mut self, _pod: &str, _paths: &[PathBuf], _user: u32) -> Result<(), LabError> {
        Ok(())
    }

    /// Brings files of a pod's folder with this end of their names to the same paths here.
    fn bring(&mut self, _pod: &str, _folder: &Path, _end: &str) -> Result<(), LabError> {
        Ok(())
    }

    /// Lets an agent connect to a socket of its pod.
    fn agent_socket(
        &mut self,
        pod: &str,
        process: &str,
        path: &Path,
    ) -> Result<AgentSocket, LabError>;

    /// How far the clock of a pod is ahead of the conductor's; measured now.
    fn clock(&mut self, _pod: &str) -> Result<Option<ClockOffset>, LabError> {
        Ok(None)
    }

    /// Prepares to observe a test bed.
    fn observe(&mut self, observed: Observed) -> Beginning;
}

impl Host for Keeper {
    fn spawn(&mut self, spawn: &Spawn) -> Result<u32, LabError> {
        Keeper::spawn(self, spawn)
    }

    fn signal(&mut self, name: &str, signal: i32) -> Result<(), LabError> {
        Keeper::signal(self, name, signal)
    }

    fn stop(&mut self, name: &str, signal: i32, grace: Duration) -> Result<(), LabError> {
        Keeper::stop(self, name, signal, grace)
    }

    fn tail(&mut self, name: &str) -> Result<Vec<String>, LabError> {
        Keeper::tail(self, name)
    }

    fn exit_of(&mut self, name: &str) -> Result<Option<ProcessExit>, LabError> {
        Keeper::exit_of(self, name)
    }

    fn is_running(&mut self, _name: &str, pid: u32) -> bool {
        process::stat(pid).is_some_and(|one| one.is_alive())
    }

    fn pin(&mut self, cpus: &[u32]) -> Result<(), LabError> {
        Keeper::pin(self, cpus)
    }

    fn opener(&mut self, pod: &str) -> io::Result<Opener> {
        let socket = self.socket(pod).map_err(io::Error::other)?;
        Ok(Box::new(move |to, within| {
            // The path of a socket is valid in every pod.
            if let Some(path) = to.strip_prefix(http::SOCKET) {
                return http::connect_within(path, within).map_err(io::Error::other);
            }
            let at: SocketAddr = to.parse().map_err(io::Error::other)?;
            rustix::io::ioctl_fionbio(&socket, true)?;
            match rustix::net::connect(&socket, &at) {
                Ok(()) => {}
                Err(Errno::INPROGRESS) => {
                    let limit = process::timespec(within);
                    let mut fds = [PollFd::new(&socket, PollFlags::OUT)];
                    let wait = || rustix::event::poll(&mut fds, Some(&limit));
                    if rustix::io::retry_on_intr(wait)? == 0 {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    rustix::net::sockopt::socket_error(&socket)??;
                }
                Err(error) => return Err(error.into()),
            }
            rustix::io::ioctl_fionbio(&socket, false)?;
            Ok(TcpStream::from(socket))
        }))
    }

    fn read(
        &mut self,
        _pod: &str,
        path: &Path,
        part: (u64, u64),
    ) -> io::Result<Option<(Vec<u8>, u64)>> {
        read_part(path, part)
    }

    fn agent_socket(
        &mut self,
        _pod: &str,
        _process: &str,
        path: &Path,
    ) -> Result<AgentSocket, LabError> {
        let what = format!("listen on {}", path.display());
        let listener = UnixListener::bind(path).map_err(LabError::io(what.as_str()))?;
        listener.set_nonblocking(true).map_err(LabError::io(what))?;
        Ok(AgentSocket::Listener(listener))
    }

    fn observe(&mut self, observed: Observed) -> Beginning {
        let instances = observed.instances.into_iter().map(|(_, one)| one);
        let instances = instances.chain([ObservedInstance::conductor(self.pids())]);
        let instances = instances.collect();
        let other_arms = OtherArms {
            keeper: self.inside_pid(),
            own_mark: format!("{INSTANCE_MARK}={}", observed.test_bed),
        };
        Box::new(move || {
            let observation = LocalObservation::start(instances, observed.pods, Some(other_arms))?;
            Ok(Box::new(match observed.links {
                Some(links) => observation.with_links(links)?,
                None => observation,
            }))
        })
    }
}

/// A part of a file: from this byte, at most so many; and its length. `None`: there is none. The software that owns the folder may have
/// put a pipe or a link to another file in its place: that is an error.
pub(crate) fn read_part(
    path: &Path,
    (from, bytes_max): (u64, u64),
) -> io::Result<Option<(Vec<u8>, u64)>> {
    let mut file = match open_growing(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if from > 0 {
        io::Seek::seek(&mut file, io::SeekFrom::Start(from))?;
    }
    io::Read::read_to_end(&mut io::Read::take(file, bytes_max), &mut bytes)?;
    Ok(Some((bytes, length)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_pipe_or_a_link_in_the_place_of_a_log_is_neither_waited_for_nor_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("log"), "0123456789").unwrap();
        let read = read_part(&at("log"), (4, 3)).unwrap();
        assert_eq!(read, Some((b"456".to_vec(), 10)));
        assert_eq!(read_part(&at("none"), (0, 3)).unwrap(), None);
        symlink("/etc/shadow", at("link")).unwrap();
        let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        for (name, what) in [("link", "is a link"), ("pipe", "is a pipe")] {
            let error = read_part(&at(name), (0, 3)).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
