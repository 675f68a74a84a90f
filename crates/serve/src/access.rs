//! Who is signed in, links for other browsers, and who changed what.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::IntoResponse;
use axum::routing::{delete, get, post};
use axum::{Extension, Json};
use serde::Deserialize;
use tare_record::api::Caller;

use crate::auth::SESSION_PATH;
use crate::error::{Refusal, Reply};
use crate::routes::{ApiRoute, RouteContent::Nothing, blocking, query, routes, shape};
use crate::server::Shared;

/// Most entries of the log in an answer, and those where the request names no number.
pub const ENTRIES_MAX: usize = 1000;
const ENTRIES: usize = 200;

routes! {
    delete SESSION_PATH (Nothing => 204 Nothing) sign_out: "End the session of this browser";
    post "/links" (Nothing => 201 shape("LinkReply")) link: "A link that opens the page once; for scripts and the password";
    get "/audit" (Nothing => 200 shape("AuditList")) audit: "Who changed what, the newest first; `last=N` for the number of entries";
}

async fn sign_out(
    State(server): State<Shared>,
    Extension(caller): Extension<Caller>,
) -> Reply<impl IntoResponse> {
    let cookie = server.access.sign_out(&caller).ok_or_else(|| {
        Refusal::conflict("this is no session: a token or a password is not signed out")
    })?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]))
}

async fn link(
    State(server): State<Shared>,
    Extension(caller): Extension<Caller>,
) -> Reply<impl IntoResponse> {
    // A session that was stolen must not become another one.
    if matches!(caller, Caller::Session { .. }) {
        return Err(Refusal::forbidden(
            "a session makes no links: send the token of scripts (Authorization: Bearer)",
        ));
    }
    Ok((StatusCode::CREATED, Json(server.access.link()?)))
}

/// `?last=N`.
#[derive(Deserialize)]
struct AuditQuery {
    last: Option<u32>,
}

async fn audit(State(server): State<Shared>, uri: Uri) -> Reply<impl IntoResponse> {
    let wanted: AuditQuery = query(&uri)?;
    let count = wanted
        .last
        .map_or(ENTRIES, |last| last as usize)
        .min(ENTRIES_MAX);
    blocking(Arc::clone(&server), move |server| {
        Ok(server.access.audit.last(count))
    })
    .await
    .map(Json)
}
