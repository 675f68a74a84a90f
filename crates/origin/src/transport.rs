//! How the bytes of a connection travel: plain TCP now; TLS goes here.

use std::io::{self, Write};
use std::net::Shutdown;

use mio::event::Source;
use mio::net::TcpStream;

use crate::sys::{self, Received};

/// A connection's bytes, without blocking. The event loop is edge-triggered.
pub(crate) trait Transport {
    /// Receives what is there, with the arrival stamp of its last byte.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received>;
    /// Sends what fits.
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Says that nothing more will be sent.
    fn finish(&mut self) -> io::Result<()>;
    /// What the event loop watches.
    fn source(&mut self) -> &mut dyn Source;
}

/// TCP without anything on top.
#[derive(Debug)]
pub(crate) struct Plain(pub TcpStream);

impl Transport for Plain {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        sys::receive(&self.0, buffer)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Write)
    }

    fn source(&mut self) -> &mut dyn Source {
        &mut self.0
    }
}
