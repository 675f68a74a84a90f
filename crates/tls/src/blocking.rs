//! TLS over a socket whose calls block.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::ops::DerefMut;

use rustls::{ClientConnection, ConnectionCommon, SideData, StreamOwned};

/// TLS over a blocking stream.
pub type TlsStream<C, S> = StreamOwned<C, Uninterrupted<S>>;

/// A stream whose interrupted calls are repeated.
///
/// Calls on a socket with a timeout fail with `EINTR` without any signal handler (signal(7)): after SIGCONT, and when
/// the child of a thread that is just starting another one ends, because the kernel then wakes some other thread.
/// rustls repeats reads only: its handshakes and flushes would fail.
#[derive(Debug)]
pub struct Uninterrupted<S>(pub S);

/// TLS over a blocking stream; the handshake takes place with the first bytes.
pub fn over<C, S, D>(connection: C, stream: S) -> TlsStream<C, S>
where
    C: DerefMut<Target = ConnectionCommon<D>>,
    S: Read + Write,
    D: SideData,
{
    StreamOwned::new(connection, Uninterrupted(stream))
}

/// The same after the handshake.
///
/// # Errors
/// Why the handshake failed.
pub fn handshake<S: Read + Write>(
    connection: ClientConnection,
    stream: S,
) -> io::Result<TlsStream<ClientConnection, S>> {
    let mut stream = over(connection, stream);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}

fn repeated<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

impl<S: Read> Read for Uninterrupted<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        repeated(|| self.0.read(into))
    }
}

impl<S: Write> Write for Uninterrupted<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        repeated(|| self.0.write(bytes))
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        repeated(|| self.0.write_vectored(parts))
    }

    fn flush(&mut self) -> io::Result<()> {
        repeated(|| self.0.flush())
    }
}
