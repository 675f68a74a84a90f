//! The stream of a cluster: its overview and what a page shows beside it, with every reading.

use std::io;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use serde::Serialize;
use tare_kafka_admin::api::ClusterProblem;
use tokio::sync::mpsc;

use super::watcher::{ClusterSnapshot, LookScope};
use crate::error::{Refusal, Reply};
use crate::server::Shared;

/// Events that wait for a slow reader.
const WAITING_MAX: usize = 16;
/// Interval of comments that keep a silent stream open.
const KEEP_ALIVE: std::time::Duration = std::time::Duration::from_secs(15);

/// What a stream was asked for.
#[derive(Debug, Clone, Default)]
pub struct LiveQuery {
    topics: bool,
    groups: bool,
    moves: bool,
    metrics: bool,
    topic: Option<String>,
    group: Option<String>,
}

impl LiveQuery {
    /// From `topics=true&groups=true&moves=true&metrics=true&topic=NAME&group=NAME`.
    pub fn of(query: &str) -> LiveQuery {
        let mut found = LiveQuery::default();
        for (name, value) in pairs(query) {
            match name.as_str() {
                "topics" => found.topics = value == "true",
                "groups" => found.groups = value == "true",
                "moves" => found.moves = value == "true",
                "metrics" => found.metrics = value == "true",
                "topic" => found.topic = Some(value),
                "group" => found.group = Some(value),
                _ => {}
            }
        }
        found
    }

    fn wanted(&self) -> LookScope {
        let mut wanted = LookScope {
            metrics: self.metrics,
            ..LookScope::default()
        };
        wanted.scope.moves = self.moves;
        wanted.scope.groups.extend(self.group.clone());
        wanted
    }

    fn events(&self, published: &ClusterSnapshot) -> Vec<(&'static str, String)> {
        let view = published.view();
        let mut events = vec![("overview", text(&published.overview()))];
        if self.topics {
            events.push(("topics", text(&view.topics())));
        }
        if self.groups {
            events.push(("groups", text(&view.groups())));
        }
        if self.moves {
            events.push(("moves", text(&view.moves())));
        }
        if let Some(metrics) = published.metrics.as_ref().filter(|_| self.metrics) {
            events.push(("metrics", text(metrics.as_ref())));
        }
        let absent = |what: &str, name: &str| {
            let problem =
                ClusterProblem::unreadable(format!("{what} {name} is not there (any more)"));
            ("problem", text(&problem))
        };
        if let Some(name) = &self.topic {
            events.push(match view.topic(name) {
                Some(topic) => ("topic", text(&topic)),
                None => absent("topic", name),
            });
        }
        if let Some(name) = &self.group {
            match view.group(name) {
                Some(group) => events.push(("group", text(&group))),
                // The next reading has it.
                None if !view.now.has_group(name) => {}
                None if view.now.may_have_group(name) => {
                    let problem = ClusterProblem::unreadable(format!(
                        "group {name} cannot be read now: its coordinator does not answer"
                    ));
                    events.push(("problem", text(&problem)));
                }
                None => events.push(absent("group", name)),
            }
        }
        events
    }
}

/// Pairs of a query, decoded.
pub fn pairs(query: &str) -> Vec<(String, String)> {
    let all = query.split('&').filter_map(|pair| pair.split_once('='));
    all.map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

/// Text with `+` and `%XX` as browsers encode it.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let escaped = (byte == b'%').then(|| behind.get(..2)).flatten();
        let escaped =
            escaped.and_then(|two| u8::from_str_radix(str::from_utf8(two).ok()?, 16).ok());
        rest = match escaped {
            Some(_) => &behind[2..],
            None => behind,
        };
        bytes.push(match (escaped, byte) {
            (Some(byte), _) => byte,
            (None, b'+') => b' ',
            (None, byte) => byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn text(value: &impl Serialize) -> String {
    // Keys of maps are texts and numbers: writing cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

/// The stream.
pub fn stream(
    server: &Shared,
    cluster: &str,
    query: LiveQuery,
) -> Reply<Sse<impl Stream<Item = Result<Event, io::Error>> + use<>>> {
    let permit = server.streams.clone().try_acquire_owned();
    let permit = permit.map_err(|_| {
        Refusal::new(
            axum::http::StatusCode::SERVICE_UNAVAILABLE,
            "too many event streams are open: close pages that are not needed",
        )
    })?;
    let mut look = server.kafka.watcher(cluster)?.look(query.wanted());
    let (sender, mut events) = mpsc::channel(WAITING_MAX);
    tokio::spawn(async move {
        let _permit = permit;
        // What was read before this stream may be old, or have another scope.
        let mut is_first = look.state.borrow_and_update().is_none();
        loop {
            if !is_first {
                tokio::select! {
                    changed = look.state.changed() => if changed.is_err() { return },
                    () = sender.closed() => return,
                }
            }
            is_first = false;
            let state = look.state.borrow_and_update().clone();
            let made = match state {
                None => Vec::new(),
                Some(Err(problem)) => vec![("problem", text(&problem))],
                Some(Ok(published)) => {
                    let query = query.clone();
                    let made = tokio::task::spawn_blocking(move || query.events(&published)).await;
                    made.unwrap_or_default()
                }
            };
            for (name, data) in made {
                let event = Event::default().event(name).data(data);
                if sender.send(Ok(event)).await.is_err() {
                    return;
                }
            }
        }
    });
    let stream = futures_util::stream::poll_fn(move |context| events.poll_recv(context));
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_query_are_decoded_and_what_is_unknown_is_left_out() {
        let query = LiveQuery::of("topics=true&group=a%2Fb+c%C3%B6%zz&moves=no&x=%&metrics");
        assert!(query.topics && !query.moves && !query.metrics);
        assert_eq!(query.group.as_deref(), Some("a/b cö%zz"));
        assert_eq!(query.topic, None);
    }
}
