//! `/metrics` in OpenMetrics: what is being measured now, and the last result of each experiment.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use tare_export::follow::last_events;
use tare_export::formats::openmetrics;
use tare_export::metrics::{self, Metrics};
use tare_export::{live, run_metrics};
use tare_record::api::{RunEntry, RunEntryState};
use tare_record::text::word_of;

use crate::error::{Refusal, Reply};
use crate::server::{Server, Shared};

/// Most experiments whose last result is shown.
const EXPERIMENTS_MAX: usize = 100;

/// The page.
pub async fn page(State(server): State<Shared>) -> Reply<impl IntoResponse> {
    let made = tokio::task::spawn_blocking(move || text(&server)).await;
    let text = made.map_err(|error| Refusal::failed(error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, openmetrics::CONTENT_TYPE)], text))
}

fn text(server: &Server) -> String {
    let mut page = Metrics::default();
    let runs = &server.options.runs;
    let (entries, _) = server.runs.list();
    for entry in &entries {
        let state = word_of(&entry.state);
        let labels = [("run", entry.id.as_str()), ("state", state.as_str())];
        page.set(&metrics::RUN_STATE, &labels, 1.0);
        if entry.state == RunEntryState::Running {
            live::run(&mut page, &entry.id, &last_events(&runs.join(&entry.id)));
        }
    }
    for id in server.runs.measured() {
        let folder = runs.join(&id);
        if server.runs.run(&id).is_err() {
            live::load(&mut page, &id, &last_events(&folder));
        }
    }
    for entry in last_complete(&entries).values().take(EXPERIMENTS_MAX) {
        page.extend(results(server, entry));
    }
    server.kafka.metrics(&mut page);
    openmetrics::text(&page)
}

/// The newest complete run of each experiment.
fn last_complete(entries: &[RunEntry]) -> BTreeMap<&str, &RunEntry> {
    let mut last = BTreeMap::new();
    // The newest is the first.
    for entry in entries
        .iter()
        .filter(|entry| entry.state == RunEntryState::Complete)
    {
        if let Some(summary) = &entry.summary {
            last.entry(summary.experiment.as_str()).or_insert(entry);
        }
    }
    last
}

/// Results of complete runs; they do not change any more.
static RESULTS: Mutex<BTreeMap<String, Metrics>> = Mutex::new(BTreeMap::new());

fn results(server: &Server, entry: &RunEntry) -> Metrics {
    let known = || RESULTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known().get(&entry.id) {
        return found.clone();
    }
    let view = server.runs.view(&entry.id);
    let made = view.map(|view| run_metrics::results(&view));
    let made = made.unwrap_or_default();
    let mut results = known();
    while results.len() >= EXPERIMENTS_MAX {
        results.pop_first();
    }
    results.insert(entry.id.clone(), made.clone());
    made
}
