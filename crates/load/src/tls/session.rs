//! A connection after its handshake: seals what goes out, opens what comes in, answers what TLS asks in between.

use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::{ExtractedSecrets, ProtocolVersion};

use super::fault::TlsFault;
use super::record::{self, Content, Keyed, Version};

/// Records in a row that carry no data, and handshake messages in them: more is a flood.
const IDLE_MAX: u32 = 64;
/// Longest ticket that is kept: with a certificate of the client's in it, it has a few kilobytes.
const TICKET_MAX: usize = 16 * 1024;
/// Longest handshake message behind the handshake: a ticket is 64 kB at most.
const MESSAGE_MAX: usize = 4 + (1 << 16) + 512;

const NEW_SESSION_TICKET: u8 = 4;
const HELLO_REQUEST: u8 = 0;
const KEY_UPDATE: u8 = 24;

const WARNING: u8 = 1;
const CLOSE_NOTIFY: u8 = 0;
const NO_RENEGOTIATION: u8 = 100;
const USER_CANCELED: u8 = 90;

/// The state of one connection.
pub struct Session {
    kernel: KernelConnection<ClientConnectionData>,
    version: Version,
    sending: Keyed,
    receiving: Keyed,
    /// The beginning of a record whose rest has not come.
    held: Vec<u8>,
    /// The beginning of a handshake message that goes on in the next record.
    message: Vec<u8>,
    idle: u32,
}

/// What stood at the front of the bytes received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Data, from here to there; `used` bytes are done with.
    Data {
        /// Its first byte.
        from: usize,
        /// Behind its last one.
        to: usize,
        /// Length of the record.
        used: usize,
    },
    /// A record without data.
    Nothing {
        /// Length of the record.
        used: usize,
        /// What it told.
        told: Told,
    },
    /// Not a whole record.
    Part,
    /// The other side said that it sends no more.
    Closed,
}

/// What a record without data told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Nothing of interest.
    Nothing,
    /// A session that may be resumed.
    Ticket,
}

impl Session {
    /// Takes over from the handshake, with what was received behind it.
    pub(super) fn new(
        secrets: &ExtractedSecrets,
        kernel: KernelConnection<ClientConnectionData>,
        held: Vec<u8>,
    ) -> Result<Self, TlsFault> {
        let version = match kernel.protocol_version() {
            ProtocolVersion::TLSv1_3 => Version::V1_3,
            _ => Version::V1_2,
        };
        Ok(Self {
            version,
            sending: Keyed::new(version, secrets.tx.0, &secrets.tx.1)?,
            receiving: Keyed::new(version, secrets.rx.0, &secrets.rx.1)?,
            kernel,
            held,
            message: Vec::new(),
            idle: 0,
        })
    }

    /// Seals data behind what `out` holds.
    ///
    /// # Errors
    /// When the key is used up and cannot be changed.
    #[inline]
    pub fn seal(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), TlsFault> {
        if self.sending.is_used_up() {
            self.update_sending(out)?;
        }
        self.sending.seal(Content::Data, bytes, out)
    }

    /// Seals the word that nothing more is sent.
    pub fn seal_close(&mut self, out: &mut Vec<u8>) {
        // Fails with no length of ours; the connection is being closed in any case.
        let _ = self
            .sending
            .seal(Content::Alert, &[WARNING, CLOSE_NOTIFY], out);
    }

    /// Puts the held beginning of a record in front; how long it is.
    #[inline]
    pub fn put_held(&mut self, buffer: &mut [u8]) -> usize {
        let length = self.held.len();
        if length > 0 {
            buffer[..length].copy_from_slice(&self.held);
            self.held.clear();
        }
        length
    }

    /// Keeps the beginning of a record until its rest comes.
    pub fn hold(&mut self, part: &[u8]) {
        self.held.extend_from_slice(part);
    }

    /// Opens the record at the front, in place. What TLS answers goes behind what `out` holds.
    ///
    /// # Errors
    /// When the server broke off or broke the rules.
    #[inline]
    pub fn open(&mut self, wire: &mut [u8], out: &mut Vec<u8>) -> Result<Step, TlsFault> {
        let Some(used) = record::length(wire)?.filter(|&length| length <= wire.len()) else {
            return Ok(Step::Part);
        };
        let (content, from, to) = self.receiving.open(&mut wire[..used])?;
        if content == Content::Data && from < to && self.message.is_empty() {
            self.idle = 0;
            return Ok(Step::Data { from, to, used });
        }
        self.open_other(content, &wire[from..to], used, out)
    }

    #[cold]
    fn open_other(
        &mut self,
        content: Content,
        bytes: &[u8],
        used: usize,
        out: &mut Vec<u8>,
    ) -> Result<Step, TlsFault> {
        self.count_idle()?;
        let nothing = Step::Nothing {
            used,
            told: Told::Nothing,
        };
        match content {
            Content::Data if bytes.is_empty() && self.message.is_empty() => Ok(nothing),
            Content::Handshake if !bytes.is_empty() => {
                let told = self.handshake(bytes, out)?;
                Ok(Step::Nothing { used, told })
            }
            Content::Alert if self.message.is_empty() => match *bytes {
                [_, CLOSE_NOTIFY] => Ok(Step::Closed),
                [_, USER_CANCELED] => Ok(nothing),
                [WARNING, _] if self.version == Version::V1_2 => Ok(nothing),
                [_, code] => Err(TlsFault::from_alert(code)),
                _ => Err(TlsFault::Protocol),
            },
            _ => Err(TlsFault::Protocol),
        }
    }

    fn count_idle(&mut self) -> Result<(), TlsFault> {
        self.idle += 1;
        match self.idle > IDLE_MAX {
            true => Err(TlsFault::Protocol),
            false => Ok(()),
        }
    }

    /// Takes handshake messages in, whole or in part.
    fn handshake(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Told, TlsFault> {
        if self.message.len() + bytes.len() > MESSAGE_MAX {
            return Err(TlsFault::Protocol);
        }
        let mut all = std::mem::take(&mut self.message);
        all.extend_from_slice(bytes);
        let mut told = Told::Nothing;
        let mut rest = &all[..];
        while let [kind, a, b, c, body @ ..] = rest {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if length > MESSAGE_MAX {
                return Err(TlsFault::Protocol);
            }
            let Some((body, behind)) = body.split_at_checked(length) else {
                break;
            };
            if rest.len() < all.len() {
                // The first one of a record is counted with it.
                self.count_idle()?;
            }
            match (*kind, self.version) {
                (NEW_SESSION_TICKET, Version::V1_3) if body.len() > TICKET_MAX => {}
                (NEW_SESSION_TICKET, Version::V1_3) => {
                    self.kernel
                        .handle_new_session_ticket(body)
                        .map_err(|error| TlsFault::from_rustls(&error))?;
                    told = Told::Ticket;
                }
                (KEY_UPDATE, Version::V1_3) => {
                    // Keys change at the end of a record only (RFC 8446 §5.1).
                    let ([wanted @ (0 | 1)], true) = (body, behind.is_empty()) else {
                        return Err(TlsFault::Protocol);
                    };
                    self.update_receiving()?;
                    if *wanted == 1 {
                        self.update_sending(out)?;
                    }
                }
                // A wish to shake hands anew, which may be refused (RFC 5246 §7.4.1.1).
                (HELLO_REQUEST, Version::V1_2) if body.is_empty() => {
                    let alert = [WARNING, NO_RENEGOTIATION];
                    self.sending.seal(Content::Alert, &alert, out)?;
                }
                _ => return Err(TlsFault::Protocol),
            }
            rest = behind;
        }
        self.message.extend_from_slice(rest);
        Ok(told)
    }

    fn update_receiving(&mut self) -> Result<(), TlsFault> {
        let updated = self.kernel.update_rx_secret();
        let (sequence, secrets) = updated.map_err(|error| TlsFault::from_rustls(&error))?;
        self.receiving = Keyed::new(self.version, sequence, &secrets)?;
        Ok(())
    }

    /// Tells the new key under the old one, without asking for one in return.
    #[cold]
    fn update_sending(&mut self, out: &mut Vec<u8>) -> Result<(), TlsFault> {
        if self.version == Version::V1_2 {
            // No key can be changed without a new handshake.
            return Err(TlsFault::Truncated);
        }
        self.sending
            .seal(Content::Handshake, &[KEY_UPDATE, 0, 0, 1, 0], out)?;
        let updated = self.kernel.update_tx_secret();
        let (sequence, secrets) = updated.map_err(|error| TlsFault::from_rustls(&error))?;
        self.sending = Keyed::new(self.version, sequence, &secrets)?;
        Ok(())
    }

    /// As if the sending key were used up after so many records.
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
