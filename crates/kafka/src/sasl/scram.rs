//! SCRAM (RFC 5802): client and broker both prove that they know the password, without sending it.

use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};

use super::{Mechanism, SaslError, SaslStep};

/// Most PBKDF2 iterations accepted; brokers use 4096 to 16384.
const ROUNDS_MAX: u32 = 1_000_000;

/// One authentication.
pub(super) struct Scram {
    mechanism: Mechanism,
    password: String,
    nonce: String,
    /// client-first-message-bare, a part of AuthMessage.
    client_first_bare: String,
    /// Key and text of the signature that the server has to send.
    expected: Option<(hmac::Key, String)>,
}

impl std::fmt::Debug for Scram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scram({})", self.mechanism)
    }
}

pub(super) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

impl Scram {
    pub fn begin(mechanism: Mechanism, user: &str, password: &str, nonce: &str) -> (Self, String) {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        let client_first_bare = format!("n={user},r={nonce}");
        let client_first = format!("n,,{client_first_bare}");
        let scram = Self {
            mechanism,
            password: password.to_owned(),
            nonce: nonce.to_owned(),
            client_first_bare,
            expected: None,
        };
        (scram, client_first)
    }

    pub fn proceed(&mut self, user: &str, answer: &[u8]) -> Result<SaslStep, SaslError> {
        let answer = std::str::from_utf8(answer).map_err(|_| self.malformed("it is not text"))?;
        if let Some(reason) = field(answer, "e=") {
            return Err(SaslError::Refused(user.to_owned(), reason.to_owned()));
        }
        match self.expected.take() {
            None => self.client_final(answer).map(SaslStep::Say),
            Some((key, text)) => {
                let signature = field(answer, "v=").and_then(|text| STANDARD.decode(text).ok());
                // The comparison takes constant time.
                hmac::verify(&key, text.as_bytes(), &signature.unwrap_or_default())
                    .map(|()| SaslStep::Done)
                    .map_err(|_| SaslError::WrongServerSignature)
            }
        }
    }

    /// client-final-message: the answer to the server's challenge.
    fn client_final(&mut self, challenge: &str) -> Result<Vec<u8>, SaslError> {
        let nonce = field(challenge, "r=")
            .filter(|nonce| nonce.starts_with(&self.nonce) && nonce.len() > self.nonce.len())
            .ok_or_else(|| self.malformed("its nonce does not go on from ours"))?;
        let salt = field(challenge, "s=").and_then(|salt| STANDARD.decode(salt).ok());
        let salt = salt.ok_or_else(|| self.malformed("it has no salt"))?;
        let rounds = field(challenge, "i=").and_then(|rounds| rounds.parse().ok());
        let rounds = rounds
            .filter(|&rounds| rounds <= ROUNDS_MAX)
            .and_then(NonZeroU32::new)
            .ok_or_else(|| self.malformed("its number of rounds is not 1 to 1000000"))?;
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
        let final_without_proof = format!("c=biws,r={nonce}");
        let auth_message = format!(
            "{},{challenge},{final_without_proof}",
            self.client_first_bare
        );
        let signature = sign(stored_key.as_ref(), auth_message.as_bytes());
        let proof: Vec<u8> = client_key
            .iter()
            .zip(&signature)
            .map(|(key, signed)| key ^ signed)
            .collect();
        let server_key = sign(&salted, b"Server Key");
        self.expected = Some((hmac::Key::new(of_hmac, &server_key), auth_message));
        Ok(format!("{final_without_proof},p={}", encode(&proof)).into_bytes())
    }

    fn malformed(&self, what: &'static str) -> SaslError {
        SaslError::Malformed(self.mechanism, what)
    }
}

/// An attribute of a message, by its name and `=`.
fn field<'a>(message: &'a str, letter: &str) -> Option<&'a str> {
    message
        .split(',')
        .find_map(|field| field.strip_prefix(letter))
}
