//! A TLS session after its handshake: encrypts, decrypts, and replies to handshake messages and alerts.

use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::{ExtractedSecrets, ProtocolVersion};

use super::failure::TlsFailure;
use super::record::{self, RecordType, RecordVersion, TrafficKey};

/// Records in a row without data, and handshake messages in them: more is a flood.
const IDLE_MAX: u32 = 64;
/// Longest session ticket that is stored: one that contains the client's certificate has a few kilobytes.
const TICKET_MAX: usize = 16 * 1024;
/// Longest post-handshake message: a ticket is 64 kB at most.
const MESSAGE_MAX: usize = 4 + (1 << 16) + 512;

const NEW_SESSION_TICKET: u8 = 4;
const HELLO_REQUEST: u8 = 0;
const KEY_UPDATE: u8 = 24;

const WARNING: u8 = 1;
const CLOSE_NOTIFY: u8 = 0;
const NO_RENEGOTIATION: u8 = 100;
const USER_CANCELED: u8 = 90;

/// State of one connection.
pub struct Session {
    kernel: KernelConnection<ClientConnectionData>,
    version: RecordVersion,
    sending: TrafficKey,
    receiving: TrafficKey,
    /// The beginning of an incomplete record.
    held: Vec<u8>,
    /// The beginning of a handshake message that continues in the next record.
    message: Vec<u8>,
    idle: u32,
}

/// Result of decrypting the first record of the received bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decrypted {
    /// Application data.
    Data {
        /// Offset of its first byte.
        from: usize,
        /// Offset after its last byte.
        to: usize,
        /// Length of the record.
        used: usize,
    },
    /// A record without data.
    Nothing {
        /// Length of the record.
        used: usize,
        /// What it contained.
        told: PostHandshake,
    },
    /// An incomplete record.
    Incomplete,
    /// close_notify: the peer sends no more.
    Closed,
}

/// What a record without data contained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostHandshake {
    /// Nothing of interest.
    Nothing,
    /// A session ticket.
    Ticket,
}

impl Session {
    /// From a completed handshake, with the bytes received after it.
    pub(super) fn new(
        secrets: &ExtractedSecrets,
        kernel: KernelConnection<ClientConnectionData>,
        held: Vec<u8>,
    ) -> Result<Self, TlsFailure> {
        let version = match kernel.protocol_version() {
            ProtocolVersion::TLSv1_3 => RecordVersion::V1_3,
            _ => RecordVersion::V1_2,
        };
        Ok(Self {
            version,
            sending: TrafficKey::new(version, secrets.tx.0, &secrets.tx.1)?,
            receiving: TrafficKey::new(version, secrets.rx.0, &secrets.rx.1)?,
            kernel,
            held,
            message: Vec::new(),
            idle: 0,
        })
    }

    /// Encrypts data and appends it to `out`.
    ///
    /// # Errors
    /// When the key has reached its limit and cannot be updated.
    #[inline]
    pub fn seal(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), TlsFailure> {
        if self.sending.is_used_up() {
            self.update_sending(out)?;
        }
        self.sending.seal(RecordType::Data, bytes, out)
    }

    /// Appends an encrypted close_notify to `out`.
    pub fn seal_close(&mut self, out: &mut Vec<u8>) {
        // Cannot fail with this length; the connection is being closed in any case.
        let _ = self
            .sending
            .seal(RecordType::Alert, &[WARNING, CLOSE_NOTIFY], out);
    }

    /// Copies the stored beginning of a record to the front of `buffer`; returns its length.
    #[inline]
    pub fn put_held(&mut self, buffer: &mut [u8]) -> usize {
        let length = self.held.len();
        if length > 0 {
            buffer[..length].copy_from_slice(&self.held);
            self.held.clear();
        }
        length
    }

    /// Stores the beginning of a record until the rest arrives.
    pub fn hold(&mut self, part: &[u8]) {
        self.held.extend_from_slice(part);
    }

    /// Decrypts the first record in place. Replies of TLS are appended to `out`.
    ///
    /// # Errors
    /// On an alert or a protocol violation of the server.
    #[inline]
    pub fn open(&mut self, wire: &mut [u8], out: &mut Vec<u8>) -> Result<Decrypted, TlsFailure> {
        let Some(used) = record::length(wire)?.filter(|&length| length <= wire.len()) else {
            return Ok(Decrypted::Incomplete);
        };
        let (content, from, to) = self.receiving.open(&mut wire[..used])?;
        if content == RecordType::Data && from < to && self.message.is_empty() {
            self.idle = 0;
            return Ok(Decrypted::Data { from, to, used });
        }
        self.open_control(content, &wire[from..to], used, out)
    }

    #[cold]
    fn open_control(
        &mut self,
        content: RecordType,
        bytes: &[u8],
        used: usize,
        out: &mut Vec<u8>,
    ) -> Result<Decrypted, TlsFailure> {
        self.count_idle()?;
        let nothing = Decrypted::Nothing {
            used,
            told: PostHandshake::Nothing,
        };
        match content {
            RecordType::Data if bytes.is_empty() && self.message.is_empty() => Ok(nothing),
            RecordType::Handshake if !bytes.is_empty() => {
                let told = self.handshake(bytes, out)?;
                Ok(Decrypted::Nothing { used, told })
            }
            RecordType::Alert if self.message.is_empty() => match *bytes {
                [_, CLOSE_NOTIFY] => Ok(Decrypted::Closed),
                [_, USER_CANCELED] => Ok(nothing),
                [WARNING, _] if self.version == RecordVersion::V1_2 => Ok(nothing),
                [_, code] => Err(TlsFailure::from_alert(code)),
                _ => Err(TlsFailure::Protocol),
            },
            _ => Err(TlsFailure::Protocol),
        }
    }

    fn count_idle(&mut self) -> Result<(), TlsFailure> {
        self.idle += 1;
        match self.idle > IDLE_MAX {
            true => Err(TlsFailure::Protocol),
            false => Ok(()),
        }
    }

    /// Handles post-handshake messages, complete or in part.
    fn handshake(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<PostHandshake, TlsFailure> {
        if self.message.len() + bytes.len() > MESSAGE_MAX {
            return Err(TlsFailure::Protocol);
        }
        let mut all = std::mem::take(&mut self.message);
        all.extend_from_slice(bytes);
        let mut told = PostHandshake::Nothing;
        let mut rest = &all[..];
        while let [kind, a, b, c, body @ ..] = rest {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if length > MESSAGE_MAX {
                return Err(TlsFailure::Protocol);
            }
            let Some((body, behind)) = body.split_at_checked(length) else {
                break;
            };
            if rest.len() < all.len() {
                // The first message is counted with its record.
                self.count_idle()?;
            }
            match (*kind, self.version) {
                (NEW_SESSION_TICKET, RecordVersion::V1_3) if body.len() > TICKET_MAX => {}
                (NEW_SESSION_TICKET, RecordVersion::V1_3) => {
                    self.kernel
                        .handle_new_session_ticket(body)
                        .map_err(|error| TlsFailure::from_rustls(&error))?;
                    told = PostHandshake::Ticket;
                }
                (KEY_UPDATE, RecordVersion::V1_3) => {
                    // A key update must end its record (RFC 8446 §5.1).
                    let ([wanted @ (0 | 1)], true) = (body, behind.is_empty()) else {
                        return Err(TlsFailure::Protocol);
                    };
                    self.update_receiving()?;
                    if *wanted == 1 {
                        self.update_sending(out)?;
                    }
                }
                // A request for renegotiation, which may be refused (RFC 5246 §7.4.1.1).
                (HELLO_REQUEST, RecordVersion::V1_2) if body.is_empty() => {
                    let alert = [WARNING, NO_RENEGOTIATION];
                    self.sending.seal(RecordType::Alert, &alert, out)?;
                }
                _ => return Err(TlsFailure::Protocol),
            }
            rest = behind;
        }
        self.message.extend_from_slice(rest);
        Ok(told)
    }

    fn update_receiving(&mut self) -> Result<(), TlsFailure> {
        let updated = self.kernel.update_rx_secret();
        let (sequence, secrets) = updated.map_err(|error| TlsFailure::from_rustls(&error))?;
        self.receiving = TrafficKey::new(self.version, sequence, &secrets)?;
        Ok(())
    }

    /// Sends a key update, encrypted with the old key, without requesting one in return.
    #[cold]
    fn update_sending(&mut self, out: &mut Vec<u8>) -> Result<(), TlsFailure> {
        if self.version == RecordVersion::V1_2 {
            // TLS 1.2 has no key update.
            return Err(TlsFailure::Truncated);
        }
        self.sending
            .seal(RecordType::Handshake, &[KEY_UPDATE, 0, 0, 1, 0], out)?;
        let updated = self.kernel.update_tx_secret();
        let (sequence, secrets) = updated.map_err(|error| TlsFailure::from_rustls(&error))?;
        self.sending = TrafficKey::new(self.version, sequence, &secrets)?;
        Ok(())
    }

    /// Lowers the limit of records of the sending key, for tests.
    #[cfg(test)]
    pub fn limit_sending(&mut self, records: u64) {
        self.sending.limit(records);
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
