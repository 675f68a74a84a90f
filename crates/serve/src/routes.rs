//! The routes of the server: one table, from which the router and the description of the API are made.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post};
use axum::{Extension, Json, Router, middleware};
use serde::de::DeserializeOwned;
use serde_json::json;
use tare_export::lock;
use tare_record::api::{Caller, ExperimentRequest, RunList, ServerInfo, StartReply};
use tare_record::view::View;
use tare_report::{html, overlay};

use crate::audit::AuditSubject;
use crate::body::{in_parts, json, json_about, received};
pub use crate::computing::{blocking, computing};
use crate::computing::{compute, compute_permit};
use crate::error::{Refusal, Reply};
use crate::server::{Server, Shared};
use crate::{
    access, archive, assets, auth, error, events, experiments, history, kafka, load_routes, memory,
    metrics, nights, openapi, places,
};

/// Time in which an archive must have come.
const ARCHIVE_TIMEOUT: Duration = Duration::from_secs(600);
/// Part of a file of a run that is shown.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Where the API is.
pub const API: &str = "/api/v1";
/// Most runs side by side.
pub const OVERLAY_MAX: usize = 8;

/// What a route takes or gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteContent {
    Nothing,
    /// A shape of [`tare_record::api::ApiShapes`] by its name.
    Json(&'static str),
    /// JSON without a shape of its own.
    Object,
    Events,
    Text,
    Html,
    Tar,
}

/// A route of the API.
pub struct ApiRoute {
    pub method: &'static str,
    pub path: &'static str,
    pub about: &'static str,
    pub takes: RouteContent,
    pub gives: (u16, RouteContent),
    pub handler: fn() -> MethodRouter<Shared>,
}

/// Defines the table of routes.
macro_rules! routes {
    ($($method:ident $path:tt ($takes:expr => $status:literal $gives:expr) $handler:path: $about:literal;)*) => {
        /// The routes of this module, below `/api/v1`.
        pub const ROUTES: &[ApiRoute] = &[$(ApiRoute {
            method: stringify!($method),
            path: $path,
            about: $about,
            takes: $takes,
            gives: ($status, $gives),
            handler: || $method($handler),
        },)*];
    };
}

pub(crate) use routes;

/// All routes.
pub fn all() -> impl Iterator<Item = &'static ApiRoute> {
    ROUTES
        .iter()
        .chain(access::ROUTES)
        .chain(load_routes::ROUTES)
        .chain(history::ROUTES)
        .chain(nights::ROUTES)
        .chain(kafka::routes::ROUTES)
}

use RouteContent::{Events, Html, Nothing, Object, Tar, Text};
/// A shape of the API by its name.
pub const fn shape(name: &'static str) -> RouteContent {
    RouteContent::Json(name)
}

routes! {
    get "/server" (Nothing => 200 shape("ServerInfo")) server_info: "The server";
    get "/runs" (Nothing => 200 shape("RunList")) run_list: "All runs, the newest first";
    post "/runs" (shape("ExperimentRequest") => 201 shape("StartReply")) run_start: "Start a run";
    post "/runs/import" (Tar => 201 Object) run_import: "Import the folder of a run, as a tar";
    get "/runs/{id}" (Nothing => 200 shape("RunDetail")) run_detail: "A run";
    delete "/runs/{id}" (Nothing => 204 Nothing) run_delete: "Delete a run that has ended";
    get "/runs/{id}/view" (Nothing => 200 shape("View")) run_view: "The figures of a run; provisional while it goes on";
    get "/runs/{id}/report.html" (Nothing => 200 Html) run_report: "The self-contained report";
    get "/runs/{id}/archive" (Nothing => 200 Tar) run_archive: "The folder of a run, as a tar";
    get "/runs/{id}/events" (Nothing => 200 Events) run_events: "The events of a run; `Last-Event-ID` resumes";
    post "/runs/{id}/stop" (Nothing => 202 Nothing) run_stop: "Stop a run; what was measured is kept";
    post "/runs/{id}/resume" (Nothing => 201 shape("StartReply")) run_resume: "Resume a run";
    get "/runs/{id}/trials/{trial}" (Nothing => 200 shape("TrialDetail")) trial_detail: "A trial";
    get "/runs/{id}/files/{*path}" (Nothing => 200 Text) run_file: "A file of a run, as text";
    get "/compare" (Nothing => 200 shape("RunOverlay")) compare: "Runs side by side: `?run=A&run=B`";
    get "/library" (Nothing => 200 shape("ExperimentLibrary")) library: "Experiments that can be run";
    get "/library/{study}/{name}" (Nothing => 200 Text) library_text: "An experiment as YAML";
    post "/plan" (shape("ExperimentRequest") => 200 shape("PlanReply")) plan: "Check an experiment and plan it";
    get "/starts" (Nothing => 200 Object) start_list: "What was started from here, the newest first";
    get "/starts/{id}" (Nothing => 200 shape("StartReply")) start_detail: "A start";
    post "/starts/{id}/stop" (Nothing => 202 Nothing) start_stop: "Stop what was started";
    get "/machine" (Nothing => 200 shape("EnvironmentRecord")) machine: "The machine, as `tare doctor` describes it";
    get "/schemas/{name}" (Nothing => 200 Object) schema: "A JSON Schema of `tare schema`";
    get "/openapi.json" (Nothing => 200 Object) description: "This description";
}

/// The whole server.
pub fn app(server: Shared) -> Router {
    let routed = |routes: &'static [ApiRoute]| {
        routes.iter().fold(Router::new(), |router, route| {
            // What it takes is checked where its body is read.
            let handler = (route.handler)().route_layer(Extension(route.takes));
            router.route(route.path, handler)
        })
    };
    let page = [
        "/",
        "/new",
        "/compare",
        "/machine",
        "/audit",
        "/history",
        "/history/{page}",
        "/kafka",
        "/kafka/{*rest}",
        "/loads",
        "/runs/{*rest}",
        "/loads/{*rest}",
    ];
    let page = page.iter().fold(Router::new(), |router, path| {
        router.route(path, get(assets::index))
    });
    let access = Arc::clone(&server.access);
    let free = memory::FreeMemory::new();
    let own = routed(ROUTES)
        .merge(routed(access::ROUTES))
        .merge(routed(load_routes::ROUTES))
        .merge(routed(history::ROUTES))
        .merge(routed(nights::ROUTES));
    let own = own.layer(middleware::from_fn_with_state(free.clone(), memory::hold));
    let of_clusters = routed(kafka::routes::ROUTES).layer(middleware::from_fn_with_state(
        free.clone(),
        memory::hold_answer,
    ));
    Router::new()
        .route("/metrics", get(metrics::page))
        .layer(middleware::from_fn_with_state(free, memory::hold))
        .nest(API, own.merge(of_clusters).fallback(unknown))
        .route("/assets/{name}", get(assets::asset))
        .merge(page)
        .fallback(unknown)
        .with_state(server)
        .layer(middleware::from_fn(error::as_json))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&access),
            auth::check,
        ))
        .layer(middleware::map_response_with_state(access, with_headers))
}

/// What is at no address.
async fn unknown() -> Refusal {
    Refusal::not_found("there is nothing here: GET /api/v1/openapi.json describes the API")
}

async fn with_headers(State(access): State<Arc<auth::Access>>, mut response: Response) -> Response {
    let headers = response.headers_mut();
    if access.has_all_of_its_host() {
        let always = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, always);
    }
    for (name, value) in assets::security_headers() {
        // The page of a night may do less than this page.
        headers.entry(name).or_insert(value);
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The query of an address.
pub fn query<T: DeserializeOwned>(uri: &Uri) -> Reply<T> {
    let found = Query::try_from_uri(uri);
    found
        .map(|Query(query)| query)
        .map_err(|error| Refusal::bad(error.body_text()))
}

async fn server_info(
    State(server): State<Shared>,
    Extension(caller): Extension<Caller>,
) -> Json<ServerInfo> {
    Json(ServerInfo {
        tare: env!("CARGO_PKG_VERSION").to_owned(),
        version: tare_record::FORMAT_VERSION,
        runs: server.options.runs.display().to_string(),
        read_only: server.access.read_only(),
        files: server
            .options
            .files
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
        parallel: server.options.parallel,
        caller,
    })
}

async fn run_list(State(server): State<Shared>) -> Reply<Json<RunList>> {
    let (runs, without) = blocking(Arc::clone(&server), |server| Ok(server.runs.list())).await?;
    if !without.is_empty() {
        tokio::spawn(summarise(server, without));
    }
    Ok(Json(RunList { runs }))
}

/// Makes summaries of runs that have none, one after the other.
async fn summarise(server: Shared, ids: Vec<String>) {
    for id in server.runs.to_summarise(ids) {
        let of = id.clone();
        let make = move |server: &Server| Ok(server.runs.make_summary(&of));
        let made = computing(Arc::clone(&server), make).await.ok();
        let keep = move |server: &Server| {
            server.runs.keep_summary(&id, made);
            Ok(())
        };
        // An error is a defect, which has nothing to say to anybody here.
        let _ = blocking(Arc::clone(&server), keep).await;
    }
}

/// What is shown of the view of a run, which is made unless it is known.
async fn viewing<T: Send + 'static>(
    server: &Shared,
    id: &str,
    show: impl FnOnce(&View) -> Reply<T> + Send + 'static,
) -> Reply<T> {
    // Not before: who had the permit may have made it.
    let permit = compute_permit(server).await?;
    let of = id.to_owned();
    let known = move |server: &Server| server.runs.known_view(&of);
    let known = blocking(Arc::clone(server), known).await?;
    let of = id.to_owned();
    let (made, shown) = compute(Arc::clone(server), permit, move |server| match known {
        Some(view) => Ok((None, show(&view)?)),
        None => {
            let made = server.runs.make_view(&of)?;
            let shown = show(&made.view)?;
            Ok((Some(made), shown))
        }
    })
    .await?;
    if let Some(made) = made {
        let of = id.to_owned();
        let keep = move |server: &Server| server.runs.keep_view(&of, made);
        // A run that was deleted meanwhile is shown, and not kept.
        let _ = blocking(Arc::clone(server), keep).await;
    }
    Ok(shown)
}

async fn run_start(State(server): State<Shared>, request: Request) -> Reply<impl IntoResponse> {
    let about = |wanted: &ExperimentRequest| {
        let name = wanted.experiment.as_ref().or(wanted.name.as_ref());
        name.cloned().unwrap_or_default()
    };
    let wanted = json_about(request, about).await?;
    let started = blocking(server, move |server| experiments::start(server, &wanted)).await?;
    Ok(begun(started))
}

async fn run_import(State(server): State<Shared>, request: Request) -> Reply<impl IntoResponse> {
    let subject = AuditSubject::of(&request);
    let file = tempfile::tempfile_in(server.own_folder())?;
    let received = received(request.into_body(), file.try_clone()?);
    match tokio::time::timeout(ARCHIVE_TIMEOUT, received).await {
        Err(_) => {
            return Err(Refusal::new(
                StatusCode::REQUEST_TIMEOUT,
                "the archive did not come in time",
            ));
        }
        Ok(ended) => ended?,
    }
    let id = computing(server, move |server| {
        archive::import(&server.options.runs, &server.own_folder(), file)
    })
    .await?;
    subject.set(id.clone());
    Ok((StatusCode::CREATED, Json(json!({ "id": id }))))
}

async fn run_detail(
    State(server): State<Shared>,
    Path(id): Path<String>,
) -> Reply<impl IntoResponse> {
    let of = id.clone();
    let entry = blocking(Arc::clone(&server), move |server| server.runs.entry(&of)).await?;
    let detail = move |server: &Server| server.runs.detail(entry);
    let mut detail = computing(Arc::clone(&server), detail).await?;
    let plan_text = viewing(&server, &id, |view| Ok(view.plan_text.clone())).await;
    match plan_text {
        Ok(text) => detail.plan_text = text,
        Err(refusal) if refusal.status == StatusCode::SERVICE_UNAVAILABLE => return Err(refusal),
        // A run that has only begun has no plan yet, and one of another version none that can be read.
        Err(_) => {}
    }
    Ok(Json(detail))
}

async fn run_delete(State(server): State<Shared>, Path(id): Path<String>) -> Reply<StatusCode> {
    blocking(server, move |server| {
        server.runs.delete(&id, &server.own_folder())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn run_view(
    State(server): State<Shared>,
    Path(id): Path<String>,
) -> Reply<impl IntoResponse> {
    let text = viewing(&server, &id, |view| {
        serde_json::to_string(view).map_err(|error| Refusal::failed(error.to_string()))
    })
    .await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text))
}

async fn run_report(
    State(server): State<Shared>,
    Path(id): Path<String>,
) -> Reply<impl IntoResponse> {
    let name = format!("attachment; filename=\"{}.html\"", places::name(&id)?);
    let page = viewing(&server, &id, |view| {
        html::html(view).map_err(|error| Refusal::failed(error.to_string()))
    })
    .await?;
    // Opened from here, it would be a page of this server with scripts of its own.
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, page))
}

async fn run_archive(
    State(server): State<Shared>,
    Path(id): Path<String>,
) -> Reply<impl IntoResponse> {
    let folder = server.runs.run(&id)?;
    let name = format!("attachment; filename=\"{id}.tar\"");
    let headers = [
        (header::CONTENT_TYPE, "application/x-tar".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((
        headers,
        in_parts(move |parts| archive::write(&folder, &id, parts)),
    ))
}

async fn run_events(
    State(server): State<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Reply<impl IntoResponse> {
    let folder = server.runs.run(&id)?;
    events::stream(&server, folder, &headers)
}

async fn run_stop(State(server): State<Shared>, Path(id): Path<String>) -> Reply<StatusCode> {
    stop(&server.runs.run(&id)?)
}

/// Stops whoever measures in a folder.
pub fn stop(folder: &std::path::Path) -> Reply<StatusCode> {
    let holder = lock::holder(folder);
    let stopped =
        holder.is_some_and(|pid| lock::interrupt(pid, || lock::holder(folder) == Some(pid)));
    match stopped {
        true => Ok(StatusCode::ACCEPTED),
        false if lock::is_held(folder) => Err(Refusal::conflict(
            "it goes on, and this server cannot reach it (another user's, or in another container): stop it where it was started",
        )),
        false => Err(Refusal::conflict("it has ended")),
    }
}

async fn run_resume(
    State(server): State<Shared>,
    Path(id): Path<String>,
) -> Reply<impl IntoResponse> {
    let started = blocking(server, move |server| {
        let folder = server.runs.run(&id)?;
        experiments::resume(server, &folder)
    });
    Ok(begun(started.await?))
}

/// The answer to a start, with its own address.
pub fn begun(started: StartReply) -> impl IntoResponse {
    let at = [(header::LOCATION, format!("{API}/starts/{}", started.id))];
    (StatusCode::CREATED, at, Json(started))
}

async fn trial_detail(
    State(server): State<Shared>,
    Path((id, trial)): Path<(String, String)>,
) -> Reply<impl IntoResponse> {
    let trial = trial
        .parse()
        .map_err(|_| Refusal::not_found(format!("there is no trial {trial}: they have numbers")))?;
    blocking(server, move |server| server.runs.trial(&id, trial))
        .await
        .map(Json)
}

async fn run_file(
    State(server): State<Shared>,
    Path((id, path)): Path<(String, String)>,
) -> Reply<impl IntoResponse> {
    let file = blocking(server, move |server| {
        places::open_below(&server.runs.run(&id)?, &path)
    });
    let file = file.await?;
    Ok((
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
        in_parts(move |mut parts| places::write_text(file, FILE_BYTES_MAX, &mut parts)),
    ))
}

async fn compare(State(server): State<Shared>, uri: Uri) -> Reply<impl IntoResponse> {
    let pairs: Vec<(String, String)> = query(&uri)?;
    let ids = pairs.into_iter().filter(|(name, _)| name == "run");
    let ids: Vec<String> = ids.map(|(_, id)| id).collect();
    if ids.is_empty() || ids.len() > OVERLAY_MAX {
        return Err(Refusal::bad(format!(
            "name 1 to {OVERLAY_MAX} runs: ?run=A&run=B"
        )));
    }
    let overlay = computing(server, move |server| {
        let runs: Reply<Vec<_>> = ids.iter().map(|id| server.runs.read(id)).collect();
        Ok(overlay::overlay(&runs?))
    });
    overlay.await.map(Json)
}

async fn library(State(server): State<Shared>) -> Reply<impl IntoResponse> {
    blocking(server, |server| {
        Ok(experiments::library(&server.options.home))
    })
    .await
    .map(Json)
}

async fn library_text(
    State(server): State<Shared>,
    Path((study, name)): Path<(String, String)>,
) -> Reply<impl IntoResponse> {
    let text = blocking(server, move |server| {
        experiments::text(&server.options.home, &format!("{study}/{name}"))
    });
    Ok((
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
        text.await?,
    ))
}

async fn plan(State(server): State<Shared>, request: Request) -> Reply<impl IntoResponse> {
    let wanted: ExperimentRequest = json(request).await?;
    computing(server, move |server| experiments::plan(server, &wanted))
        .await
        .map(Json)
}

async fn start_list(State(server): State<Shared>) -> Reply<impl IntoResponse> {
    let starts = blocking(server, |server| {
        let ids = server.children.ids();
        let replies = ids
            .iter()
            .rev()
            .take(50)
            .filter_map(|id| server.children.reply(id).ok());
        Ok(replies.collect::<Vec<_>>())
    });
    Ok(Json(json!({ "starts": starts.await? })))
}

async fn start_detail(
    State(server): State<Shared>,
    Path(id): Path<String>,
) -> Reply<impl IntoResponse> {
    blocking(server, move |server| server.children.reply(&id))
        .await
        .map(Json)
}

async fn start_stop(State(server): State<Shared>, Path(id): Path<String>) -> Reply<StatusCode> {
    server.children.stop(&id)?;
    Ok(StatusCode::ACCEPTED)
}

async fn machine(State(server): State<Shared>) -> Reply<impl IntoResponse> {
    of_tare(server, |command, server| {
        command
            .arg("doctor")
            .arg("--json")
            .arg("--out")
            .arg(&server.options.runs);
    })
    .await
}

async fn schema(
    State(server): State<Shared>,
    Path(name): Path<String>,
) -> Reply<impl IntoResponse> {
    let name = places::name(&name)?.to_owned();
    of_tare(server, move |command, _| {
        command.arg("schema").arg("--").arg(name);
    })
    .await
    .map_err(|refusal| match refusal.status {
        StatusCode::UNPROCESSABLE_ENTITY => Refusal::not_found(refusal.error.message),
        _ => refusal,
    })
}

/// The JSON that a command of `tare` prints.
async fn of_tare(
    server: Shared,
    words: impl FnOnce(&mut std::process::Command, &Server) + Send + 'static,
) -> Reply<impl IntoResponse> {
    let text = computing(server, move |server| {
        let mut command = std::process::Command::new(&server.options.tare);
        words(&mut command, server);
        experiments::answer(server, command)
    });
    Ok(([(header::CONTENT_TYPE, "application/json")], text.await?))
}

async fn description() -> impl IntoResponse {
    Json(openapi::description())
}
