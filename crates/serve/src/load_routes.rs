//! The routes of `/api/v1/loads`.

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{delete, get, post};
use serde_json::json;
use tare_record::api::{LoadList, LoadRequest};

use crate::audit::AuditSubject;
use crate::body::{body, json_about};
use crate::error::Reply;
use crate::routes::RouteContent::{Events, Nothing, Object};
use crate::routes::{ApiRoute, begun, blocking, computing, routes, shape, stop};
use crate::server::Shared;
use crate::{events, loads};

routes! {
    get "/loads" (Nothing => 200 shape("LoadList")) load_list: "All loads, the newest first";
    post "/loads" (shape("LoadRequest") => 201 shape("StartReply")) load_start: "Start a load";
    post "/loads/import" (Object => 201 Object) load_import: "Import a result of Fortio (JSON)";
    get "/loads/{id}" (Nothing => 200 shape("LoadDetail")) load_detail: "A load";
    delete "/loads/{id}" (Nothing => 204 Nothing) load_delete: "Delete a load that has ended";
    get "/loads/{id}/events" (Nothing => 200 Events) load_events: "The events of a load; `Last-Event-ID` resumes";
    post "/loads/{id}/stop" (Nothing => 202 Nothing) load_stop: "Stop a load; what was measured is kept";
}

async fn load_list(State(server): State<Shared>) -> Reply<impl IntoResponse> {
    let found = computing(server, |server| Ok(loads::list(&server.options.runs)));
    Ok(Json(LoadList {
        loads: found.await?,
    }))
}

async fn load_start(State(server): State<Shared>, request: Request) -> Reply<impl IntoResponse> {
    let wanted = json_about(request, |wanted: &LoadRequest| loads::target(&wanted.url)).await?;
    let started = blocking(server, move |server| loads::start(server, &wanted)).await?;
    Ok(begun(started))
}

async fn load_import(State(server): State<Shared>, request: Request) -> Reply<impl IntoResponse> {
    let subject = AuditSubject::of(&request);
    let text = body(request).await?;
    let id = blocking(server, move |server| {
        loads::import(&server.options.runs, &server.own_folder(), &text)
    });
    let id = id.await?;
    subject.set(id.clone());
    Ok((StatusCode::CREATED, Json(json!({ "id": id }))))
}

async fn load_detail(
    State(server): State<Shared>,
    Path(id): Path<String>,
) -> Reply<impl IntoResponse> {
    computing(server, move |server| {
        loads::detail(&server.options.runs, &id)
    })
    .await
    .map(Json)
}

async fn load_delete(State(server): State<Shared>, Path(id): Path<String>) -> Reply<StatusCode> {
    blocking(server, move |server| {
        loads::delete(&server.options.runs, &id, &server.own_folder())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn load_events(
    State(server): State<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Reply<impl IntoResponse> {
    let folder = loads::folder(&server.options.runs, &id)?;
    events::stream(&server, folder, &headers)
}

async fn load_stop(State(server): State<Shared>, Path(id): Path<String>) -> Reply<StatusCode> {
    stop(&loads::folder(&server.options.runs, &id)?)
}
