//! Cached public keys of the service auth: fetched once, and again when a token names an unknown key.

use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use serde::Deserialize;
use serving::metrics::MetricsPage;
use tokio::sync::Mutex;

use crate::api_error::ApiError;
use crate::peer::Peer;
use crate::token::{self, Keys, PublicKey, TokenError};

/// Shortest interval between fetches for unknown keys.
const FETCH_PAUSE: Duration = Duration::from_secs(1);
/// Pause between attempts at the start.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub struct Keyring {
    auth: Peer,
    /// Timeout of a fetch.
    timeout: Duration,
    keys: RwLock<Keys>,
    /// Time of the last successful fetch.
    fetched: Mutex<Option<Instant>>,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<PublicKey>,
}

impl Keyring {
    /// An empty keyring that fetches from this service within this time.
    pub fn new(auth: Peer, timeout: Duration) -> Keyring {
        Keyring {
            auth,
            timeout,
            keys: RwLock::default(),
            fetched: Mutex::default(),
        }
    }

    /// The login of a request's token.
    /// Fails if there is no valid token, or the keys cannot be fetched.
    pub async fn subject(&self, headers: &HeaderMap) -> Result<String, ApiError> {
        let none = || ApiError::Unauthorized("there is no token".to_owned());
        let token = token::of(headers).ok_or_else(none)?;
        let bad = match self.check(token) {
            Ok(subject) => return Ok(subject),
            Err(TokenError::UnknownKey) => {
                self.fetch().await?;
                match self.check(token) {
                    Ok(subject) => return Ok(subject),
                    Err(bad) => bad,
                }
            }
            Err(bad) => bad,
        };
        Err(ApiError::Unauthorized(bad.to_string()))
    }

    /// Checks that this user is logged in.
    /// Fails if nobody or another user is logged in, or the keys cannot be fetched.
    pub async fn must_be(&self, headers: &HeaderMap, who: &str) -> Result<(), ApiError> {
        let subject = self.subject(headers).await?;
        if subject == who {
            return Ok(());
        }
        Err(ApiError::Forbidden(
            "this is another customer's; log in as that one".to_owned(),
        ))
    }

    fn check(&self, token: &str) -> Result<String, TokenError> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.subject(token)
    }

    /// Fetches the keys, unless that was done just now.
    async fn fetch(&self) -> Result<(), ApiError> {
        let mut fetched = self.fetched.lock().await;
        if fetched.is_some_and(|at| at.elapsed() < FETCH_PAUSE) {
            return Ok(());
        }
        let unknown =
            |why: String| ApiError::Unavailable(format!("no token can be checked: {why}"));
        let answer = self.auth.get("/auth/getJwk", self.timeout).await;
        let answer = answer.map_err(|error| unknown(error.to_string()))?;
        let set: KeySet = serde_json::from_slice(&answer.body)
            .map_err(|error| unknown(format!("auth sent no keys: {error}")))?;
        *fetched = Some(Instant::now());
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Keys::new(&set.keys);
        Ok(())
    }

    /// Fetches the first keys; retries until auth is up.
    pub async fn fetch_first(&self) {
        while self.ready().is_err() {
            if self.fetch().await.is_err() || self.ready().is_err() {
                tokio::time::sleep(FIRST_PAUSE).await;
            }
        }
    }

    /// Whether tokens can be checked.
    /// Errors: what is missing.
    pub fn ready(&self) -> Result<(), String> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        match keys.is_empty() {
            false => Ok(()),
            true => Err("auth has not yet sent its key".to_owned()),
        }
    }

    pub fn write(&self, page: &mut MetricsPage) {
        self.auth.write(page);
    }
}
