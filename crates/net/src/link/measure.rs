//! Measures a path: round-trip times, and the throughput of one TCP stream.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::net::sockopt;
use rustix::time::Timespec;
use serde::{Deserialize, Serialize};

use super::LinkError;
use super::sleep::{minimise_timer_slack, now_ns};
use crate::namespace::run_inside;

/// Payload of an echo.
const ECHO_BYTES: usize = 64;
/// Receive-buffer bytes that the kernel accounts for a small packet.
const PACKET_BYTES: usize = 1024;
/// Most echoes that a receive buffer is sized for.
const ECHOES_KEPT_MAX: u64 = 4096;
/// Interval of echoes, sent without waiting for replies: a thousand take a second at any distance.
const ECHO_GAP: Duration = Duration::from_millis(1);
/// How long the last replies are waited for.
const ECHO_WAIT: Duration = Duration::from_secs(2);
/// Timeout of a step of a measurement.
const STEP_LIMIT: Duration = Duration::from_secs(10);
/// How often a thread that waits for datagrams checks whether to stop.
const TICK: Duration = Duration::from_millis(20);
/// One write of a stream.
const CHUNK_BYTES: usize = 1 << 18;
/// Least number of values for a 99th percentile: ten lie beyond it.
const P99_VALUES_MIN: usize = 1000;
/// This part of the time is slow start, and is not counted: one in so many.
const OPENING_SHARE: u32 = 3;

/// A path from one namespace to an address in another; without namespaces, on this machine.
#[derive(Debug, Clone, Copy)]
pub struct Path<'a> {
    /// Where it begins; `None`: the namespace of the caller.
    pub from: Option<BorrowedFd<'a>>,
    /// Where it ends.
    pub to: Option<BorrowedFd<'a>>,
    /// An address of the end.
    pub address: IpAddr,
}

/// Round-trip times of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrips {
    /// Echoes sent, or connections tried.
    pub sent: u64,
    /// Replies received within 2 s.
    pub answered: u64,
    /// Median; `None` without replies.
    pub p50_ns: Option<u64>,
    /// 99th percentile; `None` if fewer than ten values lie beyond it.
    pub p99_ns: Option<u64>,
    /// The shortest.
    pub min_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
}

/// Throughput of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throughput {
    /// Payload received.
    pub bytes: u64,
    /// In this time.
    pub elapsed_ns: u64,
}

impl Throughput {
    /// Bits of payload per second.
    #[must_use]
    pub fn bits_per_s(&self) -> f64 {
        self.bytes as f64 * 8e9 / self.elapsed_ns.max(1) as f64
    }
}

/// Runs `body` in the namespace: the caller's namespace does not change.
pub(super) fn run_in_namespace<T: Send>(
    namespace: Option<BorrowedFd<'_>>,
    body: impl FnOnce() -> T + Send,
) -> Result<T, LinkError> {
    match namespace {
        Some(namespace) => {
            run_inside(namespace, body).map_err(|error| LinkError::NoEntry(error.into()))
        }
        None => Ok(body()),
    }
}

impl RoundTrips {
    /// Statistics of the round trips that were answered.
    #[must_use]
    pub fn from_durations(sent: u64, mut trips_ns: Vec<u64>) -> Self {
        trips_ns.sort_unstable();
        let enough = trips_ns.len() >= P99_VALUES_MIN;
        Self {
            sent,
            answered: trips_ns.len() as u64,
            p50_ns: trips_ns.get(trips_ns.len() / 2).copied(),
            p99_ns: enough.then(|| trips_ns[trips_ns.len() * 99 / 100]),
            min_ns: trips_ns.first().copied(),
            max_ns: trips_ns.last().copied(),
        }
    }
}

impl Path<'_> {
    fn failed(&self, step: &'static str) -> impl Fn(io::Error) -> LinkError + use<> {
        let to = self.address;
        move |error| LinkError::NoMeasure { to, step, error }
    }
}

/// Sends `echoes` small datagrams a millisecond apart and measures each round trip.
///
/// The times include the wake-up of the sending process, as in any program.
///
/// # Errors
/// When a namespace cannot be entered or the address cannot be bound. Lost datagrams are no error.
pub fn round_trips(path: Path<'_>, echoes: u64) -> Result<RoundTrips, LinkError> {
    round_trips_while(path, echoes, &|| true)
}

/// As [`round_trips`], but stops when `wanted` returns false.
///
/// # Errors
/// As [`round_trips`].
pub fn round_trips_while(
    path: Path<'_>,
    echoes: u64,
    wanted: &(dyn Fn() -> bool + Sync),
) -> Result<RoundTrips, LinkError> {
    let bind = |address: IpAddr| {
        let socket = UdpSocket::bind((address, 0))?;
        socket.set_read_timeout(Some(TICK))?;
        enlarge_receive_buffer(&socket, echoes);
        Ok(socket)
    };
    let far =
        run_in_namespace(path.to, || bind(path.address))?.map_err(path.failed("listening"))?;
    let end = far.local_addr().map_err(path.failed("listening"))?;
    let near = run_in_namespace(path.from, || {
        let socket = bind(any(path.address))?;
        socket.connect(end)?;
        Ok(socket)
    })?
    .map_err(path.failed("sending"))?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| echo(&far, &stop));
        let sending = scope.spawn(|| send(&near, echoes, wanted));
        let trips = receive(&near, echoes, wanted);
        stop.store(true, Ordering::Relaxed);
        match sending.join() {
            Ok(sent) => {
                let sent = sent.map_err(path.failed("sending"))?;
                Ok(RoundTrips::from_durations(sent, trips))
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Sizes the receive buffer for every echo: one dropped at a descheduled receiver would look lost on the link.
fn enlarge_receive_buffer(socket: &UdpSocket, echoes: u64) {
    let echoes = usize::try_from(echoes.min(ECHOES_KEPT_MAX)).unwrap_or_default();
    let bytes = echoes * PACKET_BYTES;
    // Without `CAP_NET_ADMIN` it stays within the system's limit.
    if sockopt::set_socket_recv_buffer_size_force(socket, bytes).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(socket, bytes);
    }
}

/// The unspecified address of the same family.
fn any(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

fn echo(far: &UdpSocket, stop: &AtomicBool) {
    let mut data = [0; ECHO_BYTES];
    while !stop.load(Ordering::Relaxed) {
        if let Ok((length, from)) = far.recv_from(&mut data) {
            // One without a reply counts as lost.
            let _ = far.send_to(&data[..length], from);
        }
    }
}

/// Each echo carries its send time: both ends have the same clock.
fn send(near: &UdpSocket, echoes: u64, wanted: &(dyn Fn() -> bool + Sync)) -> io::Result<u64> {
    let _ = minimise_timer_slack();
    let mut data = [0; ECHO_BYTES];
    let mut due = Instant::now();
    for sent in 0..echoes {
        if !wanted() {
            return Ok(sent);
        }
        thread::sleep(due.saturating_duration_since(Instant::now()));
        data[..8].copy_from_slice(&now_ns().to_ne_bytes());
        near.send(&data)?;
        due += ECHO_GAP;
    }
    Ok(echoes)
}

fn receive(near: &UdpSocket, echoes: u64, wanted: &(dyn Fn() -> bool + Sync)) -> Vec<u64> {
    let _ = minimise_timer_slack();
    let mut data = [0; ECHO_BYTES];
    let mut trips = Vec::with_capacity(echoes as usize);
    let sending = ECHO_GAP * u32::try_from(echoes).unwrap_or(u32::MAX);
    let deadline = Instant::now() + sending + ECHO_WAIT;
    while (trips.len() as u64) < echoes && Instant::now() < deadline && wanted() {
        if let Ok(ECHO_BYTES) = near.recv(&mut data) {
            let mut sent = [0; 8];
            sent.copy_from_slice(&data[..8]);
            trips.push(now_ns().saturating_sub(u64::from_ne_bytes(sent)));
        }
    }
    trips
}

/// A TCP connection over the path: its near end and its far end, with `TCP_NODELAY`.
///
/// # Errors
/// When a namespace cannot be entered, or the connection takes longer than 10 s.
pub fn connected(path: Path<'_>) -> Result<(TcpStream, TcpStream), LinkError> {
    let listener = run_in_namespace(path.to, || TcpListener::bind((path.address, 0)))?
        .map_err(path.failed("listening"))?;
    let end = listener.local_addr().map_err(path.failed("listening"))?;
    let near = run_in_namespace(path.from, || TcpStream::connect_timeout(&end, STEP_LIMIT))?
        .map_err(path.failed("connecting"))?;
    let far = accept(&listener).map_err(path.failed("connecting"))?;
    for stream in [&near, &far] {
        prepare(stream).map_err(path.failed("connecting"))?;
    }
    Ok((near, far))
}

/// The handshake is complete for the client, but its last packet may be lost on the way to the listener.
fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let limit = Timespec {
        tv_sec: STEP_LIMIT.as_secs() as i64,
        tv_nsec: 0,
    };
    let mut awaited = [PollFd::new(listener, PollFlags::IN)];
    if retry_on_intr(|| poll(&mut awaited, Some(&limit)))? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(listener.accept()?.0)
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(STEP_LIMIT))?;
    stream.set_write_timeout(Some(STEP_LIMIT))
}

/// Sends as fast as possible for `length` and counts the bytes received in the last two thirds of it.
///
/// # Errors
/// When either end fails or nothing moves for 10 s.
pub fn throughput(
    mut near: impl Write + Send,
    mut far: impl Read + Send,
    length: Duration,
) -> io::Result<Throughput> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let chunk = vec![0x5a; CHUNK_BYTES];
            while !stop.load(Ordering::Relaxed) {
                near.write_all(&chunk)?;
            }
            near.flush()?;
            // The far end reads to the end of the stream.
            drop(near);
            Ok(())
        });
        let received = count(&mut far, length);
        stop.store(true, Ordering::Relaxed);
        // Reads the data in transit, or the sender would block for ever.
        let drained = io::copy(&mut far, &mut io::sink());
        let sent = match sending.join() {
            Ok(sent) => sent,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let received = received?;
        sent.and(drained).map(|_| received)
    })
}

fn count(far: &mut impl Read, length: Duration) -> io::Result<Throughput> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let opened = Instant::now() + length / OPENING_SHARE;
    while Instant::now() < opened {
        receive_some(far, &mut chunk)?;
    }
    let began = Instant::now();
    let mut bytes = 0;
    loop {
        bytes += receive_some(far, &mut chunk)?;
        let elapsed = began.elapsed();
        if elapsed >= length - length / OPENING_SHARE {
            let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
            return Ok(Throughput { bytes, elapsed_ns });
        }
    }
}

fn receive_some(far: &mut impl Read, chunk: &mut [u8]) -> io::Result<u64> {
    loop {
        match far.read(chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => return Ok(length as u64),
            // A socket with a timeout: the kernel does not repeat the call.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream whose every first call is interrupted.
    struct Interrupted(bool);

    impl Read for Interrupted {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0 = !self.0;
            match self.0 {
                true => Err(io::ErrorKind::Interrupted.into()),
                false => Ok(into.len()),
            }
        }
    }

    #[test]
    fn an_interrupted_read_does_not_end_a_measurement() {
        let mut stream = Interrupted(false);
        for _ in 0..3 {
            assert_eq!(receive_some(&mut stream, &mut [0; 8]).unwrap(), 8);
        }
    }
}
