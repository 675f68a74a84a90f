//! The page: its files are in this program.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::OnceLock;

use axum::body::Bytes;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::Refusal;

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The document.
const INDEX: &str = "index.html";

/// What the page may load: its own files. The pictures carry one style element that is always the same; its hash is in the document.
fn policy() -> String {
    let index = FILES.iter().find(|(name, _)| *name == INDEX);
    let index = index.map(|(_, content)| String::from_utf8_lossy(content));
    let hash = index.as_deref().and_then(|text| {
        let (_, rest) = text.split_once("name=\"tare-style\" content=\"")?;
        Some(rest.split_once('"')?.0)
    });
    let is_hash = |text: &&str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "+/=-".contains(c))
    };
    let style = hash
        .filter(is_hash)
        .map_or(String::new(), |hash| format!(" '{hash}'"));
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'{style}; img-src 'self' data: blob:; font-src 'self'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// Headers of every response.
pub fn security_headers() -> Vec<(header::HeaderName, HeaderValue)> {
    static POLICY: OnceLock<String> = OnceLock::new();
    let policy = POLICY.get_or_init(policy);
    let fixed = |text| HeaderValue::from_static(text);
    let mut headers = vec![
        (header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff")),
        (header::X_FRAME_OPTIONS, fixed("DENY")),
        (header::REFERRER_POLICY, fixed("no-referrer")),
        (
            header::HeaderName::from_static("cross-origin-resource-policy"),
            fixed("same-origin"),
        ),
        (
            header::HeaderName::from_static("cross-origin-opener-policy"),
            fixed("same-origin"),
        ),
    ];
    headers.extend(
        policy
            .parse()
            .ok()
            .map(|policy| (header::CONTENT_SECURITY_POLICY, policy)),
    );
    headers
}

/// The document, for every address of the page.
pub async fn index(headers: HeaderMap) -> Response {
    file(INDEX, &headers)
}

/// A file of the page.
pub async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    file(&name, &headers)
}

fn file(name: &str, headers: &HeaderMap) -> Response {
    let Some((name, content)) = FILES.iter().find(|(known, _)| *known == name) else {
        return Refusal::not_found("there is no such page").into_response();
    };
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(kind))];
    let accepts = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok());
    match accepts.is_some_and(|accepts| accepts.contains("gzip")) {
        true => {
            let packed = packed().get(name).cloned().unwrap_or_default();
            (
                StatusCode::OK,
                kind,
                [(header::CONTENT_ENCODING, "gzip")],
                packed,
            )
                .into_response()
        }
        false => (StatusCode::OK, kind, *content).into_response(),
    }
}

/// The files, compressed once.
fn packed() -> &'static BTreeMap<&'static str, Bytes> {
    static PACKED: OnceLock<BTreeMap<&'static str, Bytes>> = OnceLock::new();
    PACKED.get_or_init(|| {
        let pack = |content: &[u8]| {
            let mut packer = GzEncoder::new(Vec::new(), Compression::best());
            // Writing to memory does not fail.
            let _ = packer.write_all(content);
            Bytes::from(packer.finish().unwrap_or_default())
        };
        FILES
            .iter()
            .map(|(name, content)| (*name, pack(content)))
            .collect()
    })
}
