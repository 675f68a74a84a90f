//! Cache of the TLS sessions that a worker can resume.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Tickets kept: enough for all connections that can be in their handshakes at the same time.
const TICKETS_MAX: usize = 1024;

/// Sessions with the server of a load. Every worker has its own cache, so the lock is never contended.
///
/// The newest TLS 1.3 ticket is used first, and each only once (RFC 8446 §C.4).
#[derive(Debug, Default)]
pub struct SessionCache(Mutex<CachedSessions>);

#[derive(Debug, Default)]
struct CachedSessions {
    group: Option<NamedGroup>,
    session: Option<Tls12ClientSessionValue>,
    tickets: VecDeque<Tls13ClientSessionValue>,
}

impl SessionCache {
    fn lock_cache(&self) -> MutexGuard<'_, CachedSessions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for SessionCache {
    fn set_kx_hint(&self, _server: ServerName<'static>, group: NamedGroup) {
        self.lock_cache().group = Some(group);
    }

    fn kx_hint(&self, _server: &ServerName<'_>) -> Option<NamedGroup> {
        self.lock_cache().group
    }

    fn set_tls12_session(&self, _server: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.lock_cache().session = Some(session);
    }

    fn tls12_session(&self, _server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.lock_cache().session.clone()
    }

    fn remove_tls12_session(&self, _server: &ServerName<'static>) {
        self.lock_cache().session = None;
    }

    fn insert_tls13_ticket(&self, _server: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let tickets = &mut self.lock_cache().tickets;
        if tickets.len() == TICKETS_MAX {
            tickets.pop_front();
        }
        tickets.push_back(ticket);
    }

    fn take_tls13_ticket(&self, _server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.lock_cache().tickets.pop_back()
    }
}
