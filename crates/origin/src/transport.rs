//! Transports of a connection: plain TCP, or TLS over it (`tls`).

use std::io::{self, Write};
use std::net::Shutdown;

use mio::net::TcpStream;

use crate::counters::Counters;
use crate::sys;
use crate::tls::Tls;

/// The result of one receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// Bytes for the protocol, at the start of the input buffer.
    Bytes {
        bytes: usize,
        /// The kernel's realtime timestamp of the last packet in them, in nanoseconds.
        stamp_ns: Option<u64>,
        /// The socket has no more: the receive was short, and more bytes cause a new edge (epoll(7)), which saves a call that
        /// returns EAGAIN.
        is_drained: bool,
    },
    /// None now; an event reports more.
    Nothing,
    /// Bytes were received, but none for the protocol.
    Again,
    /// The client has closed its side.
    End,
}

/// Receive buffers of a worker, shared by its connections.
#[derive(Debug)]
pub(crate) struct ReceiveBuffers {
    /// For the protocol.
    pub input: Vec<u8>,
    /// Before decryption; empty where nothing is encrypted.
    pub cipher: Vec<u8>,
}

/// A connection's bytes, without blocking: one branch per call, so that one event loop, which is edge-triggered, serves both
/// transports.
#[derive(Debug)]
pub(crate) enum Channel {
    Plain(TcpStream),
    Tls(Box<Tls>),
}

impl Channel {
    /// Receives available bytes.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        buffers: &mut ReceiveBuffers,
        counters: &Counters,
    ) -> io::Result<Received> {
        let socket = match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => return tls.receive(buffers, counters),
        };
        match sys::receive(socket, &mut buffers.input) {
            Ok(received) if received.bytes == 0 => Ok(Received::End),
            Ok(received) => Ok(Received::Bytes {
                bytes: received.bytes,
                stamp_ns: received.stamp_ns,
                is_drained: received.bytes < buffers.input.len(),
            }),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Received::Nothing),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Received::Again),
            Err(error) => Err(error),
        }
    }

    /// Takes as many bytes as fit.
    #[inline]
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(tls) => tls.send(bytes),
        }
    }

    /// Writes the bytes taken to the kernel; `false` if its buffer is full.
    #[inline]
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        match self {
            Self::Plain(_) => Ok(true),
            Self::Tls(tls) => tls.flush(),
        }
    }

    /// Closes the sending side.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.shutdown(Shutdown::Write),
            Self::Tls(tls) => tls.finish(),
        }
    }

    /// Whether the protocol has to wait for a handshake.
    pub(crate) fn is_handshaking(&self) -> bool {
        matches!(self, Self::Tls(tls) if tls.is_handshaking)
    }

    pub(crate) fn socket(&mut self) -> &mut TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => &mut tls.socket,
        }
    }
}
