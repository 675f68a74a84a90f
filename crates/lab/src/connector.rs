//! Connects to servers and runs commands, on the host or in a pod's network namespace.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fmt, io};

use tare_record::external::split;
use tare_record::load::AddressPolicy;
use tare_record::text::preview;

use crate::host::{self, SharedHost};
use crate::http;
use crate::keeper::{self, ExitStatus, Spawn, lock};
use crate::subprocess::{self, Output};
use crate::variables::{self, ProgramKind};

/// Time for a connection to what is external.
pub(crate) const EXTERNAL_WITHIN: Duration = Duration::from_secs(5);
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

/// Access to one pod: its host opens sockets in the pod's network.
#[derive(Clone)]
pub struct PodConnector {
    pub(crate) host: SharedHost,
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

/// The first address of `HOST:PORT`, as names resolve here, that may be called and accepts a connection.
pub(crate) fn reachable(at: &str, reach: AddressPolicy) -> Result<SocketAddr, String> {
    let next = "start it, or correct its address";
    let unknown = |why: String| format!("{} has no address ({why}); {next}", preview(at));
    let name = split(at).ok_or_else(|| unknown(String::from("write HOST:PORT")))?;
    let addresses = name.to_socket_addrs();
    let addresses = addresses.map_err(|error| unknown(error.to_string()))?;
    let nothing = unknown(String::from("nothing was found"));
    let refused = |address, error| format!("no connection to {address}: {error}; {next}");
    first_reachable(addresses, (reach, EXTERNAL_WITHIN), nothing, refused)
}

impl Connector {
    /// Connects to a server from this network.
    pub(crate) fn connect(&self, at: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        self.open(&at.to_string(), within)
    }

    /// Connects to `address:port`, or to the socket of `unix:PATH`.
    pub(crate) fn open(&self, to: &str, within: Duration) -> io::Result<TcpStream> {
        match self {
            Connector::Host => match to.strip_prefix(http::SOCKET) {
                Some(path) => http::connect_within(path, within).map_err(io::Error::other),
                None => TcpStream::connect_timeout(&to.parse().map_err(io::Error::other)?, within),
            },
            Connector::Pod(pod) => {
                // The host is not locked while this waits.
                let opener = lock(&pod.host).opener(&pod.pod)?;
                opener(to, within)
            }
        }
    }

    /// The beginning of a file, and its length; `None`: there is none.
    pub(crate) fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
        match self {
            Connector::Host => host::read_part(path, (0, bytes_max)),
            Connector::Pod(pod) => lock(&pod.host).read(&pod.pod, path, (0, bytes_max)),
        }
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, words: &[String], within: Duration) -> Result<Output, String> {
        match self {
            Connector::Host => subprocess::run(words, ProgramKind::Plain, within),
            Connector::Pod(connector) => connector
                .run(words, within)
                .map_err(|error| error.to_string()),
        }
    }
}

impl PodConnector {
    fn run(&self, words: &[String], within: Duration) -> Result<Output, crate::LabError> {
        static COMMANDS: AtomicU64 = AtomicU64::new(0);
        let number = COMMANDS.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}/command", self.pod);
        let output = self.folder.join(format!("command-{number}.out"));
        let spawn = Spawn {
            name: name.clone(),
            argv: words.to_vec(),
            env: variables::of_measured(&self.folder),
            cwd: self.folder.clone(),
            output: output.clone(),
            output_bytes_max: OUTPUT_BYTES_MAX,
            pod: Some(self.pod.clone()),
            ..Spawn::default()
        };
        lock(&self.host).spawn(&spawn)?;
        let exit = keeper::wait_for_exit(&self.host, &name, within)?;
        lock(&self.host).stop(&name, libc::SIGKILL, Duration::ZERO)?;
        let text = lock(&self.host).read(&self.pod, &output, (0, OUTPUT_BYTES_MAX));
        let (text, _) = text.ok().flatten().unwrap_or_default();
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
