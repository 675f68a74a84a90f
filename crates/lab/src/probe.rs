//! Readiness probe: repeated until the instance is ready, has exited or the time is up.

use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use regex::Regex;
use tare_http2_frames::exchange::ExchangeLimits;
use tare_http2_frames::grpc;
use tare_record::load::AddressPolicy;

use crate::brokers::{self, BrokerAccess};
use crate::connector::Connector;
use crate::environment::HttpResponse;
use crate::http;

/// Timeout of one attempt.
const ATTEMPT: Duration = Duration::from_secs(1);
/// Time between attempts: short, because a run makes thousands of them.
const PAUSE: Duration = Duration::from_millis(5);
/// Maximum size of a health check's response; real ones have some hundred bytes.
const HEALTH_BYTES_MAX: usize = 64 * 1024;
/// Maximum of a log that is searched; readiness is reported early.
const LOG_BYTES_MAX: u64 = 4 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadinessProbe {
    /// `address:port` accepts a connection.
    Tcp(String),
    /// The URL answers with status 200.
    Http(String),
    /// The gRPC health service reports SERVING.
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
        /// Number of brokers in the cluster.
        brokers: usize,
    },
    /// A line of the file matches.
    Log {
        /// The file that takes the instance's output.
        file: PathBuf,
        /// Regular expression.
        pattern: String,
    },
    /// The command exits with code 0.
    Command(Vec<String>),
    /// The page has a line with each of these texts.
    Lines { url: String, lines: Vec<String> },
    /// All of these.
    All(Vec<ReadinessProbe>),
}

/// Result of waiting for readiness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Ready after this time.
    Ready(Duration),
    /// Not ready within the timeout.
    NotReady {
        /// Time waited.
        waited: Duration,
        /// The last attempt's error.
        answer: String,
    },
    /// The process has exited.
    Gone,
}

/// State of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceState {
    /// It runs.
    Running,
    /// It has exited.
    Ended,
}

impl ReadinessProbe {
    /// Makes one attempt.
    ///
    /// # Errors
    /// Why it is not ready yet.
    pub fn ask(&self, connector: &Connector) -> Result<(), String> {
        match self {
            ReadinessProbe::Tcp(at) => open(connector, at, ATTEMPT).map(drop),
            ReadinessProbe::Grpc { at, service } => ask_health(connector, at, service, ATTEMPT),
            ReadinessProbe::Kafka { at, brokers } => are_complete(connector, at, *brokers, ATTEMPT),
            ReadinessProbe::Http(url) => match http::get(connector, url, ATTEMPT)? {
                HttpResponse { status: 200, .. } => Ok(()),
                HttpResponse { status, .. } => Err(format!("{url} answered {status}, not 200")),
            },
            ReadinessProbe::Log { file, pattern } => matches_line(connector, file, pattern),
            ReadinessProbe::Command(words) => match connector.run(words, ATTEMPT) {
                Ok(output) if output.success => Ok(()),
                Ok(output) => Err(format!("`{}` {}", words.join(" "), output.how)),
                Err(reason) => Err(reason),
            },
            ReadinessProbe::Lines { url, lines } => {
                let page = http::get(connector, url, ATTEMPT)?;
                match lines.iter().find(|line| !page.text.contains(line.as_str())) {
                    None => Ok(()),
                    Some(line) => Err(format!("{url} does not say `{line}`")),
                }
            }
            ReadinessProbe::All(probes) => probes.iter().try_for_each(|one| one.ask(connector)),
        }
    }

    /// Repeats the probe until the instance is ready or has exited, or the timeout.
    pub fn wait(
        &self,
        connector: &Connector,
        within: Duration,
        state: &mut dyn FnMut() -> InstanceState,
    ) -> Readiness {
        let start = Instant::now();
        loop {
            if state() == InstanceState::Ended {
                return Readiness::Gone;
            }
            match self.ask(connector) {
                Ok(()) => return Readiness::Ready(start.elapsed()),
                Err(answer) if start.elapsed() >= within => {
                    return Readiness::NotReady {
                        waited: start.elapsed(),
                        answer,
                    };
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }
}

fn open(connector: &Connector, at: &str, limit: Duration) -> Result<TcpStream, String> {
    let address = at
        .to_socket_addrs()
        .ok()
        .and_then(|mut all| all.next())
        .ok_or_else(|| format!("`{at}` is not an address with a port"))?;
    connector
        .connect(address, limit)
        .map_err(|error| format!("no connection to {at}: {error}"))
}

/// Checks the metadata of a Kafka broker.
fn are_complete(
    connector: &Connector,
    at: &str,
    all: usize,
    limit: Duration,
) -> Result<(), String> {
    let connector = connector.clone();
    let broker = BrokerAccess {
        addresses: vec![at.to_owned()],
        connect: Some(Arc::new(move |to, within| connector.connect(to, within))),
        login: None,
        tls: None,
        reach: AddressPolicy::Private,
        timeout: limit,
    };
    brokers::client()?.check_ready(&broker, all)
}

/// Calls the gRPC health check of a service; of the whole server with an empty name.
fn ask_health(
    connector: &Connector,
    at: &str,
    service: &str,
    within: Duration,
) -> Result<(), String> {
    let stream = open(connector, at, within)?;
    let limits = ExchangeLimits {
        within,
        bytes_max: HEALTH_BYTES_MAX,
    };
    let limited = stream.set_read_timeout(Some(within));
    limited
        .and_then(|()| stream.set_write_timeout(Some(within)))
        .map_err(|error| error.to_string())
        .and_then(|()| grpc::check_health(&stream, at, service, limits))
        .map_err(|error| format!("the health of {at}: {error}"))
}

fn matches_line(connector: &Connector, file: &Path, pattern: &str) -> Result<(), String> {
    let regex = Regex::new(pattern).map_err(|error| format!("`{pattern}`: {error}"))?;
    let named = |reason: &dyn std::fmt::Display| format!("{}: {reason}", file.display());
    let read = connector.read(file, LOG_BYTES_MAX);
    let (text, _) = read
        .map_err(|error| named(&error))?
        .ok_or_else(|| named(&"there is no such file"))?;
    let text = String::from_utf8_lossy(&text);
    if text.lines().any(|line| regex.is_match(line)) {
        return Ok(());
    }
    Err(format!("no line of {} matches `{pattern}`", file.display()))
}

#[cfg(test)]
mod tests;
