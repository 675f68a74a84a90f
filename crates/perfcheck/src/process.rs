//! Runs the tools: each in a process group of its own, which ends with it, at a limit of time or at Ctrl-C. What has left its group
//! ends with it too.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tare_program::EndRequest;
use tare_record::locate;

use crate::error::CheckError;

/// Time between two looks at a process.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// Time that an interrupted process has to end by itself.
const END_TIMEOUT: Duration = Duration::from_secs(3);
/// Time to read the rest of the output after the end.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest output that is kept; the rest is read and dropped.
const OUTPUT_BYTES_MAX: usize = 64 << 20;
/// Lines of a failed tool that are shown.
const LINES_SHOWN: usize = 12;

/// Limit of a build.
pub const BUILD_LIMIT: Duration = Duration::from_secs(3600);
/// Limit of one repeat of a benchmark, and of questions to tools.
pub const REPEAT_LIMIT: Duration = Duration::from_secs(600);

/// Starts tools until a signal asks for the end.
#[derive(Clone, Copy)]
pub struct Processes<'a> {
    pub end: &'a EndRequest,
}

/// A tool after its end.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// The last lines, of standard error first.
    pub fn last_lines(&self) -> String {
        let said = [&self.stderr, &self.stdout];
        let said = said.into_iter().find(|text| !text.trim().is_empty());
        let Some(text) = said else {
            return "it said nothing".to_owned();
        };
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
    }
}

impl Processes<'_> {
    /// Runs a tool that has to succeed. `what` says what it does: "building the Go benchmarks".
    pub fn succeed(
        &self,
        what: &str,
        command: &mut Command,
        limit: Duration,
    ) -> Result<Finished, CheckError> {
        let finished = self.run(command, limit)?;
        if finished.status.success() {
            return Ok(finished);
        }
        Err(CheckError::Environment(format!(
            "{what} failed ({}, {}):\n{}",
            words(command),
            finished.status,
            finished.last_lines()
        )))
    }

    /// Runs a tool to its end, whatever that is.
    pub fn run(&self, command: &mut Command, limit: Duration) -> Result<Finished, CheckError> {
        self.check()?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .env("PATH", locate::search_path());
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy();
            let next = match error.kind() {
                io::ErrorKind::NotFound => ": install it, or add its folder to PATH",
                _ => "",
            };
            CheckError::Environment(format!("cannot start {program} ({error}){next}"))
        })?;
        let stdout = child.stdout.take().map(collect);
        let stderr = child.stderr.take().map(collect);
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let stopped = pid.map_or(Ok(None), |pid| self.wait(pid, limit));
        // Not reaped yet, its id is its own: the signal reaches what it has left behind, and no other group.
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        }
        let failed =
            |error: io::Error| CheckError::Environment(format!("{}: {error}", words(command)));
        let status = child.wait().map_err(failed)?;
        end_orphans();
        let text = |output: Option<mpsc::Receiver<Vec<u8>>>| {
            let read = output.and_then(|output| output.recv_timeout(OUTPUT_TIMEOUT).ok());
            String::from_utf8_lossy(&read.unwrap_or_default()).into_owned()
        };
        let finished = Finished {
            status,
            stdout: text(stdout),
            stderr: text(stderr),
        };
        self.check()?;
        match stopped.map_err(failed)? {
            None => Ok(finished),
            Some(limit) => Err(CheckError::Environment(format!(
                "{} did not end within {} s",
                words(command),
                limit.as_secs()
            ))),
        }
    }

    /// Waits for the end of a process without reaping it; the limit when that ended it.
    fn wait(&self, pid: Pid, limit: Duration) -> io::Result<Option<Duration>> {
        let began = Instant::now();
        let mut stopping: Option<Instant> = None;
        loop {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            if rustix::process::waitid(WaitId::Pid(pid), options)?.is_some() {
                return Ok(stopping.map(|_| limit));
            }
            match stopping {
                Some(since) if since.elapsed() > END_TIMEOUT => {
                    rustix::process::kill_process_group(pid, Signal::KILL)?;
                }
                Some(_) => {}
                None if self.end.signal().is_some() || began.elapsed() > limit => {
                    stopping = Some(Instant::now());
                    rustix::process::kill_process_group(pid, Signal::TERM)?;
                }
                None => {}
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// An error once a signal has asked for the end.
    pub fn check(&self) -> Result<(), CheckError> {
        match self.end.signal() {
            Some(signal) => Err(CheckError::Interrupted(signal)),
            None => Ok(()),
        }
    }
}

/// Makes this process the parent of what tools leave behind, so that it can be ended.
pub fn adopt_orphans() {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    // Children that are there already (a script has started them, then this program in its own place) are the user's.
    if let Err(Errno::CHILD) = rustix::process::waitid(WaitId::All, options) {
        // Otherwise it is as without: they stay.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// Ends all children, and theirs: no tool runs any more. One that cannot be killed is left after a while.
fn end_orphans() {
    if rustix::process::child_subreaper().is_ok_and(|is_set| is_set.is_none()) {
        return;
    }
    let began = Instant::now();
    while began.elapsed() < END_TIMEOUT {
        match rustix::process::waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => continue,
            Ok(None) => {}
            Err(_) => return,
        }
        for child in children() {
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}

/// Children of this process. Their ids are theirs until they are reaped, which nobody else does.
fn children() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero().to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_own = |pid: &i32| {
        // The name of the program is in parentheses, and may have some itself; then come the state and the parent.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_ascii_whitespace().nth(1) == Some(&*own)
    };
    processes.filter(is_own).filter_map(Pid::from_raw).collect()
}

/// A command as a line to repeat it by hand.
fn words(command: &Command) -> String {
    let all = std::iter::once(command.get_program()).chain(command.get_args());
    let all: Vec<_> = all.map(|word| word.to_string_lossy()).collect();
    all.join(" ")
}

/// Reads an output to its end in a thread of its own.
fn collect(mut output: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut buffer = [0; 16 << 10];
        while let Ok(count) = output.read(&mut buffer) {
            if count == 0 {
                break;
            }
            let room = OUTPUT_BYTES_MAX - kept.len();
            kept.extend_from_slice(&buffer[..count.min(room)]);
        }
        // Nobody waits any longer when the output outlived its process.
        let _ = sender.send(kept);
    });
    receiver
}
