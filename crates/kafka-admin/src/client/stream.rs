//! A TCP stream with a deadline for every read and write.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tare_record::broker_address::Address;

use super::error::ClientError;
use super::settings::ClientSettings;

#[derive(Debug)]
pub(super) struct DeadlineStream {
    stream: TcpStream,
    deadline: Instant,
}

impl DeadlineStream {
    /// Connects to the first address of the host that is allowed and accepts.
    pub(super) fn connect(
        broker: &Address,
        settings: &ClientSettings,
        deadline: Instant,
    ) -> std::result::Result<DeadlineStream, ClientError> {
        let within = settings.connect_timeout;
        let unknown = |why: String| ClientError::HostNotFound(broker.clone(), why);
        // The resolver has its own timeout; setting another one would take a thread.
        let found = settings.names.resolve(broker);
        let found = found.map_err(|error| unknown(error.to_string()))?;
        let mut last = unknown("it has no address".to_owned());
        for one in found {
            if let Err(refused) = settings.reach.check(one.ip()) {
                last = ClientError::AddressNotAllowed(broker.clone(), refused);
                continue;
            }
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                break;
            }
            match settings.connector.connect(one, remaining) {
                Ok(stream) => {
                    // Requests are small and latency-bound: no Nagle delay.
                    let _ = stream.set_nodelay(true);
                    return Ok(DeadlineStream { stream, deadline });
                }
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    let api = "the connection".to_owned();
                    last = ClientError::Timeout(broker.clone(), api, within);
                }
                Err(error) => {
                    last = ClientError::Refused(broker.clone(), error.to_string());
                }
            }
        }
        Err(last)
    }

    /// Sets the deadline of all following operations.
    pub(super) fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    fn remaining(&self) -> Result<Duration> {
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        match remaining.is_zero() {
            true => Err(ErrorKind::TimedOut.into()),
            false => Ok(remaining),
        }
    }
}

/// A socket timeout is reported as `WouldBlock`; callers see `TimedOut` only.
fn timed_out(error: Error) -> Error {
    match error.kind() {
        ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
        _ => error,
    }
}

impl Read for DeadlineStream {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        self.stream.set_read_timeout(Some(self.remaining()?))?;
        self.stream.read(into).map_err(timed_out)
    }
}

impl Write for DeadlineStream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.stream.set_write_timeout(Some(self.remaining()?))?;
        self.stream.write(bytes).map_err(timed_out)
    }

    fn flush(&mut self) -> Result<()> {
        self.stream.flush()
    }
}
