//! The stream of a cluster: its overview and what a page shows beside it, with every reading.

use std::io;

use axum::response::sse::{Event, Sse};
use futures_util::Stream;
use serde::{Deserialize, Serialize};
use tare_kafka_admin::api::ClusterProblem;
use tokio::sync::mpsc;

use super::watcher::{ClusterSnapshot, SubscriptionScope};
use crate::error::Reply;
use crate::events;
use crate::server::Shared;

/// Events that wait for a slow reader.
const WAITING_MAX: usize = 16;

/// What a stream was asked for: `topics=true&groups=true&reassignments=true&metrics=true&topic=NAME&group=NAME`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct LiveQuery {
    topics: bool,
    groups: bool,
    reassignments: bool,
    metrics: bool,
    topic: Option<String>,
    group: Option<String>,
}

impl LiveQuery {
    fn scope(&self) -> SubscriptionScope {
        let mut found = SubscriptionScope {
            metrics: self.metrics,
            ..SubscriptionScope::default()
        };
        found.scope.progress = self.reassignments;
        found.scope.groups.extend(self.group.clone());
        found
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
        if self.reassignments {
            events.push(("reassignments", text(&view.reassignments())));
        }
        if let Some(metrics) = published.metrics.as_ref().filter(|_| self.metrics) {
            events.push(("metrics", text(metrics.as_ref())));
        }
        let absent = |what: &str, name: &str| {
            let problem = ClusterProblem::unreadable(format!("{what} {name} is not found"));
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
    let permit = events::permit(server)?;
    let mut subscription = server.kafka.watcher(cluster)?.subscribe(query.scope());
    let (sender, events) = mpsc::channel(WAITING_MAX);
    tokio::spawn(async move {
        let _permit = permit;
        // What was read before this stream may be old, or have another scope.
        let mut is_first = subscription.state.borrow_and_update().is_none();
        loop {
            if !is_first {
                tokio::select! {
                    changed = subscription.state.changed() => if changed.is_err() { return },
                    () = sender.closed() => return,
                }
            }
            is_first = false;
            let state = subscription.state.borrow_and_update().clone();
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
    Ok(events::sent(events))
}
