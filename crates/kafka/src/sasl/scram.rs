//! SCRAM (RFC 5802): a proof of the password that does not show it, and the broker's proof that it knows it too.

use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};

use super::{Mechanism, SaslError, Step};

/// Most rounds that are gone through: brokers have 4096 to 16384.
const ROUNDS_MAX: u32 = 1_000_000;

/// One login.
pub(super) struct Scram {
    mechanism: Mechanism,
    password: String,
    nonce: String,
    /// The first message without its head, which goes into the proof.
    first: String,
    /// What the broker must show in the end.
    expected: Option<Vec<u8>>,
}

impl std::fmt::Debug for Scram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scram({})", self.mechanism)
    }
}

/// As base64.
pub(super) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

impl Scram {
    pub fn begin(mechanism: Mechanism, user: &str, password: &str, nonce: &str) -> (Self, String) {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        let first = format!("n={user},r={nonce}");
        let said = format!("n,,{first}");
        let scram = Self {
            mechanism,
            password: password.to_owned(),
            nonce: nonce.to_owned(),
            first,
            expected: None,
        };
        (scram, said)
    }

    pub fn proceed(&mut self, user: &str, answer: &[u8]) -> Result<Step, SaslError> {
        let answer = std::str::from_utf8(answer).map_err(|_| self.rubbish("it is no text"))?;
        if let Some(reason) = field(answer, "e=") {
            return Err(SaslError::Refused {
                user: user.to_owned(),
                reason: reason.to_owned(),
            });
        }
        match self.expected.take() {
            None => self.prove(answer).map(Step::Say),
            Some(expected) => {
                let shown = field(answer, "v=").and_then(|shown| STANDARD.decode(shown).ok());
                match shown.is_some_and(|shown| shown == expected) {
                    true => Ok(Step::Done),
                    false => Err(SaslError::Impostor),
                }
            }
        }
    }

    /// Answers the challenge.
    fn prove(&mut self, challenge: &str) -> Result<Vec<u8>, SaslError> {
        let nonce = field(challenge, "r=")
            .filter(|nonce| nonce.starts_with(&self.nonce) && nonce.len() > self.nonce.len())
            .ok_or_else(|| self.rubbish("its nonce does not go on from ours"))?;
        let salt = field(challenge, "s=").and_then(|salt| STANDARD.decode(salt).ok());
        let salt = salt.ok_or_else(|| self.rubbish("it has no salt"))?;
        let rounds = field(challenge, "i=").and_then(|rounds| rounds.parse().ok());
        let rounds = rounds
            .filter(|&rounds| rounds <= ROUNDS_MAX)
            .and_then(NonZeroU32::new)
            .ok_or_else(|| self.rubbish("its number of rounds is not 1 to 1000000"))?;
        let (of_hmac, of_digest, of_pbkdf2) = match self.mechanism {
            Mechanism::Plain | Mechanism::ScramSha256 => (
                hmac::HMAC_SHA256,
                &digest::SHA256,
                pbkdf2::PBKDF2_HMAC_SHA256,
            ),
            Mechanism::ScramSha512 => (
                hmac::HMAC_SHA512,
                &digest::SHA512,
                pbkdf2::PBKDF2_HMAC_SHA512,
            ),
        };
        let sign = |key: &[u8], text: &[u8]| {
            let key = hmac::Key::new(of_hmac, key);
            hmac::sign(&key, text).as_ref().to_vec()
        };
        let mut salted = vec![0; of_digest.output_len()];
        pbkdf2::derive(
            of_pbkdf2,
            rounds,
            &salt,
            self.password.as_bytes(),
            &mut salted,
        );
        let client_key = sign(&salted, b"Client Key");
        let stored_key = digest::digest(of_digest, &client_key);
        let last = format!("c=biws,r={nonce}");
        let all = format!("{},{challenge},{last}", self.first);
        let signature = sign(stored_key.as_ref(), all.as_bytes());
        let proof: Vec<u8> = client_key
            .iter()
            .zip(&signature)
            .map(|(key, signed)| key ^ signed)
            .collect();
        let server_key = sign(&salted, b"Server Key");
        self.expected = Some(sign(&server_key, all.as_bytes()));
        Ok(format!("{last},p={}", encode(&proof)).into_bytes())
    }

    fn rubbish(&self, what: &'static str) -> SaslError {
        SaslError::Rubbish {
            mechanism: self.mechanism,
            what,
        }
    }
}

/// A field of a message by the letter in front of it.
fn field<'a>(message: &'a str, letter: &str) -> Option<&'a str> {
    message
        .split(',')
        .find_map(|field| field.strip_prefix(letter))
}
