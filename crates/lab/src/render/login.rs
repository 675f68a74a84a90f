//! Random credentials for an instance's admin page; never on a command line or in a record.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::LabError;

/// Random bytes of a password.
const PASSWORD_BYTES: usize = 24;
/// Replacement of a password in a record.
const WITHHELD: &[u8] = b"[withheld]";

/// User and password of one instance. Templates see both.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Login {
    pub user: String,
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(…)")
    }
}

impl Login {
    /// Generates credentials.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn random() -> Result<Login, LabError> {
        let mut bytes = [0; PASSWORD_BYTES];
        let provider = rustls::crypto::ring::default_provider();
        let filled = provider.secure_random.fill(&mut bytes);
        filled.map_err(|_| LabError::Plan(String::from("there are no random bytes to be had")))?;
        let hexadecimal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let (user, password) = hexadecimal.split_at(16);
        Ok(Login {
            user: format!("tare-{user}"),
            password: password.to_owned(),
        })
    }

    /// The value of the `Authorization` header field. (RFC 7617)
    pub(crate) fn credentials(&self) -> String {
        let pair = STANDARD.encode(format!("{}:{}", self.user, self.password));
        format!("Basic {pair}")
    }

    /// Whether one of the texts contains the password.
    pub(crate) fn is_in<'a>(&self, texts: impl IntoIterator<Item = &'a String>) -> bool {
        let mut texts = texts.into_iter();
        texts.any(|text| text.contains(&self.password))
    }

    /// Replaces the password wherever it occurs.
    pub(crate) fn withhold(&self, bytes: &mut Vec<u8>) {
        let password = self.password.as_bytes();
        let find = |bytes: &[u8]| {
            bytes
                .windows(password.len())
                .position(|part| part == password)
        };
        while let Some(at) = find(bytes) {
            bytes.splice(at..at + password.len(), WITHHELD.iter().copied());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_differ_are_not_shown_and_are_withheld_from_what_is_kept() {
        let (one, other) = (Login::random().unwrap(), Login::random().unwrap());
        assert_ne!(one.password, other.password);
        assert_eq!(one.password.len(), 32);
        assert!(!format!("{one:?}").contains(&one.password));
        let mut kept = format!("a={} b={}", one.password, one.password).into_bytes();
        one.withhold(&mut kept);
        assert_eq!(kept, b"a=[withheld] b=[withheld]");
        let told = Login {
            user: String::from("Aladdin"),
            password: String::from("open sesame"),
        };
        let field = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
        assert_eq!(told.credentials(), field, "the example of RFC 7617");
    }
}
