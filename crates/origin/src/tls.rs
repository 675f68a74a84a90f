//! TLS (rustls), over the same non-blocking sockets and with the same receive timestamps.

mod options;
mod self_signed;

pub use options::{Identity, SessionTickets, TlsOptions, TlsVersions};
pub(crate) use options::{TlsServer, server};

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use mio::net::TcpStream;
use rustls::{HandshakeKind, ServerConnection};

use crate::counters::{Counters, HandshakeFailure};
use crate::sys;
use crate::transport::{ReceiveBuffers, Received};

/// Ciphertext per receive. With a record that was incomplete before (at most 18 KiB) it still decrypts into a worker's 64 KiB
/// buffer.
pub(crate) const CIPHER_BYTES: usize = 44 * 1024;

/// One connection over TLS.
#[derive(Debug)]
pub(crate) struct Tls {
    pub socket: TcpStream,
    session: ServerConnection,
    pub is_handshaking: bool,
    /// The client has sent close_notify.
    client_ended: bool,
    /// Nothing more can be decrypted: input is discarded.
    has_failed: bool,
}

impl Tls {
    pub(crate) fn accept(server: &TlsServer, socket: TcpStream) -> Result<Self, rustls::Error> {
        Ok(Self {
            socket,
            session: ServerConnection::new(Arc::clone(server))?,
            is_handshaking: true,
            client_ended: false,
            has_failed: false,
        })
    }

    /// Decrypts all that was received; returns the number of plaintext bytes.
    fn decrypt(&mut self, mut cipher: &[u8], plain: &mut [u8]) -> Result<usize, TlsFailure> {
        let mut filled = 0;
        while !cipher.is_empty() {
            let taken = self
                .session
                .read_tls(&mut cipher)
                .map_err(|_| TlsFailure::Overfull)?;
            let state = self
                .session
                .process_new_packets()
                .map_err(TlsFailure::Session)?;
            self.client_ended |= state.peer_has_closed();
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
        if self.is_handshaking && !self.session.is_handshaking() {
            self.is_handshaking = false;
            counters.handshakes.add(1);
            if self.session.handshake_kind() == Some(HandshakeKind::Resumed) {
                counters.resumptions.add(1);
            }
        }
    }

    fn count_failure(&self, failure: HandshakeFailure, counters: &Counters) {
        if self.is_handshaking && !self.has_failed {
            counters.handshake_failure(failure);
        }
    }
}

/// A TLS failure, after which nothing more can be decrypted.
enum TlsFailure {
    Session(rustls::Error),
    /// A record above the maximum size.
    Overfull,
}

impl TlsFailure {
    fn class(&self) -> HandshakeFailure {
        use rustls::Error as E;
        match self {
            Self::Overfull => HandshakeFailure::NotTls,
            Self::Session(error) => match error {
                E::InvalidMessage(_) => HandshakeFailure::NotTls,
                E::NoApplicationProtocol => HandshakeFailure::AlpnMismatch,
                E::NoCertificatesPresented => HandshakeFailure::NoCertificate,
                E::InvalidCertificate(_) => HandshakeFailure::BadCertificate,
                E::PeerIncompatible(_) => HandshakeFailure::NoCommonParameters,
                E::AlertReceived(_) => HandshakeFailure::Alert,
                _ => HandshakeFailure::Other,
            },
        }
    }
}

impl Tls {
    pub(crate) fn receive(
        &mut self,
        buffers: &mut ReceiveBuffers,
        counters: &Counters,
    ) -> io::Result<Received> {
        if self.client_ended {
            return Ok(Received::End);
        }
        let received = match sys::receive(&self.socket, &mut buffers.cipher) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Received::Nothing);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Received::Again),
            Err(error) => {
                self.count_failure(HandshakeFailure::Closed, counters);
                return Err(error);
            }
        };
        if received.bytes == 0 {
            self.count_failure(HandshakeFailure::Closed, counters);
            return Ok(Received::End);
        }
        if self.has_failed {
            return Ok(Received::Again);
        }
        let decrypted = self.decrypt(&buffers.cipher[..received.bytes], &mut buffers.input);
        let flushed = self.flush();
        let bytes = match decrypted {
            Ok(bytes) => bytes,
            Err(failure) => {
                self.count_failure(failure.class(), counters);
                self.has_failed = true;
                // The alert is sent, and is the last record.
                let _ = self.socket.shutdown(Shutdown::Write);
                return Err(io::ErrorKind::InvalidData.into());
            }
        };
        flushed?;
        self.note_handshake(counters);
        let short = received.bytes < buffers.cipher.len() && !self.client_ended;
        match (bytes, short) {
            (0, true) => Ok(Received::Nothing),
            (0, false) => Ok(Received::Again),
            (bytes, short) => Ok(Received::Bytes {
                bytes,
                stamp_ns: received.stamp_ns,
                is_drained: short,
            }),
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.flush()? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // The session takes up to 64 KiB, its buffer limit.
        let taken = self.session.writer().write(bytes)?;
        self.flush()?;
        Ok(taken)
    }

    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(false);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.session.send_close_notify();
        self.flush()?;
        self.socket.shutdown(Shutdown::Write)
    }
}
