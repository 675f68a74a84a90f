//! UDP echo (RFC 862): every datagram goes back, as it is, to where it came from.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recvfrom, sendto, sockopt,
};

use crate::counters::Counters;
use crate::stall::Stalls;
use crate::stop::StopHandle;
use crate::timers;

/// Receive buffer: what arrives while the thread waits for a core.
const BUFFER_BYTES: usize = 8 << 20;
/// Datagrams echoed before the thread looks whether it shall stop.
const DATAGRAMS_A_TURN: u32 = 1024;
/// Larger than any datagram.
const DATAGRAM_BYTES: usize = 1 << 16;

/// A socket with its echo loop.
#[derive(Debug)]
pub(crate) struct UdpEcho {
    socket: OwnedFd,
    pub local_addr: SocketAddr,
}

impl UdpEcho {
    /// Binds to an address; port 0 takes a free one.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, None)?;
        // Only root may exceed the system's limit.
        if sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER_BYTES).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, BUFFER_BYTES)?;
        }
        rustix::net::bind(&socket, &address)?;
        let local_addr = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
        Ok(Self { socket, local_addr })
    }

    /// Echoes until stopped. An echo that cannot be sent is lost, as in any network.
    pub(crate) fn run(
        self,
        stop: &StopHandle,
        stalls: &Stalls,
        counters: &Arc<Counters>,
    ) -> io::Result<()> {
        let mut buffer = vec![0; DATAGRAM_BYTES];
        loop {
            let mut waited_for = [
                PollFd::new(&self.socket, PollFlags::IN),
                PollFd::new(stop, PollFlags::IN),
            ];
            match poll(&mut waited_for, None) {
                Err(Errno::INTR) => continue,
                other => other?,
            };
            if !waited_for[1].revents().is_empty() {
                return Ok(());
            }
            stalls.wait_out(timers::monotonic_ns(), stop);
            for _ in 0..DATAGRAMS_A_TURN {
                let Some(bytes) = self.echo(&mut buffer)? else {
                    break;
                };
                counters.received_bytes.add(bytes as u64);
                counters.sent_bytes.add(bytes as u64);
                counters.request(200);
            }
        }
    }

    /// Echoes one datagram, and returns its length; `None` when there is none.
    fn echo(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match recvfrom(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((bytes, _, Some(from))) => {
                    // Fails where the sender has gone, or the send buffer is full.
                    let _ = sendto(&self.socket, &buffer[..bytes], SendFlags::empty(), &from);
                    return Ok(Some(bytes));
                }
                // The sender of an earlier datagram has gone (ICMP).
                Ok((_, _, None)) | Err(Errno::INTR | Errno::CONNREFUSED) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
