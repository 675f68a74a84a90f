//! A TCP connection whose every read and write has a deadline.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::address::Address;
use super::error::LinkError;
use super::settings::Settings;

/// TCP until a moment.
#[derive(Debug)]
pub(super) struct Timed {
    stream: TcpStream,
    until: Instant,
}

impl Timed {
    /// Connects to the first of the host's addresses that may be called and takes it.
    pub(super) fn connect(
        broker: &Address,
        settings: &Settings,
    ) -> std::result::Result<Timed, LinkError> {
        let within = settings.connect_within;
        let until = Instant::now() + within;
        let unknown = |why: String| LinkError::Unknown {
            broker: broker.clone(),
            why,
        };
        // The resolver has its own limit; there is no other way to ask it without a thread.
        let found = (broker.host.as_str(), broker.port)
            .to_socket_addrs()
            .map_err(|error| unknown(error.to_string()))?;
        let mut last = unknown("it has no address".to_owned());
        for one in found {
            if let Err(refused) = settings.reach.check(one.ip()) {
                last = LinkError::OutOfReach {
                    broker: broker.clone(),
                    refused,
                };
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match settings.dial.connect(one, left) {
                Ok(stream) => {
                    // Requests are small and are waited for: never hold them back.
                    let _ = stream.set_nodelay(true);
                    return Ok(Timed { stream, until });
                }
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    last = LinkError::Slow {
                        broker: broker.clone(),
                        api: "the connection".to_owned(),
                        within,
                    };
                }
                Err(error) => {
                    last = LinkError::Refused {
                        broker: broker.clone(),
                        why: error.to_string(),
                    };
                }
            }
        }
        Err(last)
    }

    /// From now on everything ends at this moment.
    pub(super) fn set_until(&mut self, until: Instant) {
        self.until = until;
    }

    fn left(&self) -> Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(ErrorKind::TimedOut.into()),
            false => Ok(left),
        }
    }
}

/// A socket's time limit shows as `WouldBlock`; above it there is only one word for it.
fn timed_out(error: Error) -> Error {
    match error.kind() {
        ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
        _ => error,
    }
}

impl Read for Timed {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(into).map_err(timed_out)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes).map_err(timed_out)
    }

    fn flush(&mut self) -> Result<()> {
        self.stream.flush()
    }
}
