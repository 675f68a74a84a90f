//! Processes of a suite: started, watched, interrupted when their time is over.

use std::fmt;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tare_program::EndRequest;
use tare_record::event::Failure;
use tare_report::quantity;

/// Time between two looks at a process.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Time that an interrupted process has to write what it has measured and to end its own processes.
const END_TIMEOUT: Duration = Duration::from_secs(120);
/// Time to read the rest of the output after the end.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(10);

/// What ends all entries.
pub struct CommonLimit<'a> {
    /// When the budget ends.
    pub deadline: Option<Instant>,
    pub interruption: &'a EndRequest,
}

/// Why a process was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The limit of the entry.
    Limit(Duration),
    /// The budget of the suite.
    Budget,
    /// A signal.
    Signal,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::Limit(limit) => {
                let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
                write!(f, "its limit of {} ended it", quantity::span(limit))
            }
            StopReason::Budget => f.write_str("the budget of the suite ended"),
            StopReason::Signal => f.write_str("a signal ended the suite"),
        }
    }
}

impl CommonLimit<'_> {
    /// Whether the time of all entries is over.
    pub fn reached(&self) -> Option<StopReason> {
        if self.interruption.signal().is_some() {
            return Some(StopReason::Signal);
        }
        let deadline = self.deadline?;
        (Instant::now() >= deadline).then_some(StopReason::Budget)
    }
}

/// A process after its end.
pub struct Ended {
    pub status: ExitStatus,
    /// Why it was interrupted, if it was.
    pub stop: Option<StopReason>,
    pub said: Said,
}

/// What a process printed, as far as the suite needs it.
#[derive(Debug, Default)]
pub struct Said {
    /// Folder of the run or the load.
    pub folder: Option<PathBuf>,
    /// Message of its failure.
    pub error: Option<String>,
    /// The last line, or the whole of one document.
    pub document: String,
}

/// A line, or a document, of `tare`.
#[derive(Deserialize)]
struct Line {
    folder: Option<PathBuf>,
    error: Option<Failure>,
}

/// Starts a process whose standard output is JSON, and waits for its end.
pub fn run(
    command: &mut Command,
    limit: Option<Duration>,
    until: &CommonLimit<'_>,
) -> io::Result<Ended> {
    // A group of its own: Ctrl-C in the terminal reaches the suite alone, which passes it on once. The second one would kill.
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0);
    let mut child = command.spawn()?;
    let output = child.stdout.take();
    let (sender, said) = mpsc::channel();
    std::thread::Builder::new()
        .name("output".into())
        .spawn(move || sender.send(output.map(read).unwrap_or_default()))?;
    let (status, stop) = wait(&mut child, limit, until)?;
    // What the process itself has started may hold its output open.
    let said = said.recv_timeout(OUTPUT_TIMEOUT).unwrap_or_default();
    Ok(Ended { status, stop, said })
}

fn wait(
    child: &mut Child,
    limit: Option<Duration>,
    until: &CommonLimit<'_>,
) -> io::Result<(ExitStatus, Option<StopReason>)> {
    let began = Instant::now();
    let mut stopped: Option<(StopReason, Instant)> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, stopped.map(|(stop, _)| stop)));
        }
        match stopped {
            Some((_, at)) if at.elapsed() > END_TIMEOUT => child.kill()?,
            Some(_) => {}
            None => {
                let of_limit = limit.filter(|limit| began.elapsed() >= *limit);
                if let Some(stop) = until.reached().or(of_limit.map(StopReason::Limit)) {
                    stopped = Some((stop, Instant::now()));
                    interrupt(child);
                }
            }
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}

/// Asks a process to end, as Ctrl-C does. It has not been waited for, so the number is its own.
fn interrupt(child: &Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended meanwhile.
        let _ = kill_process(pid, Signal::INT);
    }
}

fn read(output: ChildStdout) -> Said {
    let mut said = Said::default();
    let mut document = String::new();
    for line in BufReader::new(output).lines() {
        let Ok(line) = line else {
            break;
        };
        match serde_json::from_str::<Line>(&line) {
            Ok(read) => {
                said.folder = said.folder.or(read.folder);
                said.error = said.error.or(read.error.map(sentence));
                document = line;
            }
            // A line of a document over several.
            Err(_) => {
                document.push_str(&line);
                document.push('\n');
            }
        }
    }
    if let Ok(read) = serde_json::from_str::<Line>(&document) {
        said.error = said.error.or(read.error.map(sentence));
    }
    said.document = document;
    said
}

/// The first paragraph of a message with its causes, in one line: what follows is about the use of the command.
fn sentence(failure: Failure) -> String {
    let paragraph = failure
        .message
        .lines()
        .take_while(|line| !line.trim().is_empty());
    let paragraph: Vec<&str> = paragraph.map(str::trim).collect();
    let message = std::iter::once(paragraph.join(" ")).chain(failure.causes);
    message.collect::<Vec<String>>().join(": ")
}
