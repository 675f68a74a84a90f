//! The handshake of one connection, by rustls.

use std::fmt::Write as _;

use rustls::HandshakeKind;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, InsufficientSizeError};
use tare_schema::agent::{Handshaken, TlsSeen};

use super::config::TlsClient;
use super::fault::TlsFault;
use super::record;
use super::session::Session;

/// Most that is kept of a server's flight: far more than any chain of certificates a server could be reached with.
const INCOMING_MAX: usize = 256 * 1024;

/// A handshake under way.
pub struct Handshake {
    conn: UnbufferedClientConnection,
    needed: Option<std::sync::Arc<[u8]>>,
    incoming: Vec<u8>,
    /// Data that came in one go with the end of the handshake.
    early: Vec<u8>,
}

/// A handshake that is done.
pub struct Shaken {
    /// What follows.
    pub session: Session,
    /// Data that came with its end.
    pub early: Vec<u8>,
    /// What the two agreed on.
    pub seen: TlsSeen,
    /// Whether a session was resumed.
    pub kind: Handshaken,
}

impl Handshake {
    /// Begins one, with the server of the plan or the one named; [`Handshake::proceed`] gives the first bytes to send.
    ///
    /// # Errors
    /// When rustls refuses the configuration.
    pub fn begin(
        client: &TlsClient,
        named: Option<&ServerName<'static>>,
    ) -> Result<Self, TlsFault> {
        let server = named.unwrap_or(&client.server).clone();
        let conn = UnbufferedClientConnection::new(client.config.clone(), server)
            .map_err(|error| TlsFault::from_rustls(&error))?;
        Ok(Self {
            conn,
            needed: client.needed.clone(),
            incoming: Vec::with_capacity(8 * 1024),
            early: Vec::new(),
        })
    }

    /// Takes bytes of the server in, and goes on as far as they allow; what is to be sent goes behind what `out` holds, also
    /// when it failed: the server is told why.
    ///
    /// # Errors
    /// When the two cannot come together.
    pub fn proceed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Progress, TlsFault> {
        if self.incoming.len() + bytes.len() > INCOMING_MAX {
            return Err(TlsFault::Protocol);
        }
        self.incoming.extend_from_slice(bytes);
        let gone_on = self.go_on(out);
        if gone_on.is_err() {
            self.tell_why(out);
        }
        gone_on
    }

    fn go_on(&mut self, out: &mut Vec<u8>) -> Result<Progress, TlsFault> {
        loop {
            let status = self.conn.process_tls_records(&mut self.incoming);
            let discard = status.discard;
            let state = match status.state {
                Ok(state) => state,
                Err(error) => {
                    self.incoming.drain(..discard);
                    return Err(TlsFault::from_rustls(&error));
                }
            };
            let progress = match state {
                ConnectionState::EncodeTlsData(mut data) => {
                    encode(&mut data, out)?;
                    None
                }
                ConnectionState::TransmitTlsData(data) => {
                    data.done();
                    None
                }
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(read) = traffic.next_record() {
                        let read = read.map_err(|error| TlsFault::from_rustls(&error))?;
                        self.early.extend_from_slice(read.payload);
                    }
                    None
                }
                ConnectionState::WriteTraffic(_) => Some(Progress::Done),
                ConnectionState::BlockedHandshake => Some(Progress::Waiting),
                ConnectionState::PeerClosed | ConnectionState::Closed => {
                    return Err(TlsFault::ClosedInHandshake);
                }
                _ => return Err(TlsFault::Protocol),
            };
            self.incoming.drain(..discard);
            match progress {
                None => {}
                // A message that goes on in the next record is held by rustls in this buffer: its keys stay there until then.
                Some(Progress::Done) if !is_front_of_record(&self.incoming) => {
                    return Ok(Progress::Waiting);
                }
                Some(progress) => return Ok(progress),
            }
        }
    }

    /// The alert rustls has for the server after a failure.
    fn tell_why(&mut self, out: &mut Vec<u8>) {
        loop {
            let status = self.conn.process_tls_records(&mut self.incoming);
            let discard = status.discard;
            let Ok(ConnectionState::EncodeTlsData(mut data)) = status.state else {
                return;
            };
            if encode(&mut data, out).is_err() {
                return;
            }
            self.incoming.drain(..discard);
        }
    }

    /// Goes over to the session, once [`Progress::Done`].
    ///
    /// # Errors
    /// When the server chose a protocol that was not meant.
    pub fn finish(self) -> Result<Shaken, TlsFault> {
        let alpn = self.conn.alpn_protocol().map(<[u8]>::to_vec);
        // A server that chooses nothing knows no ALPN: what the load speaks, it may speak all the same.
        if let (Some(chosen), Some(needed)) = (&alpn, &self.needed)
            && chosen[..] != needed[..]
        {
            return Err(TlsFault::AlpnRefused);
        }
        let suite = self.conn.negotiated_cipher_suite();
        let group = self.conn.negotiated_key_exchange_group();
        let version = self.conn.protocol_version().ok_or(TlsFault::Protocol)?;
        let kind = match self.conn.handshake_kind() {
            Some(HandshakeKind::Resumed) => Handshaken::Resumed,
            _ => Handshaken::Full,
        };
        let certificates = self.conn.peer_certificates().unwrap_or_default();
        let seen = TlsSeen {
            version: version
                .as_str()
                .map_or_else(String::new, |name| name.replace("TLSv1_", "1.")),
            suite: suite
                .and_then(|suite| suite.suite().as_str())
                .unwrap_or_default()
                // What is registered of TLS 1.3 has no version in its name.
                .replace("TLS13_", "TLS_"),
            group: group.and_then(|group| group.name().as_str().map(str::to_owned)),
            alpn: alpn.map(|alpn| String::from_utf8_lossy(&alpn).into_owned()),
            certificate: certificates.first().map(|one| fingerprint(one)),
        };
        let (secrets, kernel) = self
            .conn
            .dangerous_into_kernel_connection()
            .map_err(|error| TlsFault::from_rustls(&error))?;
        Ok(Shaken {
            session: Session::new(&secrets, kernel, self.incoming)?,
            early: self.early,
            seen,
            kind,
        })
    }
}

/// How far a handshake came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The server has the word.
    Waiting,
    /// Both sides are done.
    Done,
}

/// SHA-256 of a certificate, as tools print it, without colons.
fn fingerprint(certificate: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
    let mut text = String::with_capacity(2 * digest.as_ref().len());
    for byte in digest.as_ref() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn encode(
    data: &mut EncodeTlsData<'_, ClientConnectionData>,
    out: &mut Vec<u8>,
) -> Result<(), TlsFault> {
    let from = out.len();
    loop {
        match data.encode(&mut out[from..]) {
            Ok(written) => {
                out.truncate(from + written);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
                out.resize(from + required_size, 0);
            }
            Err(EncodeError::AlreadyEncoded) => return Err(TlsFault::Protocol),
        }
    }
}

/// Whether nothing stands here, or the beginning of a record that is not whole.
fn is_front_of_record(wire: &[u8]) -> bool {
    match record::length(wire) {
        Ok(None) => true,
        Ok(Some(length)) => length > wire.len(),
        Err(_) => false,
    }
}

impl std::fmt::Debug for Handshake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handshake").finish_non_exhaustive()
    }
}
