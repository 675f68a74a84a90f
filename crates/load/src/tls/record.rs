//! Record layer of TLS 1.2 (RFC 5246, 5288, 7905) and 1.3 (RFC 8446 §5) for the cipher suites of rustls: all are AEADs.

use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use rustls::ConnectionTrafficSecrets;

use super::failure::TlsFailure;

/// Bytes of a record header: type, version, length.
pub const HEADER: usize = 5;
/// Most plaintext in a record.
const FRAGMENT_MAX: usize = 1 << 14;
/// Longest record: plaintext and the most that encryption adds (RFC 8446 §5.2; TLS 1.2 allows 2048, which no AEAD needs).
pub const RECORD_MAX: usize = HEADER + FRAGMENT_MAX + 256;

const TAG: usize = 16;
/// Bytes of the explicit nonce in a TLS 1.2 record with AES-GCM.
const EXPLICIT: usize = 8;
/// Records encrypted with one AES-GCM key at most (RFC 8446 §5.5: 2^24.5); the limit of ChaCha20 is out of reach.
const SEALED_MAX: u64 = 1 << 24;

/// Content type of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordType {
    /// change_cipher_spec; TLS 1.3 has it for compatibility only.
    ChangeCipherSpec,
    Alert,
    /// A handshake message, or part of one.
    Handshake,
    /// Application data.
    Data,
}

impl RecordType {
    pub fn from_wire(number: u8) -> Option<Self> {
        match number {
            20 => Some(RecordType::ChangeCipherSpec),
            21 => Some(RecordType::Alert),
            22 => Some(RecordType::Handshake),
            23 => Some(RecordType::Data),
            _ => None,
        }
    }

    fn on_wire(self) -> u8 {
        match self {
            RecordType::ChangeCipherSpec => 20,
            RecordType::Alert => 21,
            RecordType::Handshake => 22,
            RecordType::Data => 23,
        }
    }
}

/// Record format of a cipher suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// TLS 1.3: content type encrypted, nonce from the sequence number.
    V1_3,
    /// TLS 1.2 with AES-GCM: explicit nonce in the record.
    V1_2Explicit,
    /// TLS 1.2 with ChaCha20: nonce from the sequence number.
    V1_2Counted,
}

/// Protocol version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordVersion {
    V1_2,
    V1_3,
}

/// Traffic key and sequence number of one direction.
pub struct TrafficKey {
    key: LessSafeKey,
    iv: [u8; aead::NONCE_LEN],
    sequence: u64,
    form: Form,
    sealed_max: u64,
}

impl TrafficKey {
    /// From an exported key, with the sequence number of the next record.
    ///
    /// # Errors
    /// For an unsupported cipher suite.
    pub fn new(
        version: RecordVersion,
        sequence: u64,
        secrets: &ConnectionTrafficSecrets,
    ) -> Result<Self, TlsFailure> {
        use ConnectionTrafficSecrets as Secrets;
        let (algorithm, key, iv, gcm) = match secrets {
            Secrets::Aes128Gcm { key, iv } => (&aead::AES_128_GCM, key, iv, true),
            Secrets::Aes256Gcm { key, iv } => (&aead::AES_256_GCM, key, iv, true),
            Secrets::Chacha20Poly1305 { key, iv } => (&aead::CHACHA20_POLY1305, key, iv, false),
            _ => return Err(TlsFailure::Protocol),
        };
        let key = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| TlsFailure::Protocol)?;
        let mut own_iv = [0; aead::NONCE_LEN];
        own_iv.copy_from_slice(iv.as_ref());
        Ok(Self {
            key: LessSafeKey::new(key),
            iv: own_iv,
            sequence,
            form: match (version, gcm) {
                (RecordVersion::V1_3, _) => Form::V1_3,
                (RecordVersion::V1_2, true) => Form::V1_2Explicit,
                (RecordVersion::V1_2, false) => Form::V1_2Counted,
            },
            sealed_max: if gcm { SEALED_MAX } else { u64::MAX },
        })
    }

    /// Whether the key must be updated before more is encrypted.
    #[inline]
    pub fn is_used_up(&self) -> bool {
        self.sequence >= self.sealed_max
    }

    /// Lowers the limit of records, for tests.
    #[cfg(test)]
    pub fn limit(&mut self, sealed_max: u64) {
        self.sealed_max = sealed_max;
    }

    #[inline]
    fn counted_nonce(&self) -> [u8; aead::NONCE_LEN] {
        let mut nonce = self.iv;
        for (byte, counter) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= counter;
        }
        nonce
    }

    /// Encrypts bytes as records and appends them to `out`.
    ///
    /// # Errors
    /// When the cipher fails: never with the lengths used here.
    #[inline]
    pub fn seal(
        &mut self,
        content: RecordType,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), TlsFailure> {
        for part in bytes.chunks(FRAGMENT_MAX) {
            self.seal_one(content, part, out)?;
        }
        Ok(())
    }

    #[inline]
    fn seal_one(
        &mut self,
        content: RecordType,
        part: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), TlsFailure> {
        let nonce = self.counted_nonce();
        let start = out.len();
        let (outer, added) = match self.form {
            Form::V1_3 => (RecordType::Data, 1 + TAG),
            Form::V1_2Explicit => (content, EXPLICIT + TAG),
            Form::V1_2Counted => (content, TAG),
        };
        let header = header(outer, part.len() + added);
        out.reserve(HEADER + part.len() + added);
        out.extend_from_slice(&header);
        if self.form == Form::V1_2Explicit {
            out.extend_from_slice(&nonce[4..]);
        }
        let from = out.len();
        out.extend_from_slice(part);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = if self.form == Form::V1_3 {
            out.push(content.on_wire());
            let aad = Aad::from(header);
            self.key
                .seal_in_place_separate_tag(nonce, aad, &mut out[from..])
        } else {
            let aad = Aad::from(aad_1_2(self.sequence, outer.on_wire(), part.len()));
            self.key
                .seal_in_place_separate_tag(nonce, aad, &mut out[from..])
        };
        let Ok(tag) = tag else {
            out.truncate(start);
            return Err(TlsFailure::Protocol);
        };
        out.extend_from_slice(tag.as_ref());
        self.sequence += 1;
        Ok(())
    }

    /// Decrypts one complete record in place; returns its content type and the range of the plaintext in `record`.
    ///
    /// # Errors
    /// When it is malformed, or was not encrypted by the peer with this key and sequence number.
    #[inline]
    pub fn open(&mut self, record: &mut [u8]) -> Result<(RecordType, usize, usize), TlsFailure> {
        let opened = match self.form {
            Form::V1_3 => self.open_1_3(record),
            Form::V1_2Explicit | Form::V1_2Counted => self.open_1_2(record),
        }?;
        self.sequence += 1;
        Ok(opened)
    }

    #[inline]
    fn open_1_3(&self, record: &mut [u8]) -> Result<(RecordType, usize, usize), TlsFailure> {
        let (header, sealed) = record
            .split_first_chunk_mut::<HEADER>()
            .ok_or(TlsFailure::Protocol)?;
        if header[0] != RecordType::Data.on_wire() {
            return Err(TlsFailure::Protocol);
        }
        let nonce = Nonce::assume_unique_for_key(self.counted_nonce());
        let inner = self
            .key
            .open_in_place(nonce, Aad::from(*header), sealed)
            .map_err(|_| TlsFailure::Protocol)?;
        // The last byte that is not padding is the type.
        let end = inner
            .iter()
            .rposition(|&byte| byte != 0)
            .ok_or(TlsFailure::Protocol)?;
        if end > FRAGMENT_MAX {
            return Err(TlsFailure::Protocol);
        }
        let content = RecordType::from_wire(inner[end]).ok_or(TlsFailure::Protocol)?;
        Ok((content, HEADER, HEADER + end))
    }

    #[inline]
    fn open_1_2(&self, record: &mut [u8]) -> Result<(RecordType, usize, usize), TlsFailure> {
        let content = RecordType::from_wire(record[0]).ok_or(TlsFailure::Protocol)?;
        let (nonce, from) = if self.form == Form::V1_2Explicit {
            let explicit = record
                .get(HEADER..HEADER + EXPLICIT)
                .ok_or(TlsFailure::Protocol)?;
            let mut nonce = self.iv;
            nonce[4..].copy_from_slice(explicit);
            (nonce, HEADER + EXPLICIT)
        } else {
            (self.counted_nonce(), HEADER)
        };
        let length = record
            .len()
            .checked_sub(from + TAG)
            .filter(|&length| length <= FRAGMENT_MAX)
            .ok_or(TlsFailure::Protocol)?;
        let aad = Aad::from(aad_1_2(self.sequence, record[0], length));
        self.key
            .open_in_place(
                Nonce::assume_unique_for_key(nonce),
                aad,
                &mut record[from..],
            )
            .map_err(|_| TlsFailure::Protocol)?;
        Ok((content, from, from + length))
    }
}

impl std::fmt::Debug for TrafficKey {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrafficKey")
            .field("sequence", &self.sequence)
            .field("form", &self.form)
            .finish_non_exhaustive()
    }
}

/// Length of the first record; `None` when its header is incomplete.
///
/// # Errors
/// When it is not a record.
#[inline]
pub fn length(wire: &[u8]) -> Result<Option<usize>, TlsFailure> {
    let &[kind, major, _, high, low, ..] = wire else {
        return Ok(None);
    };
    let length = HEADER + usize::from(u16::from_be_bytes([high, low]));
    if !(20..=23).contains(&kind) || major != 3 || length > RECORD_MAX {
        return Err(TlsFailure::Protocol);
    }
    Ok(Some(length))
}

#[inline]
fn header(content: RecordType, length: usize) -> [u8; HEADER] {
    // At most 2^14 + 256.
    let [high, low] = (length as u16).to_be_bytes();
    [content.on_wire(), 3, 3, high, low]
}

#[inline]
fn aad_1_2(sequence: u64, content: u8, length: usize) -> [u8; 13] {
    let mut aad = [0; 13];
    aad[..8].copy_from_slice(&sequence.to_be_bytes());
    aad[8..11].copy_from_slice(&[content, 3, 3]);
    aad[11..].copy_from_slice(&(length as u16).to_be_bytes());
    aad
}
