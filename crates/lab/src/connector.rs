//! Connects to servers and runs commands, on the host or in a pod's network namespace.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;
use std::{fmt, io};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use tare_record::load::AddressPolicy;

use crate::keeper::{self, ExitStatus, SharedKeeper, Spawn, lock};
use crate::process;
use crate::subprocess::{self, Output};

/// Maximum of a command's output that is read.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;

/// Network in which probes and counter readers run.
#[derive(Clone, Default)]
pub enum Connector {
    #[default]
    Host,
    /// In the network of a pod.
    Pod(PodConnector),
}

/// Access to one pod: its keeper opens sockets in the pod's network and passes them on.
#[derive(Clone)]
pub struct PodConnector {
    pub(crate) keeper: SharedKeeper,
    /// The pod's name in the keeper.
    pub(crate) pod: String,
    /// Folder for the output of commands.
    pub(crate) folder: PathBuf,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Connector::Host => f.write_str("Host"),
            Connector::Pod(connector) => write!(f, "Pod({})", connector.pod),
        }
    }
}

/// The first of these addresses that may be called and accepts a connection; else why the last one does not.
pub(crate) fn first_reachable(
    addresses: impl Iterator<Item = SocketAddr>,
    (reach, within): (AddressPolicy, Duration),
    nothing: String,
    refused: impl Fn(SocketAddr, io::Error) -> String,
) -> Result<SocketAddr, String> {
    let mut last = nothing;
    for address in addresses {
        let tried = match reach.check(address.ip()) {
            Err(forbidden) => Err(forbidden.to_string()),
            Ok(()) => TcpStream::connect_timeout(&address, within)
                .map_err(|error| refused(address, error)),
        };
        match tried {
            Ok(_) => return Ok(address),
            Err(why) => last = why,
        }
    }
    Err(last)
}

impl Connector {
    /// Connects to a server from this network.
    pub(crate) fn connect(&self, at: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        match self {
            Connector::Host => TcpStream::connect_timeout(&at, within),
            Connector::Pod(connector) => connector.connect(at, within),
        }
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, words: &[String], within: Duration) -> Result<Output, String> {
        match self {
            Connector::Host => subprocess::run(words, &[], within),
            Connector::Pod(connector) => connector
                .run(words, within)
                .map_err(|error| error.to_string()),
        }
    }
}

impl PodConnector {
    fn connect(&self, at: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        let socket = lock(&self.keeper)
            .socket(&self.pod)
            .map_err(io::Error::other)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        match rustix::net::connect(&socket, &at) {
            Ok(()) => {}
            Err(Errno::INPROGRESS) => {
                let limit = process::timespec(within);
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
            env: process::base_environment(&self.folder),
            cwd: self.folder.clone(),
            output: output.clone(),
            output_bytes_max: OUTPUT_BYTES_MAX,
            pod: Some(self.pod.clone()),
            ..Spawn::default()
        };
        lock(&self.keeper).spawn(&spawn)?;
        let exit = keeper::wait_for_exit(&self.keeper, &name, within)?;
        lock(&self.keeper).stop(&name, libc::SIGKILL, Duration::ZERO)?;
        let text = std::fs::read(&output).unwrap_or_default();
        // The next command writes a new file.
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
            success: exit.how == ExitStatus::Code(0),
            how: format!("ended with {}", exit.how),
            stdout: String::from_utf8_lossy(&text).into_owned(),
            stderr: String::new(),
        })
    }
}
