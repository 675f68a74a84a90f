//! The handshake of one connection, by rustls.

use std::fmt::Write as _;

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, InsufficientSizeError};
use tare_record::agent::{HandshakeKind, NegotiatedTls};

use super::config::TlsClient;
use super::failure::TlsFailure;
use super::record;
use super::session::Session;

/// Limit of buffered handshake bytes of a server: far more than any usual certificate chain.
const INCOMING_MAX: usize = 256 * 1024;

/// A handshake in progress.
pub struct Handshake {
    conn: UnbufferedClientConnection,
    required_alpn: Option<std::sync::Arc<[u8]>>,
    incoming: Vec<u8>,
    /// Application data received together with the end of the handshake.
    early: Vec<u8>,
}

/// A completed handshake.
pub struct HandshakeResult {
    pub session: Session,
    /// Application data received together with the end of the handshake.
    pub early: Vec<u8>,
    /// The negotiated parameters.
    pub seen: NegotiatedTls,
    /// Whether a session was resumed.
    pub kind: HandshakeKind,
}

impl Handshake {
    /// Begins a handshake with the server of the plan, or with the one in `named`. [`Handshake::proceed`] returns the first bytes
    /// to send.
    ///
    /// # Errors
    /// When rustls rejects the configuration.
    pub fn begin(
        client: &TlsClient,
        named: Option<&ServerName<'static>>,
    ) -> Result<Self, TlsFailure> {
        let server = named.unwrap_or(&client.server).clone();
        let conn = UnbufferedClientConnection::new(client.config.clone(), server)
            .map_err(|error| TlsFailure::from_rustls(&error))?;
        Ok(Self {
            conn,
            required_alpn: client.required_alpn.clone(),
            incoming: Vec::with_capacity(8 * 1024),
            early: Vec::new(),
        })
    }

    /// Processes received bytes. Bytes to send are appended to `out`, also after an error: then they are an alert.
    ///
    /// # Errors
    /// When the handshake fails.
    pub fn proceed(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<HandshakeProgress, TlsFailure> {
        if self.incoming.len() + bytes.len() > INCOMING_MAX {
            return Err(TlsFailure::Protocol);
        }
        self.incoming.extend_from_slice(bytes);
        let advanced = self.advance(out);
        if advanced.is_err() {
            self.write_alert(out);
        }
        advanced
    }

    fn advance(&mut self, out: &mut Vec<u8>) -> Result<HandshakeProgress, TlsFailure> {
        loop {
            let status = self.conn.process_tls_records(&mut self.incoming);
            let discard = status.discard;
            let state = match status.state {
                Ok(state) => state,
                Err(error) => {
                    self.incoming.drain(..discard);
                    return Err(TlsFailure::from_rustls(&error));
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
                        let read = read.map_err(|error| TlsFailure::from_rustls(&error))?;
                        self.early.extend_from_slice(read.payload);
                    }
                    None
                }
                ConnectionState::WriteTraffic(_) => Some(HandshakeProgress::Done),
                ConnectionState::BlockedHandshake => Some(HandshakeProgress::Waiting),
                ConnectionState::PeerClosed | ConnectionState::Closed => {
                    return Err(TlsFailure::ClosedInHandshake);
                }
                _ => return Err(TlsFailure::Protocol),
            };
            self.incoming.drain(..discard);
            match progress {
                None => {}
                // rustls keeps a message that continues in the next record in this buffer: its keys are not taken before then.
                Some(HandshakeProgress::Done) if !is_partial_record(&self.incoming) => {
                    return Ok(HandshakeProgress::Waiting);
                }
                Some(progress) => return Ok(progress),
            }
        }
    }

    /// Appends the alert that rustls has for the server after an error.
    fn write_alert(&mut self, out: &mut Vec<u8>) {
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

    /// Turns a completed handshake ([`HandshakeProgress::Done`]) into a session.
    ///
    /// # Errors
    /// When the server chose another ALPN protocol than the required one.
    pub fn finish(self) -> Result<HandshakeResult, TlsFailure> {
        let alpn = self.conn.alpn_protocol().map(<[u8]>::to_vec);
        // A server that chooses nothing does not know ALPN; it may support the protocol all the same.
        if let (Some(chosen), Some(required_alpn)) = (&alpn, &self.required_alpn)
            && chosen[..] != required_alpn[..]
        {
            return Err(TlsFailure::AlpnMismatch);
        }
        let suite = self.conn.negotiated_cipher_suite();
        let group = self.conn.negotiated_key_exchange_group();
        let version = self.conn.protocol_version().ok_or(TlsFailure::Protocol)?;
        let kind = match self.conn.handshake_kind() {
            Some(rustls::HandshakeKind::Resumed) => HandshakeKind::Resumed,
            _ => HandshakeKind::Full,
        };
        let certificates = self.conn.peer_certificates().unwrap_or_default();
        let seen = NegotiatedTls {
            version: version
                .as_str()
                .map_or_else(String::new, |name| name.replace("TLSv1_", "1.")),
            suite: suite
                .and_then(|suite| suite.suite().as_str())
                .unwrap_or_default()
                // IANA names of TLS 1.3 suites have no version.
                .replace("TLS13_", "TLS_"),
            group: group.and_then(|group| group.name().as_str().map(str::to_owned)),
            alpn: alpn.map(|alpn| String::from_utf8_lossy(&alpn).into_owned()),
            certificate: certificates.first().map(|one| fingerprint(one)),
            unusual: certificates.first().and_then(|one| tare_tls::unusual(one)),
        };
        let (secrets, kernel) = self
            .conn
            .dangerous_into_kernel_connection()
            .map_err(|error| TlsFailure::from_rustls(&error))?;
        Ok(HandshakeResult {
            session: Session::new(&secrets, kernel, self.incoming)?,
            early: self.early,
            seen,
            kind,
        })
    }
}

/// State of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeProgress {
    /// More bytes of the server are needed.
    Waiting,
    /// The handshake is complete.
    Done,
}

/// SHA-256 of a certificate in lower-case hex, without colons.
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
) -> Result<(), TlsFailure> {
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
            Err(EncodeError::AlreadyEncoded) => return Err(TlsFailure::Protocol),
        }
    }
}

/// Whether the buffer is empty or holds only the beginning of a record.
fn is_partial_record(wire: &[u8]) -> bool {
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
