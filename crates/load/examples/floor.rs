//! What one HTTP/1.1 exchange costs at least: send, receive and epoll alone, nothing parsed, no clock read, nothing counted
//! but bytes. `bench/generators` sets Tare and its peers against it.
//!
//! `cargo run --release -p tare-load --example floor -- ADDRESS CONNECTIONS SECONDS [stamped]`: a closed loop of
//! `GET /`. Every answer must be as long as the first one. `stamped` asks the kernel for receive stamps, as Tare does.
#![allow(clippy::print_stdout, reason = "an example prints what it measures")]
#![expect(
    unsafe_code,
    reason = "recvmsg with receive stamps has no safe wrapper"
)]

use std::error::Error;
use std::io::{self, Read, Write};
use std::mem::{MaybeUninit, size_of};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

const EVENTS_MAX: usize = 256;
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// The clock is read once in so many turns: its cost is not part of the floor.
const TURNS_BETWEEN_LOOKS: u32 = 64;

/// How answers are received.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Receive {
    Plain,
    Stamped,
}

struct Connection {
    stream: TcpStream,
    /// Of the answer under way.
    received_bytes: usize,
}

fn now(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// One exchange, blocking: how long is an answer?
fn answer_bytes(address: &str, request: &[u8]) -> Result<usize, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while answer.len() < ANSWER_BYTES_MAX {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Err("the server closes its connections".into());
        }
        answer.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&answer);
        let Some(head_bytes) = text.find("\r\n\r\n") else {
            continue;
        };
        let length = text[..head_bytes]
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let (_, length) = length.ok_or("the answer states no length")?;
        return Ok(head_bytes + 4 + length.parse::<usize>()?);
    }
    Err("the answer's head is too long".into())
}

fn stamp(stream: &TcpStream) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the pointer and length describe one c_int that outlives the call.
    let status = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            std::ptr::from_ref(&on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn receive_stamped(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    let mut control = [0_u64; 8];
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: msghdr is plain data; all zeros is a valid empty message.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the message points at buffers that outlive the call, with their true lengths.
    let taken = unsafe {
        libc::syscall(
            libc::SYS_recvmsg,
            stream.as_raw_fd(),
            &raw mut message,
            libc::MSG_DONTWAIT,
        )
    };
    usize::try_from(taken).map_err(|_| io::Error::last_os_error())
}

fn receive(how: Receive, stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    match how {
        Receive::Plain => Ok(rustix::net::recv(stream, buffer, RecvFlags::DONTWAIT)?.0),
        Receive::Stamped => receive_stamped(stream, buffer),
    }
}

fn send(stream: &TcpStream, request: &[u8]) -> Result<(), Box<dyn Error>> {
    match rustix::net::send(stream, request, SendFlags::NOSIGNAL)? {
        count if count == request.len() => Ok(()),
        _ => Err("the kernel took half a request".into()),
    }
}

fn raise_descriptors() -> io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, connections, seconds, how @ ..] = words.as_slice() else {
        return Err("usage: floor ADDRESS CONNECTIONS SECONDS [stamped]".into());
    };
    let how = match how {
        [word] if word == "stamped" => Receive::Stamped,
        _ => Receive::Plain,
    };
    raise_descriptors()?;
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes();
    let length_bytes = answer_bytes(address, &request)?;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let mut all = Vec::new();
    for number in 0..connections.parse::<u64>()? {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        if how == Receive::Stamped {
            stamp(&stream)?;
        }
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(epoll.as_fd(), &stream, EventData::new_u64(number), flags)?;
        all.push(Connection {
            stream,
            received_bytes: 0,
        });
    }
    let length = Duration::from_secs_f64(seconds.parse()?);
    let (began, cpu_before) = (now(ClockId::Monotonic), now(ClockId::ProcessCPUTime));
    let requests = exchange(
        &epoll,
        &mut all,
        &request,
        length_bytes,
        how,
        began + length,
    )?;
    let cpu = now(ClockId::ProcessCPUTime) - cpu_before;
    let took = now(ClockId::Monotonic) - began;
    println!(
        "{{\"requests\": {requests}, \"seconds\": {:.6}, \"cpu_us\": {}}}",
        took.as_secs_f64(),
        cpu.as_micros()
    );
    Ok(())
}

/// The loop; requests answered until the end.
fn exchange(
    epoll: impl AsFd,
    all: &mut [Connection],
    request: &[u8],
    length_bytes: usize,
    how: Receive,
    end: Duration,
) -> Result<u64, Box<dyn Error>> {
    let limit = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let mut buffer = vec![0; ANSWER_BYTES_MAX];
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let (mut requests, mut turns) = (0, 0_u32);
    for connection in all.iter() {
        send(&connection.stream, request)?;
    }
    loop {
        turns = turns.wrapping_add(1);
        if turns.is_multiple_of(TURNS_BETWEEN_LOOKS) && now(ClockId::Monotonic) >= end {
            return Ok(requests);
        }
        events.clear();
        epoll::wait(epoll.as_fd(), spare_capacity(&mut events), Some(&limit))?;
        if events.is_empty() {
            return Err("no answer for a second".into());
        }
        for event in &events {
            let connection = &mut all[event.data.u64() as usize];
            let count = match receive(how, &connection.stream, &mut buffer) {
                Ok(0) => return Err("the server closed a connection".into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error.into()),
            };
            connection.received_bytes += count;
            if connection.received_bytes > length_bytes {
                return Err("an answer is longer than the first one".into());
            }
            if connection.received_bytes == length_bytes {
                connection.received_bytes = 0;
                requests += 1;
                send(&connection.stream, request)?;
            }
        }
    }
}
