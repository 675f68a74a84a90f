//! The keys of the service auth as another service keeps them: fetched once, and again when a token names a new one.

use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::metrics::Page;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::token::{self, Bad, Keys, PublicKey};

/// Limit of a fetch.
const FETCH_LIMIT: Duration = Duration::from_millis(500);
/// Tokens that name unknown keys make us fetch no more often than this.
const FETCH_PAUSE: Duration = Duration::from_secs(1);
/// Between two tries at the start.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The keys.
#[derive(Debug)]
pub struct Keyring {
    auth: Peer,
    keys: RwLock<Keys>,
    /// When they were fetched last.
    fetched: Mutex<Option<Instant>>,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<PublicKey>,
}

impl Keyring {
    /// None yet, to be had from this service.
    #[must_use]
    pub fn new(auth: Peer) -> Keyring {
        Keyring {
            auth,
            keys: RwLock::default(),
            fetched: Mutex::default(),
        }
    }

    /// Who is logged in.
    ///
    /// # Errors
    /// Nobody, or the keys cannot be had.
    pub async fn subject(&self, headers: &HeaderMap) -> Result<String, Refusal> {
        let none = || Refusal::Stranger("there is no token".to_owned());
        let token = token::of(headers).ok_or_else(none)?;
        let bad = match self.check(token) {
            Ok(subject) => return Ok(subject),
            Err(Bad::UnknownKey) => {
                self.fetch().await?;
                match self.check(token) {
                    Ok(subject) => return Ok(subject),
                    Err(bad) => bad,
                }
            }
            Err(bad) => bad,
        };
        Err(Refusal::Stranger(bad.to_string()))
    }

    /// Whether this one is logged in.
    ///
    /// # Errors
    /// Nobody, somebody else, or the keys cannot be had.
    pub async fn must_be(&self, headers: &HeaderMap, who: &str) -> Result<(), Refusal> {
        let subject = self.subject(headers).await?;
        if subject == who {
            return Ok(());
        }
        Err(Refusal::Forbidden(
            "this is another customer's; log in as that one".to_owned(),
        ))
    }

    fn check(&self, token: &str) -> Result<String, Bad> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.subject(token)
    }

    /// Fetches the keys, unless somebody just did.
    async fn fetch(&self) -> Result<(), Refusal> {
        let mut fetched = self.fetched.lock().await;
        if fetched.is_some_and(|at| at.elapsed() < FETCH_PAUSE) {
            return Ok(());
        }
        let unknown = |why: String| Refusal::Unavailable(format!("no token can be checked: {why}"));
        let answer = self.auth.get("/auth/getJwk", FETCH_LIMIT).await;
        let answer = answer.map_err(|error| unknown(error.to_string()))?;
        let set: KeySet = serde_json::from_slice(&answer.body)
            .map_err(|error| unknown(format!("auth sent no keys: {error}")))?;
        *fetched = Some(Instant::now());
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Keys::new(&set.keys);
        Ok(())
    }

    /// Fetches the first keys, however long auth takes to be there.
    pub async fn learned(&self) {
        while self.ready().is_err() {
            if self.fetch().await.is_err() || self.ready().is_err() {
                tokio::time::sleep(FIRST_PAUSE).await;
            }
        }
    }

    /// Whether tokens can be checked.
    ///
    /// # Errors
    /// What is missing.
    pub fn ready(&self) -> Result<(), String> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        match keys.is_empty() {
            false => Ok(()),
            true => Err("auth has not yet sent its key".to_owned()),
        }
    }

    /// Writes down how often they were fetched.
    pub fn write(&self, page: &mut Page) {
        self.auth.write(page);
    }
}
