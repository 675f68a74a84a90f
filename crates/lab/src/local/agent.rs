//! A load agent as a process of this host: it connects to a socket and sends its messages as lines.

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use tare_record::agent::AgentMessage;

use super::SharedKeeper;
use crate::LabError;
use crate::environment::Agent;
use crate::keeper::Lines;
use crate::process;

/// The result contains histograms as text.
const LINE_BYTES_MAX: usize = 256 << 20;
/// Interval of checking whether a silent agent still runs.
const LOOK: Duration = Duration::from_millis(100);
/// Grace period: an agent that has reported exits by itself.
const END_GRACE: Duration = Duration::from_millis(200);

/// A started agent.
pub(crate) struct LocalAgent {
    pub(crate) keeper: SharedKeeper,
    /// Name of the instance, for messages.
    pub(crate) instance: String,
    /// Its name in the keeper.
    pub(crate) name: String,
    pub(crate) listener: UnixListener,
    pub(crate) socket: PathBuf,
    pub(crate) stream: Option<UnixStream>,
    pub(crate) lines: Lines,
    /// Whether it has sent its last message.
    pub(crate) reported: bool,
}

impl LocalAgent {
    pub(crate) fn new(
        keeper: SharedKeeper,
        instance: &str,
        name: String,
        socket: PathBuf,
    ) -> Result<LocalAgent, LabError> {
        let what = format!("listen on {}", socket.display());
        let listener = UnixListener::bind(&socket).map_err(LabError::io(what.as_str()))?;
        listener.set_nonblocking(true).map_err(LabError::io(what))?;
        Ok(LocalAgent {
            keeper,
            instance: instance.to_owned(),
            name,
            listener,
            socket,
            stream: None,
            lines: Lines::new(LINE_BYTES_MAX),
            reported: false,
        })
    }

    /// Reads once, waiting at most this long.
    fn read(&mut self, wait: Duration) -> Result<(), LabError> {
        let Some(stream) = &mut self.stream else {
            wait_readable(self.listener.as_fd(), wait);
            match self.listener.accept() {
                Ok((stream, _)) => {
                    stream
                        .set_nonblocking(true)
                        .map_err(LabError::io("read the agent's socket"))?;
                    self.stream = Some(stream);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(LabError::io("let the agent connect")(error)),
            }
            return Ok(());
        };
        wait_readable(stream.as_fd(), wait);
        match self.lines.fill(stream) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.wrong(error.to_string())),
        }
    }

    fn message(&mut self, line: &[u8]) -> Result<AgentMessage, LabError> {
        let message = serde_json::from_slice(line).map_err(|error| {
            let start = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
            self.wrong(format!("it wrote an invalid message ({error}): {start}"))
        })?;
        self.reported |= matches!(
            message,
            AgentMessage::Result(_) | AgentMessage::Failed { .. }
        );
        Ok(message)
    }

    fn exit(&self) -> Result<Option<crate::keeper::ProcessExit>, LabError> {
        super::lock(&self.keeper).exit_of(&self.name)
    }

    fn wrong(&self, reason: String) -> LabError {
        LabError::Agent {
            instance: self.instance.clone(),
            reason,
            log_tail: super::lock(&self.keeper)
                .tail(&self.name)
                .unwrap_or_default(),
        }
    }

    fn died(&self, exit: crate::keeper::ProcessExit) -> LabError {
        LabError::Died {
            instance: self.instance.clone(),
            how: format!("{}, without a result", exit.how),
            log_tail: exit.tail,
        }
    }
}

impl Agent for LocalAgent {
    fn next(&mut self, limit: Duration) -> Result<Option<AgentMessage>, LabError> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(line) = self.lines.next() {
                return self.message(&line).map(Some);
            }
            if self.lines.ended() && self.reported {
                return Ok(None);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if self.lines.ended() {
                // The socket closes a moment before the process can be reaped.
                if let Some(exit) = self.exit()? {
                    return Err(self.died(exit));
                }
                if left.is_zero() {
                    let reason = String::from("it closed its connection without a result");
                    return Err(self.wrong(reason));
                }
                process::pause(Duration::from_millis(2));
                continue;
            }
            let ended = self.exit()?;
            self.read(left.min(LOOK))?;
            if let (Some(exit), None) = (ended, &self.stream) {
                return Err(self.died(exit));
            }
            if left.is_zero() {
                return self.lines.next().map(|l| self.message(&l)).transpose();
            }
        }
    }

    fn interrupt(&mut self) -> Result<(), LabError> {
        super::lock(&self.keeper).signal(&self.name, libc::SIGTERM)
    }
}

impl Drop for LocalAgent {
    fn drop(&mut self) {
        let grace = if self.reported {
            END_GRACE
        } else {
            Duration::ZERO
        };
        // If the keeper is gone, so is the agent.
        let _ = super::lock(&self.keeper).stop(&self.name, libc::SIGTERM, grace);
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn wait_readable(fd: BorrowedFd<'_>, limit: Duration) {
    let limit = process::timespec(limit);
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    // The result does not matter: the caller reads without blocking.
    let _ = rustix::event::poll(&mut fds, Some(&limit));
}
