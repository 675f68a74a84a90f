//! How the conductor gets at what runs in a bed: from the host itself, or from within a pod.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::keeper::{Ending, Keeper, Spawn};
use crate::process;
use crate::tool::{self, Output};

/// So much of a command's output is read.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;
/// Between looks at a command.
const PAUSE: Duration = Duration::from_millis(5);

/// Where probes and readers of counters stand.
#[derive(Clone, Default)]
pub enum Door {
    /// On the host.
    #[default]
    Host,
    /// In the network of a pod.
    Pod(PodDoor),
}

/// The way into one pod: its keeper opens sockets in there, and hands them out.
#[derive(Clone)]
pub struct PodDoor {
    pub(crate) keeper: Arc<Mutex<Keeper>>,
    /// Pod, as the keeper knows it.
    pub(crate) pod: String,
    /// Where a command's output goes.
    pub(crate) folder: PathBuf,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Door::Host => f.write_str("Host"),
            Door::Pod(door) => write!(f, "Pod({})", door.pod),
        }
    }
}

impl Door {
    /// Connects to a server, as one beside it does.
    pub(crate) fn connect(&self, at: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        match self {
            Door::Host => TcpStream::connect_timeout(&at, within),
            Door::Pod(door) => door.connect(at, within),
        }
    }

    /// Runs a command to its end. The error is in words.
    pub(crate) fn run(&self, words: &[String], within: Duration) -> Result<Output, String> {
        match self {
            Door::Host => tool::run(words, &[], within),
            Door::Pod(door) => door.run(words, within).map_err(|error| error.to_string()),
        }
    }
}

impl PodDoor {
    fn connect(&self, at: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        let socket = lock(&self.keeper)
            .socket(&self.pod)
            .map_err(io::Error::other)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        match rustix::net::connect(&socket, &at) {
            Ok(()) => {}
            Err(Errno::INPROGRESS) => {
                let limit = Timespec {
                    tv_sec: within.as_secs().cast_signed(),
                    tv_nsec: within.subsec_nanos().into(),
                };
                let mut fds = [PollFd::new(&socket, PollFlags::OUT)];
                if rustix::event::poll(&mut fds, Some(&limit))? == 0 {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                rustix::net::sockopt::socket_error(&socket)??;
            }
            Err(error) => return Err(error.into()),
        }
        rustix::io::ioctl_fionbio(&socket, false)?;
        Ok(TcpStream::from(socket))
    }

    fn run(&self, words: &[String], within: Duration) -> Result<Output, crate::LabError> {
        let name = format!("{}/command", self.pod);
        let output = self.folder.join("command.out");
        let spawn = Spawn {
            name: name.clone(),
            argv: words.to_vec(),
            env: std::env::vars().collect(),
            cwd: self.folder.clone(),
            cpus: Vec::new(),
            output: output.clone(),
            output_bytes_max: OUTPUT_BYTES_MAX,
            nofile: None,
            pod: Some(self.pod.clone()),
            hosts: None,
            group: None,
            bounds: None,
        };
        lock(&self.keeper).spawn(&spawn)?;
        let deadline = Instant::now() + within;
        let exit = loop {
            let exit = lock(&self.keeper).exit_of(&name)?;
            if exit.is_some() || Instant::now() >= deadline {
                break exit;
            }
            process::pause(PAUSE);
        };
        lock(&self.keeper).stop(&name, libc::SIGKILL, Duration::ZERO)?;
        let text = std::fs::read(&output).unwrap_or_default();
        // The next command begins a file of its own.
        let _ = std::fs::remove_file(&output);
        let Some(exit) = exit else {
            let reason = format!(
                "`{}` did not end within {:.0} s",
                words.join(" "),
                within.as_secs_f64()
            );
            return Err(crate::LabError::Keeper(reason));
        };
        Ok(Output {
            success: exit.how == Ending::Code(0),
            how: format!("ended with {}", exit.how),
            stdout: String::from_utf8_lossy(&text).into_owned(),
            stderr: String::new(),
        })
    }
}

/// The keeper, also after a thread panicked while it had it: its state is on the other side of a socket.
fn lock(keeper: &Arc<Mutex<Keeper>>) -> std::sync::MutexGuard<'_, Keeper> {
    keeper.lock().unwrap_or_else(PoisonError::into_inner)
}
