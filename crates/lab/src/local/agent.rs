//! A load agent as a process of the host: it connects to a socket and sends its messages as lines.

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use tare_record::agent::AgentMessage;
use tare_record::clock::ClockOffset;

use crate::LabError;
use crate::environment::Agent;
use crate::host::{AgentSocket, SharedHost};
use crate::keeper::{Lines, lock};
use crate::process;

/// The result contains histograms as text.
const LINE_BYTES_MAX: usize = 256 << 20;
/// Interval of checking whether a silent agent still runs.
const LOOK: Duration = Duration::from_millis(100);
/// Grace period: an agent that has reported exits by itself.
const END_GRACE: Duration = Duration::from_millis(200);

/// A started agent.
pub(crate) struct LocalAgent {
    pub(crate) host: SharedHost,
    /// Name of the instance, for messages.
    pub(crate) instance: String,
    /// Its name in the keeper.
    pub(crate) name: String,
    /// `None`: it connects elsewhere, and its connection is passed on.
    pub(crate) listener: Option<UnixListener>,
    pub(crate) socket: PathBuf,
    pub(crate) stream: Option<UnixStream>,
    pub(crate) lines: Lines,
    /// Whether it has sent its last message.
    pub(crate) reported: bool,
    /// How far its clock is ahead; `None`: it is this clock.
    pub(crate) clock: Option<ClockOffset>,
}

impl LocalAgent {
    /// `pod` as named to the host.
    pub(crate) fn new(
        host: SharedHost,
        (instance, pod): (&str, &str),
        name: String,
        socket: PathBuf,
        clock: Option<ClockOffset>,
    ) -> Result<LocalAgent, LabError> {
        let (listener, stream) = match lock(&host).agent_socket(pod, &name, &socket)? {
            AgentSocket::Listener(listener) => (Some(listener), None),
            AgentSocket::Stream(stream) => (None, Some(stream)),
        };
        Ok(LocalAgent {
            host,
            instance: instance.to_owned(),
            name,
            listener,
            socket,
            stream,
            clock,
            lines: Lines::new(LINE_BYTES_MAX),
            reported: false,
        })
    }

    /// Reads once, waiting at most this long.
    fn read(&mut self, wait: Duration) -> Result<(), LabError> {
        let Some(stream) = &mut self.stream else {
            let Some(listener) = &self.listener else {
                return Ok(());
            };
            wait_readable(listener.as_fd(), wait);
            match listener.accept() {
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
        let mut message = serde_json::from_slice(line).map_err(|error| {
            let start = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
            self.wrong(format!("it wrote an invalid message ({error}): {start}"))
        })?;
        self.reported |= matches!(
            message,
            AgentMessage::Result(_) | AgentMessage::Failed { .. }
        );
        // Moments are those of its clock.
        if let Some(clock) = self.clock {
            match &mut message {
                AgentMessage::Ready { start_unix_us, .. } => {
                    *start_unix_us = clock.here_us(*start_unix_us);
                }
                AgentMessage::Result(result) => {
                    let start = &mut result.window_start_unix_us;
                    *start = clock.here_us(*start);
                    result.clock = Some(clock);
                }
                _ => {}
            }
        }
        Ok(message)
    }

    fn exit(&self) -> Result<Option<crate::keeper::ProcessExit>, LabError> {
        lock(&self.host).exit_of(&self.name)
    }

    fn wrong(&self, reason: String) -> LabError {
        LabError::Agent {
            instance: self.instance.clone(),
            reason,
            log_tail: lock(&self.host).tail(&self.name).unwrap_or_default(),
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
        lock(&self.host).signal(&self.name, libc::SIGTERM)
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
        let _ = lock(&self.host).stop(&self.name, libc::SIGTERM, grace);
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn wait_readable(fd: BorrowedFd<'_>, limit: Duration) {
    let limit = process::timespec(limit);
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    // The result does not matter: the caller reads without blocking.
    let _ = rustix::event::poll(&mut fds, Some(&limit));
}
