//! Browsers that are signed in, by a link that opens the page once: each for a time, until it signs out.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use rustix::time::ClockId;

/// Most browsers that are signed in; the oldest goes.
const SESSIONS_MAX: usize = 64;
/// A session ends when it was not used for so long.
const SESSION_IDLE_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// A session ends after so long.
pub const SESSION_AGE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// A link that was not used is worth nothing after so long.
pub const LINK_AGE_MAX: Duration = Duration::from_secs(15 * 60);

/// All sessions, and the link that was made last.
#[derive(Default)]
pub struct BrowserSessions(Mutex<State>);

#[derive(Default)]
struct State {
    link: Option<(String, Duration)>,
    sessions: VecDeque<Session>,
}

struct Session {
    secret: String,
    id: String,
    begun: Duration,
    used: Duration,
}

impl Session {
    fn is_over(&self, now: Duration) -> bool {
        now.saturating_sub(self.begun) >= SESSION_AGE_MAX
            || now.saturating_sub(self.used) >= SESSION_IDLE_MAX
    }
}

impl BrowserSessions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token of a new link; the one before is worth nothing any more.
    pub fn new_link(&self, now: Duration) -> io::Result<String> {
        let token = random()?;
        self.state().link = Some((token.clone(), now));
        Ok(token)
    }

    /// Takes the token of the link: the secret of a new session, and its identity.
    pub fn redeem(&self, token: &str, now: Duration) -> Option<(String, String)> {
        let mut state = self.state();
        let (link, made) = state.link.as_ref()?;
        if !is_same(token, link) || now.saturating_sub(*made) >= LINK_AGE_MAX {
            return None;
        }
        let secret = random().ok()?;
        let id = identity(&secret);
        state.link = None;
        state.sessions.push_back(Session {
            secret: secret.clone(),
            id: id.clone(),
            begun: now,
            used: now,
        });
        if state.sessions.len() > SESSIONS_MAX {
            state.sessions.pop_front();
        }
        Some((secret, id))
    }

    /// The identity of the session with this secret, which is used now.
    pub fn find(&self, secret: &str, now: Duration) -> Option<String> {
        let mut state = self.state();
        state.sessions.retain(|session| !session.is_over(now));
        let mut sessions = state.sessions.iter_mut();
        let found = sessions.find(|session| is_same(secret, &session.secret))?;
        found.used = now;
        Some(found.id.clone())
    }

    /// Ends a session.
    pub fn end(&self, id: &str) {
        self.state().sessions.retain(|session| session.id != id);
    }
}

/// Time since the machine was started; it goes on while the machine sleeps, and nobody sets it.
pub fn now() -> Duration {
    let now = rustix::time::clock_gettime(ClockId::Boottime);
    Duration::new(
        u64::try_from(now.tv_sec).unwrap_or_default(),
        u32::try_from(now.tv_nsec).unwrap_or_default(),
    )
}

/// A random token of 256 bits.
pub fn random() -> io::Result<String> {
    let mut bytes = [0; 32];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Compares hashes: the time tells nothing about the secret.
pub fn is_same(given: &str, secret: &str) -> bool {
    let digest = |text: &str| ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest(given).as_ref() == digest(secret).as_ref()
}

/// What names a session in a log: a hash, which opens nothing.
fn identity(secret: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, secret.as_bytes());
    let bytes = digest.as_ref().iter().take(4);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);
    const BEGIN: Duration = Duration::from_secs(1_000_000);

    fn session(sessions: &BrowserSessions, now: Duration) -> (String, String) {
        let token = sessions.new_link(now).unwrap();
        sessions.redeem(&token, now).unwrap()
    }

    #[test]
    fn a_link_is_good_once_and_for_minutes() {
        let sessions = BrowserSessions::default();
        let token = sessions.new_link(BEGIN).unwrap();
        assert!(sessions.redeem(&token, BEGIN + LINK_AGE_MAX).is_none());
        assert!(sessions.redeem("other", BEGIN).is_none());
        assert!(sessions.redeem(&token, BEGIN).is_some());
        assert!(sessions.redeem(&token, BEGIN).is_none());
        let old = sessions.new_link(BEGIN).unwrap();
        sessions.new_link(BEGIN).unwrap();
        assert!(sessions.redeem(&old, BEGIN).is_none());
    }

    #[test]
    fn a_session_ends_when_it_is_not_used_when_it_is_old_and_when_its_browser_signs_out() {
        let sessions = BrowserSessions::default();
        let (idle, _) = session(&sessions, BEGIN);
        assert!(sessions.find(&idle, BEGIN + 11 * HOUR).is_some());
        assert!(sessions.find(&idle, BEGIN + 22 * HOUR).is_some());
        assert!(sessions.find(&idle, BEGIN + 34 * HOUR).is_none());
        assert!(sessions.find(&idle, BEGIN + 22 * HOUR).is_none());

        let (busy, _) = session(&sessions, BEGIN);
        for hours in 0..7 * 24 {
            assert!(sessions.find(&busy, BEGIN + hours * HOUR).is_some());
        }
        assert!(sessions.find(&busy, BEGIN + 7 * 24 * HOUR).is_none());

        let (secret, id) = session(&sessions, BEGIN);
        let (other, _) = session(&sessions, BEGIN);
        assert_eq!(sessions.find(&secret, BEGIN).as_deref(), Some(id.as_str()));
        assert!(!secret.contains(&id));
        sessions.end(&id);
        assert!(sessions.find(&secret, BEGIN).is_none());
        assert!(sessions.find(&other, BEGIN).is_some());
    }
}
