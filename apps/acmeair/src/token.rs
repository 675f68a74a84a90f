//! Login tokens: JWT with RS256.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use ring::rsa::{KeyPair, PublicKeyComponents};
use serde::{Deserialize, Serialize};

use crate::api_error::ApiError;
use crate::error::StartError;

/// Lifetime of a token.
pub const LIFE: Duration = Duration::from_secs(60 * 60);
/// Name of the cookie with the token.
pub const COOKIE: &str = "Bearer";
const ISSUER: &str = "acmeair";
/// The key that is used if no other is given: anybody can read it.
pub const SHIPPED_KEY: &[u8] = include_bytes!("../keys/shipped.der");
/// Longest token accepted; ours have some 600 bytes.
const TOKEN_MAX: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Issuer.
    pub iss: String,
    /// Subject: the login.
    pub sub: String,
    /// Time of issue, in seconds since 1970.
    pub iat: u64,
    /// Expiry, in seconds since 1970.
    pub exp: u64,
    /// Roles of the subject.
    pub groups: Vec<String>,
}

/// A public key in JWK format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey {
    /// Key type.
    pub kty: String,
    /// Key id.
    pub kid: String,
    /// Its use.
    #[serde(rename = "use")]
    pub usage: String,
    /// Algorithm.
    pub alg: String,
    /// Modulus, base64url.
    pub n: String,
    /// Exponent, base64url.
    pub e: String,
}

/// Signs tokens with a key.
pub struct Issuer {
    key: EncodingKey,
    pub public: PublicKey,
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Issuer").field(&self.public.kid).finish()
    }
}

/// Seconds since 1970.
pub fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |time| time.as_secs())
}

impl Issuer {
    /// With this RSA key (PKCS#1, DER).
    /// Fails if it is no such key.
    pub fn new(der: &[u8]) -> Result<Issuer, StartError> {
        let pair = KeyPair::from_der(der).map_err(|error| StartError::Key(error.to_string()))?;
        let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public());
        let digest = ring::digest::digest(&ring::digest::SHA256, &n);
        Ok(Issuer {
            key: EncodingKey::from_rsa_der(der),
            public: PublicKey {
                kty: "RSA".to_owned(),
                kid: URL_SAFE_NO_PAD.encode(&digest.as_ref()[..9]),
                usage: "sig".to_owned(),
                alg: "RS256".to_owned(),
                n: URL_SAFE_NO_PAD.encode(&n),
                e: URL_SAFE_NO_PAD.encode(&e),
            },
        })
    }

    /// A token for a login, issued at this time.
    /// Fails if it cannot be signed, which would be a bug.
    pub fn token(&self, subject: &str, made_s: u64) -> Result<String, ApiError> {
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
            .map_err(|error| ApiError::Unavailable(format!("no token could be signed: {error}")))
    }
}

/// Public keys for checking tokens.
#[derive(Debug, Default)]
pub struct Keys(Vec<(String, DecodingKey)>);

/// Why a token is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("the token was signed by another key")]
    UnknownKey,
    /// It is malformed, tampered with or expired.
    #[error("invalid token ({0})")]
    Refused(String),
}

impl Keys {
    /// From these keys; other algorithms are skipped.
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

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The login of a token.
    /// Fails if the token is invalid.
    pub fn subject(&self, token: &str) -> Result<String, TokenError> {
        if token.len() > TOKEN_MAX {
            return Err(TokenError::Refused("too long".to_owned()));
        }
        let refused = |error: jsonwebtoken::errors::Error| TokenError::Refused(error.to_string());
        let header = jsonwebtoken::decode_header(token).map_err(refused)?;
        // The algorithm is fixed here, not taken from the token: otherwise "none" would be accepted.
        if header.alg != Algorithm::RS256 {
            return Err(TokenError::Refused("not RS256".to_owned()));
        }
        let named = |(kid, _): &&(String, DecodingKey)| Some(kid) == header.kid.as_ref();
        let (_, key) = self.0.iter().find(named).ok_or(TokenError::UnknownKey)?;
        let mut checks = Validation::new(Algorithm::RS256);
        checks.set_issuer(&[ISSUER]);
        checks.set_required_spec_claims(&["exp", "iss", "sub"]);
        checks.leeway = 0;
        let read = jsonwebtoken::decode::<Claims>(token, key, &checks).map_err(refused)?;
        Ok(read.claims.sub)
    }
}

/// The token of a request: from the `Authorization` header, else from the cookie.
pub fn of(headers: &HeaderMap) -> Option<&str> {
    let authorization = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    authorization.or_else(|| cookie(headers, COOKIE))
}

/// The value of a cookie.
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
