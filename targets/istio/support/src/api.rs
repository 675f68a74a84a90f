//! Requests of the Kubernetes API (<https://kubernetes.io/docs/reference/using-api/api-concepts/>), answered without a cluster.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::{FutureExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::objects::{Objects, Refusal};
use crate::tokens::Tokens;

/// Length of a watch without `timeoutSeconds`. Clients then watch again.
const WATCH_S: u64 = 3600;
/// Kinds of the resources that istiod reads.
const KINDS: &[(&str, &str)] = &[
    ("configmaps", "ConfigMap"),
    ("customresourcedefinitions", "CustomResourceDefinition"),
    ("endpointslices", "EndpointSlice"),
    ("ingresses", "Ingress"),
    ("ingressclasses", "IngressClass"),
    ("leases", "Lease"),
    (
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
    ),
    ("namespaces", "Namespace"),
    ("nodes", "Node"),
    ("pods", "Pod"),
    ("secrets", "Secret"),
    ("serviceaccounts", "ServiceAccount"),
    ("services", "Service"),
    (
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
    ),
];

/// Resource of the reviews of tokens.
const REVIEWS: &str = "tokenreviews";

/// The API and what it keeps.
#[derive(Debug, Default)]
pub struct Api {
    tokens: Tokens,
    objects: Mutex<Objects>,
}

/// Parameters of lists and watches.
#[derive(Debug, Default, Deserialize)]
struct Parameters {
    watch: Option<String>,
    #[serde(rename = "timeoutSeconds")]
    timeout_s: Option<u64>,
    #[serde(rename = "sendInitialEvents")]
    send_initial_events: Option<String>,
}

/// A path: group and version, the collection, and a name.
#[derive(Debug, PartialEq, Eq)]
struct Place<'a> {
    group_version: String,
    resource: &'a str,
    name: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// `/api/v1/namespaces/NS/pods/NAME` or `/apis/GROUP/VERSION/…`.
    fn parse(path: &'a str) -> Option<Place<'a>> {
        let words: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group_version, mut rest) = match words.as_slice() {
            ["api", version, rest @ ..] => ((*version).to_owned(), rest),
            ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
            _ => return None,
        };
        if let ["namespaces", _, inside @ ..] = rest
            && !inside.is_empty()
        {
            rest = inside;
        }
        Some(Place {
            group_version,
            resource: rest.first().copied().unwrap_or_default(),
            name: rest.get(1).copied(),
        })
    }
}

impl Api {
    /// An API with nothing in it.
    #[must_use]
    pub fn new(tokens: Tokens) -> Arc<Api> {
        let objects = Mutex::default();
        Arc::new(Api { tokens, objects })
    }

    /// All requests go through one function: the API has a path per resource.
    pub fn router(self: Arc<Api>) -> Router {
        Router::new().fallback(answer).with_state(self)
    }

    /// Writes an object; answers with this status and the object.
    fn write(
        &self,
        status: u16,
        write: impl FnOnce(&mut Objects) -> Result<Value, Refusal>,
    ) -> Response {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        match write(&mut objects) {
            Ok(object) => as_json(status, &object),
            Err(refusal) => refused(refusal),
        }
    }
}

async fn answer(
    State(api): State<Arc<Api>>,
    method: Method,
    uri: Uri,
    Query(parameters): Query<Parameters>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path();
    let Some(place) = Place::parse(path) else {
        return match path {
            "/version" => as_json(
                200,
                &json!({"major": "1", "minor": "34", "gitVersion": "v1.34.4"}),
            ),
            "/readyz" | "/livez" | "/healthz" => "ok".into_response(),
            _ => refused(Refusal::NotFound),
        };
    };
    let object = || serde_json::from_slice::<Value>(&body).map_err(|_| Refusal::Invalid);
    match method {
        Method::GET => read(&api, &place, path, &parameters, &headers),
        Method::POST if place.resource == REVIEWS => match object() {
            Ok(review) => as_json(201, &api.tokens.review(review)),
            Err(refusal) => refused(refusal),
        },
        Method::POST => api.write(201, |objects| {
            objects.create(path.trim_end_matches('/'), object()?)
        }),
        Method::PUT => api.write(200, |objects| objects.replace(path, object()?)),
        _ => refused(Refusal::NotFound),
    }
}

fn read(
    api: &Api,
    place: &Place<'_>,
    path: &str,
    parameters: &Parameters,
    headers: &HeaderMap,
) -> Response {
    if place.resource.is_empty() {
        let list = json!({"kind": "APIResourceList", "groupVersion": place.group_version, "resources": []});
        return as_json(200, &list);
    }
    let accepted = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    let is_metadata = accepted.is_some_and(|value| value.contains("PartialObjectMetadata"));
    let (kind, version) = match is_metadata {
        true => ("PartialObjectMetadata", "meta.k8s.io/v1"),
        false => (kind_of(place.resource), place.group_version.as_str()),
    };
    if parameters.watch.as_deref().is_some_and(is_true) {
        return watch(kind, version, parameters);
    }
    if place.name.is_some() {
        let objects = api.objects.lock().unwrap_or_else(PoisonError::into_inner);
        return match objects.get(path) {
            Some(object) => as_json(200, object),
            None => refused(Refusal::NotFound),
        };
    }
    let list = json!({
        "kind": format!("{kind}List"),
        "apiVersion": version,
        "metadata": {"resourceVersion": "1"},
        "items": [],
    });
    as_json(200, &list)
}

/// A watch that says nothing but, where the client asked for a list in it, that the list is complete.
fn watch(kind: &str, version: &str, parameters: &Parameters) -> Response {
    let bookmark = json!({
        "type": "BOOKMARK",
        "object": {
            "kind": kind,
            "apiVersion": version,
            "metadata": {
                "resourceVersion": "1",
                "annotations": {"k8s.io/initial-events-end": "true"},
            },
        },
    });
    let first = parameters
        .send_initial_events
        .as_deref()
        .is_some_and(is_true);
    let first = first.then(|| Bytes::from(format!("{bookmark}\n")));
    let length = Duration::from_secs(parameters.timeout_s.unwrap_or(WATCH_S).min(WATCH_S));
    let events = stream::unfold(Some(first), move |state| async move {
        match state? {
            Some(first) => Some((Ok::<Bytes, Infallible>(first), Some(None))),
            None => {
                tokio::time::sleep(length).await;
                None
            }
        }
    });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (headers, Body::from_stream(events)).into_response()
}

fn is_true(word: &str) -> bool {
    ["1", "true"].contains(&word)
}

fn kind_of(resource: &str) -> &'static str {
    let known = KINDS.iter().find(|(name, _)| *name == resource);
    known.map_or("Unknown", |(_, kind)| kind)
}

fn as_json(status: u16, value: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, value.to_string()).into_response()
}

fn refused(refusal: Refusal) -> Response {
    let (code, reason) = refusal.status();
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "code": code,
    });
    as_json(code, &status)
}

/// Entry point of the fuzz target: requests to one API, separated by zero bytes, each `METHOD URI ACCEPT`, a line break and the
/// body. Every answer must come at once.
///
/// # Panics
/// When a handler waits, an error has no status object, or a token is accepted that is not in the list.
pub fn fuzz_entry(data: &[u8]) {
    const TOKEN: &str = "t1";
    let list = format!(
        r#"[{{"token": "{TOKEN}", "namespace": "tare", "account": "server", "pod": "server"}}]"#
    );
    let Ok(tokens) = Tokens::parse(&list) else {
        return;
    };
    let api = Api::new(tokens);
    for request in data.split(|byte| *byte == 0) {
        let end = request.iter().position(|byte| *byte == b'\n');
        let (head, body) = request.split_at(end.unwrap_or(request.len()));
        let body = body.get(1..).unwrap_or_default();
        let mut words = head.split(|byte| *byte == b' ');
        let mut word = || words.next().unwrap_or_default();
        let (Ok(method), Ok(uri)) = (Method::from_bytes(word()), Uri::try_from(word())) else {
            continue;
        };
        let Ok(parameters) = Query::<Parameters>::try_from_uri(&uri) else {
            continue;
        };
        let mut headers = HeaderMap::new();
        if let Ok(accepted) = HeaderValue::from_bytes(word()) {
            headers.insert(header::ACCEPT, accepted);
        }
        let is_watch = method == Method::GET && parameters.watch.is_some();
        let is_review = method == Method::POST
            && Place::parse(uri.path()).is_some_and(|place| place.resource == REVIEWS);
        let bytes = Bytes::copy_from_slice(body);
        let api = State(Arc::clone(&api));
        let answer = answer(api, method, uri, parameters, headers, bytes).now_or_never();
        let Some(answer) = answer else {
            panic!("a handler waits");
        };
        let status = answer.status();
        // The rest of a watch is its silence.
        let body = match is_watch {
            true => None,
            false => to_bytes(answer.into_body(), usize::MAX).now_or_never(),
        };
        let Some(Ok(body)) = body else {
            assert!(is_watch, "only watches wait");
            continue;
        };
        let object: Option<Value> = serde_json::from_slice(&body).ok();
        let field = |pointer| object.as_ref().and_then(|object| object.pointer(pointer));
        assert!(status.is_success() || field("/kind") == Some(&json!("Status")));
        let is_accepted = is_review && field("/status/authenticated") == Some(&json!(true));
        assert!(!is_accepted || field("/spec/token") == Some(&json!(TOKEN)));
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;

    async fn call(api: &Arc<Api>, method: &str, uri: &str, body: &str) -> (u16, Value) {
        let request = Request::builder().method(method).uri(uri);
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let response = Arc::clone(api).router().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    fn api() -> Arc<Api> {
        Api::new(Tokens::default())
    }

    #[test]
    fn paths_of_both_forms_have_a_resource_and_a_name() {
        let core = Place::parse("/api/v1/namespaces/istio-system/configmaps/leader").unwrap();
        assert_eq!(
            (core.group_version.as_str(), core.resource, core.name),
            ("v1", "configmaps", Some("leader"))
        );
        let group = Place::parse("/apis/networking.istio.io/v1/gateways").unwrap();
        assert_eq!(group.group_version, "networking.istio.io/v1");
        assert_eq!((group.resource, group.name), ("gateways", None));
        let namespaces = Place::parse("/api/v1/namespaces").unwrap();
        assert_eq!((namespaces.resource, namespaces.name), ("namespaces", None));
        assert_eq!(Place::parse("/version"), None);
    }

    #[tokio::test]
    async fn lists_are_empty_and_of_the_right_kind() {
        let (status, list) = call(&api(), "GET", "/api/v1/services", "").await;
        assert_eq!((status, &list["kind"]), (200, &json!("ServiceList")));
        assert_eq!(list["items"], json!([]));
        let (_, groups) = call(&api(), "GET", "/apis/networking.istio.io/v1", "").await;
        assert_eq!(groups["kind"], "APIResourceList");
    }

    #[tokio::test]
    async fn a_watch_ends_its_list_with_a_bookmark_and_then_stays_silent_until_its_timeout() {
        let uri = "/api/v1/pods?watch=1&sendInitialEvents=true&timeoutSeconds=0";
        let (status, event) = call(&api(), "GET", uri, "").await;
        assert_eq!((status, &event["type"]), (200, &json!("BOOKMARK")));
        let mark = "/object/metadata/annotations/k8s.io~1initial-events-end";
        assert_eq!(event.pointer(mark), Some(&json!("true")));
        let (_, silent) = call(&api(), "GET", "/api/v1/pods?watch=1&timeoutSeconds=0", "").await;
        assert_eq!(silent, Value::Null);
    }

    #[tokio::test]
    async fn what_is_created_can_be_read_and_replaced() {
        let api = api();
        let body = r#"{"metadata": {"name": "leader"}}"#;
        let leases = "/apis/coordination.k8s.io/v1/namespaces/istio-system/leases";
        let (status, created) = call(&api, "POST", leases, body).await;
        assert_eq!(status, 201);
        let one = format!("{leases}/leader");
        assert_eq!(call(&api, "GET", &one, "").await, (200, created));
        assert_eq!(call(&api, "PUT", &one, body).await.0, 200);
        assert_eq!(call(&api, "DELETE", &one, "").await.0, 404);
    }

    #[tokio::test]
    async fn any_other_request_is_answered_with_a_status() {
        for (method, uri, body) in [
            ("GET", "/nothing", ""),
            ("POST", "/api/v1/namespaces/x/pods", "no json"),
            ("PUT", "/api/v1/namespaces/x/pods/y", "[]"),
            ("PATCH", "/api/v1/nodes/z", "{}"),
            ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", "{"),
        ] {
            let (status, answer) = call(&api(), method, uri, body).await;
            assert!(status >= 400, "{method} {uri}: {status}");
            assert_eq!(answer["kind"], "Status", "{method} {uri}");
        }
    }
}
