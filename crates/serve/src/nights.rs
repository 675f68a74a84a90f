//! Nights: results of suites in the directory of runs, as a list, as JSON, and as their own pages.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use axum::Json;
use axum::extract::{self, State};
use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tare_export::lock;
use tare_history::suite::{self, NIGHT_MARKDOWN, NIGHT_PAGE};
use tare_record::FORMAT_VERSION;
use tare_record::api::{
    Confirmation, EntryOutcome, NIGHT, NIGHTS, NightChange, NightCounts, NightList, NightReport,
    NightState, NightSummary,
};
use tare_record::regular::{JSON_BYTES_MAX, read_regular, read_regular_text};

use crate::error::{Refusal, Reply};
use crate::routes::{
    ApiRoute,
    RouteContent::{Html, Nothing, Text},
    blocking, computing, routes, shape,
};
use crate::server::{Server, Shared};
use crate::{loads, places};

/// What the page of a night may do: show its own style and charts. It is a file that may come from somebody else, so it has no scripts.
const POLICY: &str = "sandbox allow-same-origin; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

routes! {
    get "/history/nights" (Nothing => 200 shape("NightList")) list: "Results of suites, the newest first";
    get "/history/nights/{night}" (Nothing => 200 shape("NightReport")) result: "The result of a night";
    get "/history/nights/{night}/night.html" (Nothing => 200 Html) page: "The same as a page, with a chart of each series that changed";
    get "/history/nights/{night}/night.md" (Nothing => 200 Text) markdown: "The same as Markdown";
}

async fn list(State(server): State<Shared>) -> Reply<impl IntoResponse> {
    let nights = computing(server, |server| Ok(nights(&server.options.runs)));
    Ok(Json(NightList {
        nights: nights.await?,
    }))
}

async fn result(
    State(server): State<Shared>,
    extract::Path(night): extract::Path<String>,
) -> Reply<impl IntoResponse> {
    let read = blocking(server, move |server| {
        of_night(server, &night, |folder| {
            read(folder).map_err(Refusal::invalid)
        })
    });
    read.await.map(Json)
}

async fn page(
    State(server): State<Shared>,
    extract::Path(night): extract::Path<String>,
) -> Reply<impl IntoResponse> {
    let page = blocking(server, move |server| {
        let page = of_night(server, &night, |folder| text(folder, NIGHT_PAGE))?;
        Ok(with_links(&page, server))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    Ok((headers, page.await?))
}

async fn markdown(
    State(server): State<Shared>,
    extract::Path(night): extract::Path<String>,
) -> Reply<impl IntoResponse> {
    let text = blocking(server, move |server| {
        of_night(server, &night, |folder| text(folder, NIGHT_MARKDOWN))
    });
    let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    Ok((kind, text.await?))
}

/// What is made of the folder of a night.
fn of_night<T>(server: &Server, night: &str, make: impl Fn(&Path) -> Reply<T>) -> Reply<T> {
    let missing = |_| Refusal::not_found(format!("there is no night {night}"));
    let folder = places::folder(&server.options.runs.join(NIGHTS), night).map_err(missing)?;
    match folder.join(NIGHT).exists() {
        true => make(&folder),
        false => Err(Refusal::not_found(format!(
            "the night {night} has no result: its suite runs, or was killed"
        ))),
    }
}

fn text(folder: &Path, name: &str) -> Reply<String> {
    Ok(read_regular_text(&folder.join(name), JSON_BYTES_MAX)?)
}

fn read(folder: &Path) -> Result<NightReport, String> {
    let bytes = read_regular(&folder.join(NIGHT), JSON_BYTES_MAX);
    let bytes = bytes.map_err(|error| format!("{NIGHT}: {error}"))?;
    let report: NightReport = serde_json::from_slice(&bytes)
        .map_err(|error| format!("{NIGHT} is not that of this Tare: {error}"))?;
    match report.version {
        FORMAT_VERSION => Ok(report),
        other => Err(format!(
            "it has format version {other}, this tare reads version {FORMAT_VERSION}: use the tare that wrote it"
        )),
    }
}

/// All nights, the newest first.
fn nights(runs: &Path) -> Vec<NightSummary> {
    let folder = runs.join(NIGHTS);
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| places::folder(&folder, name).is_ok())
        .collect();
    // The second night of a date is `2026-11-26-2`, the tenth `2026-11-26-10`.
    names.sort_by_key(|name| {
        std::cmp::Reverse((name.get(..10).map(str::to_owned), name.len(), name.clone()))
    });
    let running = lock::is_locked(&runs.join(suite::LOCK))
        .then(|| newest(&folder, &names))
        .flatten();
    let summary = |name: &String| {
        let mut summary = NightSummary {
            night: name.clone(),
            state: NightState::Done,
            result: None,
            problem: None,
        };
        let night = folder.join(name);
        match read(&night) {
            Ok(report) => summary.result = Some(counts(&report)),
            Err(_) if running.as_ref() == Some(name) => summary.state = NightState::Running,
            Err(_) if !night.join(NIGHT).exists() => summary.state = NightState::Killed,
            Err(problem) => {
                summary.state = NightState::Unreadable;
                summary.problem = Some(problem);
            }
        }
        summary
    };
    names.iter().map(summary).collect()
}

/// The night without a result in which something was written last.
fn newest(folder: &Path, names: &[String]) -> Option<String> {
    let open = names
        .iter()
        .filter(|name| !folder.join(name).join(NIGHT).exists());
    let changed = |name: &&String| {
        let found = folder.join(name).symlink_metadata().ok();
        found
            .and_then(|found| found.modified().ok())
            .unwrap_or(SystemTime::UNIX_EPOCH)
    };
    open.max_by_key(changed).cloned()
}

fn counts(report: &NightReport) -> NightCounts {
    let entries = |is_meant: &dyn Fn(EntryOutcome) -> bool| {
        let of = report
            .entries
            .iter()
            .filter(|entry| !report.left.contains(&entry.name));
        of.filter(|entry| is_meant(entry.outcome)).count() as u64
    };
    let changes = |is_meant: &dyn Fn(&NightChange) -> bool| {
        report
            .changes
            .iter()
            .filter(|change| is_meant(change))
            .count() as u64
    };
    let is_measured =
        |outcome| matches!(outcome, EntryOutcome::Done | EntryOutcome::AssertionFailed);
    NightCounts {
        suite: report.suite.clone(),
        started_unix_us: report.started_unix_us,
        took_ns: report.took_ns,
        exit_code: report.exit_code,
        reason: report.reason.clone(),
        done: entries(&is_measured),
        failed: entries(&|outcome| !is_measured(outcome)),
        left: report.left.len() as u64,
        changes: changes(&|_| true),
        worse: changes(&|one| one.change.is_worse && one.acknowledged.is_none()),
        new: changes(&|one| one.is_new),
        confirmed: changes(&|one| one.confirmation == Some(Confirmation::Confirmed)),
    }
}

/// The page with links to the runs as this server has them; a run that was deleted has none.
fn with_links(page: &str, server: &Server) -> String {
    const LINK: &str = "<a href=\"../../";
    let mut parts = page.split(LINK);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((name, rest)) = part.split_once("/report.html\">") else {
            text.push_str("<a>");
            continue;
        };
        let place = match name {
            name if server.runs.run(name).is_ok() => Some("runs"),
            name if loads::folder(&server.options.runs, name).is_ok() => Some("loads"),
            _ => None,
        };
        text.push_str(&place.map_or("<a>".to_owned(), |place| {
            format!("<a href=\"/{place}/{name}\">")
        }));
        text.push_str(rest);
    }
    text
}
