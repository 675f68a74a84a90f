//! Routes of requests, for all protocols.

use std::time::Duration;

use crate::delay::parse_duration;
use crate::service::Service;
use crate::stall::{PlannedStall, STALL_MAX};

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
