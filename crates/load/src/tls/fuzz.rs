//! Entry point of the fuzz target: correctly encrypted records of any content, and corrupted records.

use rustls::ConnectionTrafficSecrets;
use rustls::crypto::cipher::{AeadKey, Iv};

use super::record::{self, RecordType, RecordVersion, TrafficKey};

/// Encrypts records, changes some as the input says, and decrypts them. Unchanged records must decrypt to their plaintext.
/// Must return.
///
/// Returns the number of records decrypted, so that the work is not optimised away.
///
/// # Panics
/// When an unchanged record does not decrypt to its plaintext, or a changed one is accepted.
#[must_use]
pub fn fuzz_entry(data: &[u8]) -> usize {
    let Some((&setup, mut rest)) = data.split_first() else {
        return 0;
    };
    let version = if setup & 1 == 0 {
        RecordVersion::V1_3
    } else {
        RecordVersion::V1_2
    };
    let secrets = |byte| {
        let (key, iv) = (AeadKey::from([byte; 32]), Iv::from([byte; 12]));
        match setup & 2 {
            0 => ConnectionTrafficSecrets::Aes256Gcm { key, iv },
            _ => ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv },
        }
    };
    let ends = (
        TrafficKey::new(version, 0, &secrets(setup)),
        TrafficKey::new(version, 0, &secrets(setup)),
    );
    let (Ok(mut sealing), Ok(mut opening)) = ends else {
        return 0;
    };
    let mut opened = 0;
    while let &[kind, length, touch, ref more @ ..] = rest {
        let (part, after) = more.split_at(more.len().min(usize::from(length)));
        rest = after;
        let content = match kind % 4 {
            0 => RecordType::Alert,
            1 => RecordType::Handshake,
            _ => RecordType::Data,
        };
        let mut wire = Vec::new();
        if part.is_empty() || sealing.seal(content, part, &mut wire).is_err() {
            continue;
        }
        let touched = touch & 1 == 1;
        if touched {
            // The minor version of a record is ignored (RFC 8446 §5.1).
            let at = match usize::from(touch >> 1) % wire.len() {
                2 => 0,
                at => at,
            };
            wire[at] ^= kind | 1;
        }
        let Ok(Some(used)) = record::length(&wire) else {
            assert!(touched, "a record of ours has no length");
            return opened;
        };
        if used > wire.len() {
            assert!(touched, "a record of ours is longer than it is");
            return opened;
        }
        match opening.open(&mut wire[..used]) {
            Ok((found, from, to)) => {
                assert!(!touched, "a record that was changed was accepted");
                assert!(found == content && wire[from..to] == *part);
                opened += 1;
            }
            Err(_) => {
                assert!(touched, "a record of ours was refused");
                return opened;
            }
        }
    }
    opened
}
