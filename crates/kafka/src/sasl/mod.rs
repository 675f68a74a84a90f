//! Saying who we are to a broker: the steps of SASL, without I/O.

mod scram;

use std::fmt;
use std::str::FromStr;

use ring::rand::{SecureRandom, SystemRandom};

use scram::Scram;

/// How a user proves to be who he says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// The password itself: over TLS only, anywhere but in a test.
    Plain,
    /// A proof of it (RFC 5802) with SHA-256.
    ScramSha256,
    /// The same with SHA-512.
    ScramSha512,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Mechanism; 3] = [
        Mechanism::Plain,
        Mechanism::ScramSha256,
        Mechanism::ScramSha512,
    ];

    /// As brokers name it.
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

/// Who we are.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// How it is proved.
    pub mechanism: Mechanism,
    /// The user.
    pub user: String,
    /// And the password.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({} as {:?})", self.mechanism, self.user)
    }
}

/// Why a login cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SaslError {
    /// The broker says no.
    #[error(
        "the broker refuses the login of {user:?}: {reason}; check user, password and mechanism"
    )]
    Refused {
        /// Who it was.
        user: String,
        /// The broker's words.
        reason: String,
    },
    /// The broker does not know the password itself.
    #[error(
        "the broker proves no knowledge of the password: it is not the one the user was created on"
    )]
    Impostor,
    /// It says something else than the mechanism has it say.
    #[error("the broker's word in a {mechanism} login cannot be used: {what}")]
    Rubbish {
        /// Of the login.
        mechanism: Mechanism,
        /// What is wrong.
        what: &'static str,
    },
    /// The machine gives no randomness.
    #[error("the system gives no random numbers for a login")]
    NoRandom,
}

/// What is to be done after a word of the broker's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Say this, and wait for the next word.
    Say(Vec<u8>),
    /// Nothing: we are logged in.
    Done,
}

/// A login under way.
#[derive(Debug)]
pub struct Login {
    user: String,
    state: State,
}

#[derive(Debug)]
enum State {
    Plain,
    Scram(Box<Scram>),
}

impl Login {
    /// Begins one: the first thing to say.
    ///
    /// # Errors
    /// Without randomness.
    pub fn begin(credentials: &Credentials) -> Result<(Self, Vec<u8>), SaslError> {
        let mut random = [0; 18];
        SystemRandom::new()
            .fill(&mut random)
            .map_err(|_| SaslError::NoRandom)?;
        Ok(Self::begin_with(credentials, &scram::encode(&random)))
    }

    /// The same with a nonce that is given.
    fn begin_with(credentials: &Credentials, nonce: &str) -> (Self, Vec<u8>) {
        let Credentials { user, password, .. } = credentials;
        let (state, first) = match credentials.mechanism {
            Mechanism::Plain => {
                let first = [&[0], user.as_bytes(), &[0], password.as_bytes()].concat();
                (State::Plain, first)
            }
            mechanism => {
                let (scram, first) = Scram::begin(mechanism, user, password, nonce);
                (State::Scram(Box::new(scram)), first.into_bytes())
            }
        };
        let login = Self {
            user: user.clone(),
            state,
        };
        (login, first)
    }

    /// Takes what the broker answered.
    ///
    /// # Errors
    /// When it refuses, or is not who knows the password.
    pub fn proceed(&mut self, answer: &[u8]) -> Result<Step, SaslError> {
        match &mut self.state {
            State::Plain => Ok(Step::Done),
            State::Scram(scram) => scram.proceed(&self.user, answer),
        }
    }

    /// The error of a broker that refused in the words of its protocol.
    #[must_use]
    pub fn refused(&self, reason: &str) -> SaslError {
        SaslError::Refused {
            user: self.user.clone(),
            reason: reason.to_owned(),
        }
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
        let (mut login, first) = Login::begin_with(&known, NONCE);
        assert_eq!(first, b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        assert_eq!(
            login.proceed(CHALLENGE),
            Ok(Step::Say(PROOF.as_bytes().to_vec()))
        );
        assert_eq!(login.proceed(VERIFIED), Ok(Step::Done));
    }

    #[test]
    fn another_password_makes_another_proof_and_an_impostor_is_found_out() {
        let wrong = credentials(Mechanism::ScramSha256, "pen");
        let (mut login, _) = Login::begin_with(&wrong, NONCE);
        let said = login.proceed(CHALLENGE).unwrap();
        assert_ne!(said, Step::Say(PROOF.as_bytes().to_vec()));
        assert_eq!(login.proceed(VERIFIED), Err(SaslError::Impostor));
        let (mut login, _) = Login::begin_with(&wrong, NONCE);
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
                let (mut login, _) = Login::begin_with(&credentials(mechanism, "p"), NONCE);
                let error = login.proceed(challenge).unwrap_err().to_string();
                assert!(error.contains(what), "{what}: {error}");
            }
        }
    }

    #[test]
    fn commas_in_names_are_escaped_and_plain_is_one_word() {
        let mut odd = credentials(Mechanism::ScramSha512, "p");
        odd.user = "a,b=c".into();
        let (_, first) = Login::begin(&odd).unwrap();
        assert!(first.starts_with(b"n,,n=a=2Cb=3Dc,r="));
        odd.mechanism = Mechanism::Plain;
        let (mut login, first) = Login::begin(&odd).unwrap();
        assert_eq!(first, b"\0a,b=c\0p");
        assert_eq!(login.proceed(b""), Ok(Step::Done));
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
