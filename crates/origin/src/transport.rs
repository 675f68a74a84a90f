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
        left: Left,
    },
    /// None now; an event reports more.
    Nothing,
    /// Bytes were received, but none for the protocol.
    Again,
    /// The client has closed its side.
    End,
}

/// Whether the socket may have more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    MayBe,
    /// The receive was short: more bytes cause a new edge (epoll(7)), which saves a call that returns EAGAIN.
    Nothing,
}

/// Whether all bytes taken for sending are with the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flushed {
    All,
    /// The kernel's buffer is full.
    Full,
}

/// Whether the connection is established above TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    Handshaking,
}

/// Receive buffers of a worker, shared by its connections.
#[derive(Debug)]
pub(crate) struct ReceiveBuffers {
    /// For the protocol.
    pub input: Vec<u8>,
    /// Before decryption; empty where nothing is encrypted.
    pub cipher: Vec<u8>,
}

/// A connection's bytes, without blocking. The event loop is edge-triggered.
pub(crate) trait Transport {
    /// Receives available bytes.
    fn receive(
        &mut self,
        buffers: &mut ReceiveBuffers,
        counters: &Counters,
    ) -> io::Result<Received>;
    /// Takes as many bytes as fit.
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Writes the bytes taken to the kernel.
    fn flush(&mut self) -> io::Result<Flushed>;
    /// Closes the sending side.
    fn finish(&mut self) -> io::Result<()>;
    /// Whether the protocol may begin.
    fn readiness(&self) -> Readiness;
    /// The socket.
    fn socket(&mut self) -> &mut TcpStream;
}

/// Any of the transports: one branch per call, so that one event loop serves all of them.
#[derive(Debug)]
pub(crate) enum Channel {
    Plain(Plain),
    Tls(Box<Tls>),
}

macro_rules! each {
    ($channel:expr, $transport:ident => $call:expr) => {
        match $channel {
            Channel::Plain($transport) => $call,
            Channel::Tls($transport) => $call,
        }
    };
}

impl Transport for Channel {
    #[inline]
    fn receive(
        &mut self,
        buffers: &mut ReceiveBuffers,
        counters: &Counters,
    ) -> io::Result<Received> {
        each!(self, transport => transport.receive(buffers, counters))
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        each!(self, transport => transport.send(bytes))
    }

    #[inline]
    fn flush(&mut self) -> io::Result<Flushed> {
        each!(self, transport => transport.flush())
    }

    fn finish(&mut self) -> io::Result<()> {
        each!(self, transport => transport.finish())
    }

    fn readiness(&self) -> Readiness {
        each!(self, transport => transport.readiness())
    }

    fn socket(&mut self) -> &mut TcpStream {
        each!(self, transport => transport.socket())
    }
}

/// Plain TCP.
#[derive(Debug)]
pub(crate) struct Plain(pub TcpStream);

impl Transport for Plain {
    #[inline]
    fn receive(&mut self, buffers: &mut ReceiveBuffers, _: &Counters) -> io::Result<Received> {
        let received = match sys::receive(&self.0, &mut buffers.input) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Received::Nothing);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Received::Again),
            Err(error) => return Err(error),
        };
        if received.bytes == 0 {
            return Ok(Received::End);
        }
        Ok(Received::Bytes {
            bytes: received.bytes,
            stamp_ns: received.stamp_ns,
            left: if received.bytes < buffers.input.len() {
                Left::Nothing
            } else {
                Left::MayBe
            },
        })
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<Flushed> {
        Ok(Flushed::All)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Write)
    }

    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }

    fn socket(&mut self) -> &mut TcpStream {
        &mut self.0
    }
}
