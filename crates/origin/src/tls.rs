//! TLS as the origin speaks it (rustls), over the same non-blocking sockets and with the same arrival stamps.

mod made;
mod options;

pub use options::{Clients, Identity, Tickets, TlsOptions, TlsVersions};
pub(crate) use options::{TlsServer, server};

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use mio::net::TcpStream;
use rustls::{HandshakeKind, ServerConnection};

use crate::counters::{Counters, Failure};
use crate::sys;
use crate::transport::{Flushed, Left, Readiness, Received, Room, Transport};

/// Received at once before decryption. With a record that was incomplete before (at most 18 KiB) it still decrypts into the
/// 64 KiB of a worker's room.
pub(crate) const CIPHER_BYTES: usize = 44 * 1024;

/// One connection over TLS.
#[derive(Debug)]
pub(crate) struct Tls {
    socket: TcpStream,
    session: ServerConnection,
    readiness: Readiness,
    client: Client,
}

/// Whether the client may send more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Open,
    /// It has said that it will not.
    Ended,
}

impl Tls {
    pub(crate) fn accept(server: &TlsServer, socket: TcpStream) -> Result<Self, rustls::Error> {
        Ok(Self {
            socket,
            session: ServerConnection::new(Arc::clone(server))?,
            readiness: Readiness::Handshaking,
            client: Client::Open,
        })
    }

    /// Decrypts all that was received; gives the bytes of plain text.
    fn decrypt(&mut self, mut cipher: &[u8], plain: &mut [u8]) -> Result<usize, TlsFault> {
        let mut filled = 0;
        while !cipher.is_empty() {
            let taken = self
                .session
                .read_tls(&mut cipher)
                .map_err(|_| TlsFault::Overfull)?;
            let state = self
                .session
                .process_new_packets()
                .map_err(TlsFault::Session)?;
            if state.peer_has_closed() {
                self.client = Client::Ended;
            }
            loop {
                match self.session.reader().read(&mut plain[filled..]) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => filled += count,
                }
            }
            if taken == 0 {
                break;
            }
        }
        Ok(filled)
    }

    fn note_handshake(&mut self, counters: &Counters) {
        if self.readiness == Readiness::Handshaking && !self.session.is_handshaking() {
            self.readiness = Readiness::Ready;
            counters.handshakes.add(1);
            if self.session.handshake_kind() == Some(HandshakeKind::Resumed) {
                counters.resumptions.add(1);
            }
        }
    }

    fn count_failure(&self, failure: Failure, counters: &Counters) {
        if self.readiness == Readiness::Handshaking {
            counters.handshake_failures.add(failure);
        }
    }
}

/// Why nothing more can be decrypted.
enum TlsFault {
    Session(rustls::Error),
    /// A record larger than any may be.
    Overfull,
}

impl TlsFault {
    fn class(&self) -> Failure {
        use rustls::Error as E;
        match self {
            Self::Overfull => Failure::NotTls,
            Self::Session(error) => match error {
                E::InvalidMessage(_) => Failure::NotTls,
                E::NoApplicationProtocol => Failure::Protocol,
                E::NoCertificatesPresented => Failure::NoCertificate,
                E::InvalidCertificate(_) => Failure::BadCertificate,
                E::PeerIncompatible(_) => Failure::NothingInCommon,
                E::AlertReceived(_) => Failure::Alert,
                _ => Failure::Other,
            },
        }
    }
}

impl Transport for Tls {
    fn receive(&mut self, room: &mut Room, counters: &Counters) -> io::Result<Received> {
        if self.client == Client::Ended {
            return Ok(Received::End);
        }
        let received = match sys::receive(&self.socket, &mut room.cipher) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Received::Nothing);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Received::Again),
            Err(error) => {
                self.count_failure(Failure::Closed, counters);
                return Err(error);
            }
        };
        if received.bytes == 0 {
            self.count_failure(Failure::Closed, counters);
            return Ok(Received::End);
        }
        let decrypted = self.decrypt(&room.cipher[..received.bytes], &mut room.input);
        let flushed = self.flush();
        let bytes = match decrypted {
            Ok(bytes) => bytes,
            Err(fault) => {
                self.count_failure(fault.class(), counters);
                // The alert is sent; nothing can follow it.
                let _ = self.socket.shutdown(Shutdown::Write);
                return Err(io::ErrorKind::InvalidData.into());
            }
        };
        flushed?;
        self.note_handshake(counters);
        let short = received.bytes < room.cipher.len() && self.client == Client::Open;
        match (bytes, short) {
            (0, true) => Ok(Received::Nothing),
            (0, false) => Ok(Received::Again),
            (bytes, short) => Ok(Received::Bytes {
                bytes,
                stamp_ns: received.stamp_ns,
                left: if short { Left::Nothing } else { Left::MayBe },
            }),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.flush()? == Flushed::Full {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // Takes up to 64 KiB, the limit of what it buffers.
        let taken = self.session.writer().write(bytes)?;
        self.flush()?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<Flushed> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Flushed::Full);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Flushed::All)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.session.send_close_notify();
        self.flush()?;
        self.socket.shutdown(Shutdown::Write)
    }

    fn readiness(&self) -> Readiness {
        self.readiness
    }

    fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }
}
