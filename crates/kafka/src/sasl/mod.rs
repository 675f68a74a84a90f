//! SASL client mechanisms, without I/O.

mod scram;

use std::fmt;
use std::str::FromStr;

use ring::rand::{SecureRandom, SystemRandom};

use scram::Scram;

/// A SASL mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// The password itself: only over TLS, except in tests.
    Plain,
    /// SCRAM (RFC 5802) with SHA-256.
    ScramSha256,
    /// SCRAM with SHA-512.
    ScramSha512,
}

impl Mechanism {
    pub const ALL: [Mechanism; 3] = [
        Mechanism::Plain,
        Mechanism::ScramSha256,
        Mechanism::ScramSha512,
    ];

    /// Its registered name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Plain => "PLAIN",
            Mechanism::ScramSha256 => "SCRAM-SHA-256",
            Mechanism::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mechanism {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL
            .into_iter()
            .find(|known| known.name().eq_ignore_ascii_case(word));
        found.ok_or_else(|| {
            format!("no SASL mechanism {word:?}: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
        })
    }
}

/// Credentials of this client.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub mechanism: Mechanism,
    pub user: String,
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({} as {:?})", self.mechanism, self.user)
    }
}

/// Why an authentication failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SaslError {
    /// The broker refuses the user, with a message.
    #[error("the broker refuses the login of {0:?}: {1}; check user, password and mechanism")]
    Refused(String, String),
    /// The server signature is wrong: the broker does not know the password.
    #[error("the broker's SCRAM signature is wrong: not the cluster this user belongs to")]
    WrongServerSignature,
    /// A malformed message of the broker.
    #[error("malformed {0} message from the broker: {1}")]
    Malformed(Mechanism, &'static str),
    /// No random numbers for a nonce.
    #[error("the system gives no random numbers for a login")]
    NoRandom,
}

/// The next step of an authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaslStep {
    /// Send this token, and wait for the next one.
    Say(Vec<u8>),
    /// Authentication is complete.
    Done,
}

/// An authentication in progress.
#[derive(Debug)]
pub struct Authentication {
    user: String,
    /// `None`: PLAIN, which has no further message.
    scram: Option<Box<Scram>>,
}

impl Authentication {
    /// Starts an authentication; also returns the first token to send.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn begin(credentials: &Credentials) -> Result<(Self, Vec<u8>), SaslError> {
        let mut random = [0; 18];
        SystemRandom::new()
            .fill(&mut random)
            .map_err(|_| SaslError::NoRandom)?;
        Ok(Self::begin_with_nonce(credentials, &scram::encode(&random)))
    }

    /// The same with a given nonce.
    fn begin_with_nonce(credentials: &Credentials, nonce: &str) -> (Self, Vec<u8>) {
        let Credentials { user, password, .. } = credentials;
        let (scram, first) = match credentials.mechanism {
            Mechanism::Plain => {
                let first = [&[0], user.as_bytes(), &[0], password.as_bytes()].concat();
                (None, first)
            }
            mechanism => {
                let (scram, first) = Scram::begin(mechanism, user, password, nonce);
                (Some(Box::new(scram)), first.into_bytes())
            }
        };
        let user = user.clone();
        (Self { user, scram }, first)
    }

    /// Handles the broker's token.
    ///
    /// # Errors
    /// If the broker refuses, its token is malformed, or its signature is wrong.
    pub fn proceed(&mut self, answer: &[u8]) -> Result<SaslStep, SaslError> {
        match &mut self.scram {
            None => Ok(SaslStep::Done),
            Some(scram) => scram.proceed(&self.user, answer),
        }
    }

    /// The error for a broker that refused with a protocol error.
    #[must_use]
    pub fn refused(&self, reason: &str) -> SaslError {
        SaslError::Refused(self.user.clone(), reason.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(mechanism: Mechanism, password: &str) -> Credentials {
        Credentials {
            mechanism,
            user: "user".into(),
            password: password.into(),
        }
    }

    /// The example of RFC 7677, section 3.
    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const CHALLENGE: &[u8] =
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    const PROOF: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
    const VERIFIED: &[u8] = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

    #[test]
    fn a_scram_login_is_that_of_the_standard() {
        let known = credentials(Mechanism::ScramSha256, "pencil");
        let (mut login, first) = Authentication::begin_with_nonce(&known, NONCE);
        assert_eq!(first, b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        assert_eq!(
            login.proceed(CHALLENGE),
            Ok(SaslStep::Say(PROOF.as_bytes().to_vec()))
        );
        assert_eq!(login.proceed(VERIFIED), Ok(SaslStep::Done));
    }

    #[test]
    fn another_password_makes_another_proof_and_an_impostor_is_found_out() {
        let wrong = credentials(Mechanism::ScramSha256, "pen");
        let (mut login, _) = Authentication::begin_with_nonce(&wrong, NONCE);
        let said = login.proceed(CHALLENGE).unwrap();
        assert_ne!(said, SaslStep::Say(PROOF.as_bytes().to_vec()));
        assert_eq!(
            login.proceed(VERIFIED),
            Err(SaslError::WrongServerSignature)
        );
        let (mut login, _) = Authentication::begin_with_nonce(&wrong, NONCE);
        login.proceed(CHALLENGE).unwrap();
        let refused = login.proceed(b"e=invalid-proof").unwrap_err();
        assert!(refused.to_string().contains("invalid-proof"), "{refused}");
    }

    #[test]
    fn words_that_cannot_be_are_refused() {
        for (challenge, what) in [
            (&b"r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"[..], "nonce"),
            (b"r=rOprNGfwEbeRWgbNEkqOx,s=!,i=4096", "salt"),
            (b"r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=0", "rounds"),
            (b"r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=99999999", "rounds"),
            (b"\xff", "text"),
            (b"", "nonce"),
        ] {
            for mechanism in [Mechanism::ScramSha256, Mechanism::ScramSha512] {
                let (mut login, _) =
                    Authentication::begin_with_nonce(&credentials(mechanism, "p"), NONCE);
                let error = login.proceed(challenge).unwrap_err().to_string();
                assert!(error.contains(what), "{what}: {error}");
            }
        }
    }

    #[test]
    fn commas_in_names_are_escaped_and_plain_is_one_word() {
        let mut odd = credentials(Mechanism::ScramSha512, "p");
        odd.user = "a,b=c".into();
        let (_, first) = Authentication::begin(&odd).unwrap();
        assert!(first.starts_with(b"n,,n=a=2Cb=3Dc,r="));
        odd.mechanism = Mechanism::Plain;
        let (mut login, first) = Authentication::begin(&odd).unwrap();
        assert_eq!(first, b"\0a,b=c\0p");
        assert_eq!(login.proceed(b""), Ok(SaslStep::Done));
        assert!(
            !format!("{odd:?}").contains("\"p\""),
            "passwords are not shown"
        );
    }

    #[test]
    fn mechanisms_are_found_by_name() {
        for mechanism in Mechanism::ALL {
            assert_eq!(mechanism.name().to_lowercase().parse(), Ok(mechanism));
        }
        assert!("GSSAPI".parse::<Mechanism>().is_err());
    }
}
