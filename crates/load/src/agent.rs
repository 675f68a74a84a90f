//! The agent: runs one plan and writes a stream of messages, one JSON line each.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tare_record::FORMAT_VERSION;
use tare_record::agent::AgentMessage;
use tare_record::load::LoadPlan;
use thiserror::Error;

use crate::control::StopHandle;
use crate::generator::{LoadError, LoadProgress, run};

/// Why an agent ended without a result.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The load could not be run; the stream says so too.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The stream has no reader any more.
    #[error("the message stream ended early: {0}")]
    Stream(#[from] io::Error),
}

/// Runs a plan and reports everything to the conductor over the stream; if that breaks, the load ends immediately.
///
/// # Errors
/// When the load could not be run, or the stream has no reader.
pub fn run_agent(
    plan: &LoadPlan,
    stream: impl Write + Send,
    stop: &StopHandle,
) -> Result<(), AgentError> {
    let mut stream = Lines { stream };
    stream.write(&AgentMessage::Hello {
        version: FORMAT_VERSION,
        pid: std::process::id(),
    })?;
    let mut broken = None;
    let outcome = run(plan, stop, &mut |progress| {
        let message = match progress {
            LoadProgress::Ready {
                connections,
                start_unix_us,
            } => AgentMessage::Ready {
                connections,
                start_unix_us,
            },
            LoadProgress::Sample(sample) => AgentMessage::Sample(sample),
        };
        match stream.write(&message) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                broken = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    if let Some(error) = broken {
        return Err(error.into());
    }
    match outcome {
        Ok(outcome) => Ok(stream.write(&AgentMessage::Result(Box::new(outcome.result)))?),
        Err(error) => {
            stream.write(&AgentMessage::Failed {
                error: error.to_string(),
            })?;
            Err(error.into())
        }
    }
}

/// Aborts a load as soon as a pipe or socket has no reader any more, from a thread that lives as long as the process. Without it,
/// only the next message would fail.
///
/// # Errors
/// When no thread can be started.
pub fn abort_on_hangup(stream: impl AsFd + Send + 'static, stop: StopHandle) -> io::Result<()> {
    thread::Builder::new()
        .name("reader watch".into())
        .spawn(move || {
            // No event is requested: errors and hang-ups are always reported.
            let mut watched = [PollFd::new(&stream, PollFlags::empty())];
            loop {
                match poll(&mut watched, None) {
                    Err(Errno::INTR) => {}
                    Ok(_)
                        if watched[0]
                            .revents()
                            .intersects(PollFlags::ERR | PollFlags::HUP) =>
                    {
                        return stop.abort();
                    }
                    // A file or terminal, which has no reader.
                    Ok(_) | Err(_) => return,
                }
            }
        })
        .map(drop)
}

struct Lines<W> {
    stream: W,
}

impl<W: Write> Lines<W> {
    fn write(&mut self, message: &AgentMessage) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.stream.write_all(&line)?;
        self.stream.flush()
    }
}
