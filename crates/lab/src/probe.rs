//! Tells whether an instance serves yet, by one question repeated until it is answered or too late.

mod health;
mod kafka;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use regex::Regex;

use crate::door::Door;
use crate::page;

/// Limit of one question.
const ATTEMPT: Duration = Duration::from_secs(1);
/// Between questions: short, because a run asks thousands of times.
const PAUSE: Duration = Duration::from_millis(5);
/// Only so much of the beginning of an output is searched; what says "ready" comes early.
const LOG_BYTES_MAX: u64 = 4 << 20;

/// A question whose answer means "it serves".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// `address:port` accepts a connection.
    Tcp(String),
    /// The URL answers with status 200.
    Http(String),
    /// gRPC's health service says SERVING.
    Grpc {
        /// `address:port`, without TLS.
        at: String,
        /// The service; empty: the whole server.
        service: String,
    },
    /// A Kafka broker's metadata are complete.
    Kafka {
        /// `address:port`, without TLS.
        at: String,
        /// How many brokers there must be.
        brokers: usize,
    },
    /// A line of the file matches.
    Log {
        /// The file that takes the instance's output.
        file: PathBuf,
        /// Regular expression.
        pattern: String,
    },
    /// The command ends with code 0.
    Command(Vec<String>),
}

/// How waiting for an instance ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waited {
    /// It serves, after so long.
    Ready(Duration),
    /// It does not, after the limit; the last answer in words.
    NotReady {
        /// How long.
        waited: Duration,
        /// What was tried and what came of it.
        answer: String,
    },
    /// It is no longer there.
    Gone,
}

/// Whether a process still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It does.
    Running,
    /// It does not; there is nothing to wait for.
    Ended,
}

impl Probe {
    /// Asks once, through the door.
    ///
    /// # Errors
    /// Why it does not serve yet, in words.
    pub fn ask(&self, door: &Door) -> Result<(), String> {
        match self {
            Probe::Tcp(at) => open(door, at, ATTEMPT).map(drop),
            Probe::Grpc { at, service } => health::ask(door, at, service, ATTEMPT),
            Probe::Kafka { at, brokers } => kafka::ask(door, at, *brokers, ATTEMPT),
            Probe::Http(url) => match page::get(door, url, ATTEMPT)? {
                page::Page { status: 200, .. } => Ok(()),
                page::Page { status, .. } => Err(format!("{url} answered {status}, not 200")),
            },
            Probe::Log { file, pattern } => matches_line(file, pattern),
            Probe::Command(words) => match door.run(words, ATTEMPT) {
                Ok(output) if output.success => Ok(()),
                Ok(output) => Err(format!("`{}` {}", words.join(" "), output.how)),
                Err(reason) => Err(reason),
            },
        }
    }

    /// Asks until it serves, ends or the limit has passed.
    pub fn wait(&self, door: &Door, within: Duration, life: &mut dyn FnMut() -> Life) -> Waited {
        let start = Instant::now();
        loop {
            if life() == Life::Ended {
                return Waited::Gone;
            }
            match self.ask(door) {
                Ok(()) => return Waited::Ready(start.elapsed()),
                Err(answer) if start.elapsed() >= within => {
                    return Waited::NotReady {
                        waited: start.elapsed(),
                        answer,
                    };
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }
}

fn open(door: &Door, at: &str, limit: Duration) -> Result<TcpStream, String> {
    let address = at
        .to_socket_addrs()
        .ok()
        .and_then(|mut all| all.next())
        .ok_or_else(|| format!("`{at}` is no address with a port"))?;
    door.connect(address, limit)
        .map_err(|error| format!("no connection to {at}: {error}"))
}

fn matches_line(file: &Path, pattern: &str) -> Result<(), String> {
    let regex = Regex::new(pattern).map_err(|error| format!("`{pattern}`: {error}"))?;
    let mut text = Vec::new();
    File::open(file)
        .and_then(|mut file| {
            file.seek(SeekFrom::Start(0))?;
            file.take(LOG_BYTES_MAX).read_to_end(&mut text)
        })
        .map_err(|error| format!("{}: {error}", file.display()))?;
    let text = String::from_utf8_lossy(&text);
    if text.lines().any(|line| regex.is_match(line)) {
        return Ok(());
    }
    Err(format!("no line of {} matches `{pattern}`", file.display()))
}

#[cfg(test)]
mod tests;
