//! The history of the runs: experiments, series, and one series with its runs and change points.

use std::sync::{Mutex, PoisonError};

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use axum::response::IntoResponse;
use axum::routing::get;
use serde::Deserialize;
use tare_history::series::{self, Changes};
use tare_history::{History, HistoryError, Index, suite};
use tare_record::api::SeriesFilter;
use tare_record::metric::Metric;
use tare_record::plan::Form;

use crate::error::{Refusal, Reply};
use crate::routes::{ApiRoute, RouteContent::Nothing, computing, query, routes, shape};
use crate::server::{Server, Shared, say};

/// Most runs of a series in an answer.
pub const POINTS_MAX: usize = 10_000;
/// The same where the request names no number.
const POINTS: usize = 1000;

routes! {
    get "/history" (Nothing => 200 shape("HistoryList")) history: "Experiments and kept loads with a history";
    get "/history/series" (Nothing => 200 shape("SeriesList")) series_list:
        "The series of an experiment: `?experiment=E`, and `form`, `metric`, `arm`, `level`, `machine`; `changes=true` finds change points";
    get "/history/points" (Nothing => 200 shape("SeriesDetail")) points:
        "One series with its runs and change points: the same query; `last=N` for the number of runs";
}

/// The query of a question.
#[derive(Deserialize)]
struct SeriesQuery {
    experiment: String,
    form: Option<Form>,
    metric: Option<Metric>,
    arm: Option<String>,
    level: Option<String>,
    machine: Option<String>,
    #[serde(default)]
    changes: bool,
    last: Option<u32>,
}

impl SeriesQuery {
    fn filter(self) -> SeriesFilter {
        SeriesFilter {
            experiment: Some(self.experiment),
            form: self.form,
            metric: self.metric,
            arm: self.arm,
            level: self.level,
            machine: self.machine,
        }
    }
}

/// The histories of the server: one question at a time, so that runs are read once.
pub struct Histories(Mutex<History>);

impl Histories {
    pub fn of(runs: &std::path::Path) -> Histories {
        Histories(Mutex::new(History::of(runs)))
    }

    fn ask<T>(&self, question: impl Fn(&Index) -> Result<T, HistoryError>) -> Reply<T> {
        let mut history = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        history.ask(&say, question).map_err(|error| match error {
            HistoryError::NoSeries(message) => Refusal::not_found(message),
            HistoryError::Busy(_) => Refusal::conflict(error.to_string()),
            _ => Refusal::failed(error.to_string()),
        })
    }
}

async fn history(State(server): State<Shared>) -> Reply<impl IntoResponse> {
    ask(server, series::experiments).await
}

async fn series_list(State(server): State<Shared>, uri: Uri) -> Reply<impl IntoResponse> {
    let wanted: SeriesQuery = query(&uri)?;
    let changes = match wanted.changes {
        true => Changes::Find,
        false => Changes::LeaveOut,
    };
    let filter = wanted.filter();
    let runs = server.options.runs.clone();
    ask(server, move |index| {
        let mut found = series::list_series(index, &filter, changes)?;
        if changes == Changes::Find {
            suite::acknowledged(&runs).mark(index, &mut found)?;
        }
        Ok(found)
    })
    .await
}

async fn points(State(server): State<Shared>, uri: Uri) -> Reply<impl IntoResponse> {
    let wanted: SeriesQuery = query(&uri)?;
    let last = wanted
        .last
        .map_or(POINTS, |last| last as usize)
        .min(POINTS_MAX);
    let filter = wanted.filter();
    ask(server, move |index| {
        series::one_series(index, &filter, last)
    })
    .await
}

async fn ask<T: serde::Serialize + Send + 'static>(
    server: Shared,
    question: impl Fn(&Index) -> Result<T, HistoryError> + Send + 'static,
) -> Reply<impl IntoResponse> {
    let answer = computing(server, move |server: &Server| server.history.ask(question));
    answer.await.map(Json)
}
