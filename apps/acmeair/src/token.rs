//! Tokens that say who is logged in: JWT, signed by RS256.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use rsa::RsaPrivateKey;
use rsa::pkcs1::EncodeRsaPrivateKey;
use rsa::traits::PublicKeyParts;
use serde::{Deserialize, Serialize};

use crate::error::StartError;
use crate::refusal::Refusal;

/// How long a token is good.
pub const LIFE: Duration = Duration::from_secs(60 * 60);
/// Name of the cookie that carries it.
pub const COOKIE: &str = "Bearer";
/// Who makes tokens.
const ISSUER: &str = "acmeair";
/// Length of the key.
const KEY_BITS: usize = 2048;
/// Longest token that is looked at; ours have some 600 bytes.
const TOKEN_MAX: usize = 4096;

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Who made it.
    pub iss: String,
    /// Who is logged in.
    pub sub: String,
    /// When it was made, in seconds since 1970.
    pub iat: u64,
    /// When it ends, in seconds since 1970.
    pub exp: u64,
    /// What its subject may do.
    pub groups: Vec<String>,
}

/// A public key as JSON Web Keys have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey {
    /// Kind of key.
    pub kty: String,
    /// Its name.
    pub kid: String,
    /// What it is for.
    #[serde(rename = "use")]
    pub usage: String,
    /// Algorithm.
    pub alg: String,
    /// Modulus, base64url.
    pub n: String,
    /// Exponent, base64url.
    pub e: String,
}

/// Makes tokens with a key of its own.
pub struct Issuer {
    key: EncodingKey,
    /// The other half of the key.
    pub public: PublicKey,
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Issuer").field(&self.public.kid).finish()
    }
}

/// Seconds since 1970.
#[must_use]
pub fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |time| time.as_secs())
}

impl Issuer {
    /// With a new key. The crate `rsa` makes it (ring cannot) and never uses it; ring signs, in constant time.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn new() -> Result<Issuer, StartError> {
        let failed = |error: &dyn std::fmt::Display| StartError::Key(error.to_string());
        let private = RsaPrivateKey::new(&mut rsa::rand_core::OsRng, KEY_BITS)
            .map_err(|error| failed(&error))?;
        let der = private.to_pkcs1_der().map_err(|error| failed(&error))?;
        let modulus = private.n().to_bytes_be();
        let digest = ring::digest::digest(&ring::digest::SHA256, &modulus);
        Ok(Issuer {
            key: EncodingKey::from_rsa_der(der.as_bytes()),
            public: PublicKey {
                kty: "RSA".to_owned(),
                kid: URL_SAFE_NO_PAD.encode(&digest.as_ref()[..9]),
                usage: "sig".to_owned(),
                alg: "RS256".to_owned(),
                n: URL_SAFE_NO_PAD.encode(&modulus),
                e: URL_SAFE_NO_PAD.encode(private.e().to_bytes_be()),
            },
        })
    }

    /// A token for somebody, made at this time.
    ///
    /// # Errors
    /// When it cannot be signed, which would be a mistake here.
    pub fn token(&self, subject: &str, made_s: u64) -> Result<String, Refusal> {
        let claims = Claims {
            iss: ISSUER.to_owned(),
            sub: subject.to_owned(),
            iat: made_s,
            exp: made_s + LIFE.as_secs(),
            groups: vec!["user".to_owned()],
        };
        let mut header = Header::new(Algorithm::RS256);
        header.kid = Some(self.public.kid.clone());
        jsonwebtoken::encode(&header, &claims, &self.key)
            .map_err(|error| Refusal::Unavailable(format!("no token could be signed: {error}")))
    }
}

/// The keys that tokens are checked with.
#[derive(Debug, Default)]
pub struct Keys(Vec<(String, DecodingKey)>);

/// Why a token is no good.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    /// It is signed by a key that is not known (here, now).
    #[error("the token was signed by another key")]
    UnknownKey,
    /// It is nothing, or somebody changed it, or it is too old.
    #[error("the token is no good ({0})")]
    Refused(String),
}

impl Keys {
    /// These keys, without those of another algorithm.
    #[must_use]
    pub fn new(keys: &[PublicKey]) -> Keys {
        let signing = keys
            .iter()
            .filter(|key| key.kty == "RSA" && key.alg == "RS256");
        let known = signing.filter_map(|key| {
            let decoding = DecodingKey::from_rsa_components(&key.n, &key.e).ok()?;
            Some((key.kid.clone(), decoding))
        });
        Keys(known.collect())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Who is logged in by a token.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn subject(&self, token: &str) -> Result<String, Bad> {
        if token.len() > TOKEN_MAX {
            return Err(Bad::Refused("too long".to_owned()));
        }
        let refused = |error: jsonwebtoken::errors::Error| Bad::Refused(error.to_string());
        let header = jsonwebtoken::decode_header(token).map_err(refused)?;
        // The algorithm is ours to choose, not the token's: else "none" would do.
        if header.alg != Algorithm::RS256 {
            return Err(Bad::Refused("not RS256".to_owned()));
        }
        let named = |(kid, _): &&(String, DecodingKey)| Some(kid) == header.kid.as_ref();
        let (_, key) = self.0.iter().find(named).ok_or(Bad::UnknownKey)?;
        let mut checks = Validation::new(Algorithm::RS256);
        checks.set_issuer(&[ISSUER]);
        checks.set_required_spec_claims(&["exp", "iss", "sub"]);
        checks.leeway = 0;
        let read = jsonwebtoken::decode::<Claims>(token, key, &checks).map_err(refused)?;
        Ok(read.claims.sub)
    }
}

/// The token of a request: of the header `Authorization`, else of the cookie.
#[must_use]
pub fn of(headers: &HeaderMap) -> Option<&str> {
    let authorization = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    authorization.or_else(|| cookie(headers, COOKIE))
}

/// The value of a cookie.
#[must_use]
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).into_iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(is, value)| (is == name && !value.is_empty()).then_some(value))
}

#[cfg(test)]
mod tests;
