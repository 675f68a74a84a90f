//! What a way carries: round trips, and the throughput of one TCP stream.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use rustix::time::Timespec;
use serde::{Deserialize, Serialize};

use super::LinkError;
use super::pause::{exact_timers, now_ns};

/// Payload of an echo.
const ECHO_BYTES: usize = 64;
/// What the kernel books for a small packet that is not read yet.
const PACKET_BYTES: usize = 1024;
/// Echoes that a socket has room for at most.
const ECHOES_KEPT_MAX: u64 = 4096;
/// Echoes are sent so far apart, without waiting for answers: a thousand take a second at any distance.
const ECHO_GAP: Duration = Duration::from_millis(1);
/// The last answers are waited for so long.
const ECHO_WAIT: Duration = Duration::from_secs(2);
/// No step of a measurement takes longer.
const STEP_LIMIT: Duration = Duration::from_secs(10);
/// How often a thread that waits for datagrams looks whether it should end.
const TICK: Duration = Duration::from_millis(20);
/// One write of a stream.
const CHUNK_BYTES: usize = 1 << 18;
/// A quantile of so many values has ten beyond its 99th percentile.
const P99_VALUES_MIN: usize = 1000;
/// A stream needs this part of its time to open its windows; it is not counted.
const OPENING_SHARE: u32 = 3;

/// A way from one namespace to an address in another; without namespaces, on this machine.
#[derive(Debug, Clone, Copy)]
pub struct Path<'a> {
    /// Where it begins; `None`: the namespace of the caller.
    pub from: Option<BorrowedFd<'a>>,
    /// Where it ends.
    pub to: Option<BorrowedFd<'a>>,
    /// An address of the end.
    pub address: IpAddr,
}

/// Round trips of a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrips {
    /// Echoes sent.
    pub sent: u64,
    /// Answers that came within 2 s.
    pub answered: u64,
    /// Half are shorter; none without answers.
    pub p50_ns: Option<u64>,
    /// One in a hundred is longer; none when fewer than ten values lie beyond it.
    pub p99_ns: Option<u64>,
    /// The shortest.
    pub min_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
}

/// What one stream carried.
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

/// Runs something on a thread of its own that has moved into the namespace: the caller stays where it is.
pub(super) fn inside<T: Send>(
    namespace: Option<BorrowedFd<'_>>,
    body: impl FnOnce() -> T + Send,
) -> Result<T, LinkError> {
    thread::scope(|scope| {
        let done = scope.spawn(move || {
            if let Some(namespace) = namespace {
                move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))
                    .map_err(|error| LinkError::NoEntry(error.into()))?;
            }
            Ok(body())
        });
        match done.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

impl RoundTrips {
    fn of(sent: u64, mut trips_ns: Vec<u64>) -> Self {
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

/// Sends so many small datagrams a millisecond apart and takes the time of each answer.
///
/// The times are those of the sending process: its own waking is in them, as it is in every program's.
///
/// # Errors
/// When a namespace cannot be entered or the address not be bound. Datagrams that get lost are no error.
pub fn round_trips(path: Path<'_>, echoes: u64) -> Result<RoundTrips, LinkError> {
    round_trips_while(path, echoes, &|| true)
}

/// The same, cut short when nobody wants it any more.
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
        make_room(&socket, echoes);
        Ok(socket)
    };
    let far = inside(path.to, || bind(path.address))?.map_err(path.failed("listening"))?;
    let end = far.local_addr().map_err(path.failed("listening"))?;
    let near = inside(path.from, || {
        let socket = bind(any(path.address))?;
        socket.connect(end)?;
        Ok(socket)
    })?
    .map_err(path.failed("sending"))?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| answer(&far, &stop));
        let sending = scope.spawn(|| send(&near, echoes, wanted));
        let trips = receive(&near, echoes, wanted);
        stop.store(true, Ordering::Relaxed);
        match sending.join() {
            Ok(sent) => Ok(RoundTrips::of(sent.map_err(path.failed("sending"))?, trips)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Room for every echo: one that found none at an end that was held off its core would look lost on the link.
fn make_room(socket: &UdpSocket, echoes: u64) {
    let echoes = usize::try_from(echoes.min(ECHOES_KEPT_MAX)).unwrap_or_default();
    let bytes = echoes * PACKET_BYTES;
    // Without the right to exceed the limit of this machine it stays within that.
    if sockopt::set_socket_recv_buffer_size_force(socket, bytes).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(socket, bytes);
    }
}

/// The address that stands for all of the same family.
fn any(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

fn answer(far: &UdpSocket, stop: &AtomicBool) {
    let mut data = [0; ECHO_BYTES];
    while !stop.load(Ordering::Relaxed) {
        if let Ok((length, from)) = far.recv_from(&mut data) {
            // One that cannot be answered counts as lost.
            let _ = far.send_to(&data[..length], from);
        }
    }
}

/// Each carries the moment at which it was sent: both ends are on one clock.
fn send(near: &UdpSocket, echoes: u64, wanted: &(dyn Fn() -> bool + Sync)) -> io::Result<u64> {
    let _ = exact_timers();
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
    let _ = exact_timers();
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

/// A TCP connection over the way: the near end and the far one, without Nagle's delay.
///
/// # Errors
/// When a namespace cannot be entered, or nobody is reached within 10 s.
pub fn connected(path: Path<'_>) -> Result<(TcpStream, TcpStream), LinkError> {
    let listener = inside(path.to, || TcpListener::bind((path.address, 0)))?
        .map_err(path.failed("listening"))?;
    let end = listener.local_addr().map_err(path.failed("listening"))?;
    let near = inside(path.from, || TcpStream::connect_timeout(&end, STEP_LIMIT))?
        .map_err(path.failed("connecting"))?;
    let far = accept(&listener).map_err(path.failed("connecting"))?;
    for stream in [&near, &far] {
        prepare(stream).map_err(path.failed("connecting"))?;
    }
    Ok((near, far))
}

/// The handshake is over for the caller, but its last part may get lost on the way to the listener.
fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let limit = Timespec {
        tv_sec: STEP_LIMIT.as_secs() as i64,
        tv_nsec: 0,
    };
    if poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&limit))? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(listener.accept()?.0)
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(STEP_LIMIT))?;
    stream.set_write_timeout(Some(STEP_LIMIT))
}

/// Sends as fast as it goes for this long and counts what arrives in the last two thirds of it.
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
        // What is still under way, or the sender never ends.
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
    match far.read(chunk)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        length => Ok(length as u64),
    }
}
