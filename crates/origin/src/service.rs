//! What the protocols share: routes of requests, behaviour of answers, random numbers, counters and stalls of one worker.

use std::sync::Arc;
use std::time::Duration;

use crate::behaviour::{After, Behaviour, BehaviourOverride};
use crate::counters::{AllCounters, Counters};
use crate::delay::{Rng, parse_duration};
use crate::mongodb::SharedDatabase;
use crate::options::Limits;
use crate::stall::{PlannedStall, STALL_MAX, Stalls};

/// One worker's view of the origin.
#[derive(Debug)]
pub(crate) struct Service {
    pub limits: Limits,
    pub overrides: Vec<BehaviourOverride>,
    pub rng: Rng,
    pub counters: Arc<Counters>,
    pub all: AllCounters,
    pub stalls: Arc<Stalls>,
    pub database: SharedDatabase,
    /// Capacity of the buffers of all connections of the worker, as they were last counted.
    pub held_bytes: usize,
    /// The origin is stopping.
    pub is_ending: bool,
}

impl Service {
    /// Whether the buffers of all connections have reached their limit, with so many bytes that are not counted yet.
    pub(crate) fn is_full(&self, uncounted_bytes: usize) -> bool {
        self.held_bytes.saturating_add(uncounted_bytes) >= self.limits.buffer_bytes_max
    }

    /// Appends to a buffer of a connection, unless the buffers of all connections would then reach their limit.
    ///
    /// The capacity grows by an eighth and not twofold, so that one step stays within what [`Connection::account`] lets pass.
    ///
    /// [`Connection::account`]: crate::connection::Connection::account
    pub(crate) fn append(&self, buffer: &mut Vec<u8>, bytes: &[u8]) -> bool {
        let mut growth = 0;
        if buffer.capacity() - buffer.len() < bytes.len() {
            let capacity = buffer.capacity() + buffer.capacity() / 8;
            growth = capacity.max(buffer.len() + bytes.len()) - buffer.capacity();
        }
        if self.is_full(growth) {
            return false;
        }
        if growth > 0 {
            buffer.reserve_exact(buffer.capacity() + growth - buffer.len());
        }
        buffer.extend_from_slice(bytes);
        true
    }

    /// Capacity that a connection keeps of a buffer between exchanges: none beyond half of the limit, which is then left for exchanges.
    pub(crate) fn kept(&self, keep_bytes: usize) -> usize {
        match self.held_bytes < self.limits.buffer_bytes_max / 2 {
            true => keep_bytes,
            false => 0,
        }
    }

    /// Draws the behaviour of one answer.
    pub(crate) fn behave(&mut self, requested: &BehaviourOverride) -> Behaviour {
        let mut behaviour = Behaviour::default();
        for one in &self.overrides {
            one.apply(&mut behaviour, &mut self.rng);
        }
        requested.apply(&mut behaviour, &mut self.rng);
        behaviour
    }

    /// The behaviour of the answer to a request, counted. `None`: the request's own behaviour is invalid, and is answered with 400.
    pub(crate) fn answer(&mut self, requested: Option<BehaviourOverride>) -> Behaviour {
        let mut behaviour = self.behave(&requested.unwrap_or_default());
        if requested.is_none() {
            behaviour = Behaviour::of_status(400);
        }
        match behaviour.after {
            After::Reset => self.counters.resets.add(1),
            After::KeepAlive | After::Close => self.counters.request(behaviour.status),
        }
        behaviour
    }
}

/// The route of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// Any other path: an answer of the requested size.
    Answer,
    /// `POST /echo` or `PUT /echo`: the request's body is echoed.
    Echo,
    /// `/metrics`: the counters.
    Metrics,
    /// `/ready`: whether the server serves.
    Ready,
    /// `/control/stall?for=1s[&in=5s]`: the whole server stops answering; `None` if the query is invalid.
    Stall(Option<PlannedStall>),
}

impl Route {
    /// Requests for counters and control, which are not counted as load.
    pub(crate) fn is_control(self) -> bool {
        matches!(self, Self::Metrics | Self::Ready | Self::Stall(_))
    }
}

/// Path and query of an origin-form or (from a proxy) absolute-form target.
pub(crate) fn split_target(target: &str) -> (&str, &str) {
    let (whole, query) = target.split_once('?').unwrap_or((target, ""));
    let path = match whole.split_once("://") {
        Some((_, rest)) if !whole.starts_with('/') => rest.find('/').map_or("/", |at| &rest[at..]),
        _ => whole,
    };
    (path, query)
}

/// The route of a method and path.
pub(crate) fn route(method: &str, path: &str, query: &str) -> Route {
    match path {
        "/echo" if matches!(method, "POST" | "PUT") => Route::Echo,
        "/metrics" => Route::Metrics,
        "/ready" => Route::Ready,
        "/control/stall" => Route::Stall(stall(query)),
        _ => Route::Answer,
    }
}

fn stall(query: &str) -> Option<PlannedStall> {
    let mut planned = PlannedStall {
        after: Duration::ZERO,
        lasts: Duration::ZERO,
    };
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=')?;
        let duration = parse_duration(value).filter(|duration| *duration <= STALL_MAX)?;
        match key {
            "for" => planned.lasts = duration,
            "in" => planned.after = duration,
            _ => return None,
        }
    }
    (!planned.lasts.is_zero()).then_some(planned)
}

/// Executes a request for counters or control: writes the answer's text, returns its status.
pub(crate) fn control(route: Route, service: &Service, text: &mut Vec<u8>) -> u16 {
    service.counters.control.add(1);
    let (status, words): (u16, &[u8]) = match route {
        Route::Metrics => {
            text.extend_from_slice(service.all.render().as_bytes());
            (200, b"")
        }
        Route::Stall(Some(stall)) if service.stalls.plan(stall) => (200, b"the stall is planned\n"),
        Route::Stall(Some(_)) => (429, b"too many stalls are planned\n"),
        Route::Stall(None) => (400, b"write /control/stall?for=1s or ?for=1s&in=5s\n"),
        Route::Ready | Route::Echo | Route::Answer => (200, b"ready\n"),
    };
    text.extend_from_slice(words);
    status
}
