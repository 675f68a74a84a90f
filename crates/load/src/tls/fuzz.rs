//! The entry point for fuzzers: records that are sealed rightly but hold anything, and records that are broken.

use rustls::ConnectionTrafficSecrets;
use rustls::crypto::cipher::{AeadKey, Iv};

use super::record::{self, Content, Keyed, Version};

/// Opens what was sealed, changed where the script says so; what is unchanged must come back as it was. Must return.
///
/// Gives the number of records opened, so that the work is not optimised away.
///
/// # Panics
/// When a record that nobody touched does not open to what was sealed.
#[must_use]
pub fn fuzz_entry(data: &[u8]) -> usize {
    let Some((&setup, mut rest)) = data.split_first() else {
        return 0;
    };
    let version = if setup & 1 == 0 {
        Version::V1_3
    } else {
        Version::V1_2
    };
    let secrets = |byte| {
        let (key, iv) = (AeadKey::from([byte; 32]), Iv::from([byte; 12]));
        match setup & 2 {
            0 => ConnectionTrafficSecrets::Aes256Gcm { key, iv },
            _ => ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv },
        }
    };
    let ends = (
        Keyed::new(version, 0, &secrets(setup)),
        Keyed::new(version, 0, &secrets(setup)),
    );
    let (Ok(mut sealing), Ok(mut opening)) = ends else {
        return 0;
    };
    let mut opened = 0;
    while let &[kind, length, touch, ref more @ ..] = rest {
        let (part, after) = more.split_at(more.len().min(usize::from(length)));
        rest = after;
        let content = match kind % 4 {
            0 => Content::Alert,
            1 => Content::Handshake,
            _ => Content::Data,
        };
        let mut wire = Vec::new();
        if part.is_empty() || sealing.seal(content, part, &mut wire).is_err() {
            continue;
        }
        let touched = touch & 1 == 1;
        if touched {
            // The minor version of a record means nothing and is ignored (RFC 8446 §5.1).
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
