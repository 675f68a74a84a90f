//! Who may ask: the host named, the origin of the request, and a token, cookie or password.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};

use crate::error::Refusal;
use crate::server::say;

/// Name of the cookie.
const COOKIE: &str = "tare";
/// Most browsers that are logged in; the oldest goes.
const SESSIONS_MAX: usize = 64;
/// The user of HTTP basic authentication.
const USER: &str = "tare";

/// What identifies those who may ask.
pub struct Access {
    /// Names under which the server may be addressed, with and without the port.
    hosts: Vec<String>,
    /// PageAddress of the page, for links.
    origin: String,
    is_tls: bool,
    read_only: bool,
    bearer: String,
    password: Option<String>,
    secrets: Mutex<Secrets>,
}

#[derive(Default)]
struct Secrets {
    /// Token of the link that was printed last.
    link: String,
    sessions: VecDeque<String>,
}

/// How the server is addressed.
pub struct PageAddress<'a> {
    pub host: String,
    pub port: u16,
    pub is_tls: bool,
    pub more_hosts: &'a [String],
    pub read_only: bool,
}

impl Access {
    /// Makes the tokens, and writes that of scripts to a file for this user only; also its path.
    pub fn new(
        address: &PageAddress<'_>,
        own: &Path,
        password: Option<String>,
    ) -> io::Result<(Access, PathBuf)> {
        let bearer = random()?;
        let path = own.join("token");
        write_private(&path, &bearer)?;
        let scheme = if address.is_tls { "https" } else { "http" };
        let with_port = |host: &str| format!("{host}:{}", address.port);
        let mut hosts = vec![with_port(&address.host)];
        if address.host.starts_with("127.") || address.host == "[::1]" {
            hosts.push(with_port("localhost"));
        }
        for host in address.more_hosts {
            hosts.extend([host.clone(), with_port(host)]);
        }
        let access = Access {
            origin: format!("{scheme}://{}", with_port(&address.host)),
            hosts,
            is_tls: address.is_tls,
            read_only: address.read_only,
            bearer,
            password,
            secrets: Mutex::default(),
        };
        Ok((access, path))
    }

    /// A link with a new token, which opens the page once.
    pub fn link(&self) -> io::Result<String> {
        let token = random()?;
        let link = format!("{}/?token={token}", self.origin);
        self.secrets().link = token;
        Ok(link)
    }

    pub fn read_only(&self) -> bool {
        self.read_only
    }

    fn secrets(&self) -> std::sync::MutexGuard<'_, Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the token of the link: a session, as a cookie.
    fn redeem(&self, token: &str) -> Option<HeaderValue> {
        let mut secrets = self.secrets();
        if secrets.link.is_empty() || !is_same(token, &secrets.link) {
            return None;
        }
        let session = random().ok()?;
        secrets.link.clear();
        secrets.sessions.push_back(session.clone());
        if secrets.sessions.len() > SESSIONS_MAX {
            secrets.sessions.pop_front();
        }
        let secure = if self.is_tls { "; Secure" } else { "" };
        let cookie = format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict{secure}");
        cookie.parse().ok()
    }

    /// Whether the host that a request names is ours: another name is that of a page that was rebound to this address.
    fn names_us(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return false;
        };
        let host = host.to_str().unwrap_or_default();
        self.hosts
            .iter()
            .any(|ours| ours.eq_ignore_ascii_case(host))
    }

    /// Whether a request comes from our page or from no page at all.
    fn is_of_our_page(&self, headers: &HeaderMap) -> bool {
        let text = |name| {
            headers
                .get(name)
                .map(|value: &HeaderValue| value.to_str().unwrap_or("?"))
        };
        let is_ours = |origin: &str| {
            let host = origin.split_once("://").map(|(_, host)| host);
            host.is_some_and(|host| {
                self.hosts
                    .iter()
                    .any(|ours| ours.eq_ignore_ascii_case(host))
            })
        };
        let site = text("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
        site && text(header::ORIGIN.as_str()).is_none_or(is_ours)
    }

    fn is_known(&self, headers: &HeaderMap) -> bool {
        let authorization = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        match authorization.and_then(|text| text.split_once(' ')) {
            Some(("Bearer", token)) => return is_same(token, &self.bearer),
            Some(("Basic", text)) => return self.is_password(text),
            _ => {}
        }
        let cookies = headers.get_all(header::COOKIE).iter();
        let mut cookies = cookies
            .filter_map(|value| value.to_str().ok())
            .flat_map(|text| text.split(';'));
        cookies.any(|cookie| {
            let value = cookie
                .trim()
                .strip_prefix(COOKIE)
                .and_then(|rest| rest.strip_prefix('='));
            value.is_some_and(|value| {
                self.secrets()
                    .sessions
                    .iter()
                    .any(|known| is_same(value, known))
            })
        })
    }

    fn is_password(&self, text: &str) -> bool {
        let given = BASE64_STANDARD.decode(text.trim()).unwrap_or_default();
        let given = String::from_utf8_lossy(&given);
        self.password
            .as_ref()
            .is_some_and(|password| is_same(&given, &format!("{USER}:{password}")))
    }
}

/// A random token of 256 bits.
fn random() -> io::Result<String> {
    let mut bytes = [0; 32];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Compares hashes: the time tells nothing about the secret.
fn is_same(given: &str, secret: &str) -> bool {
    let digest = |text: &str| ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest(given).as_ref() == digest(secret).as_ref()
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")
}

/// Refuses what is not ours to answer, and takes the token of a link.
pub async fn check(
    State(access): State<Arc<Access>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let headers = request.headers();
    if !access.names_us(headers) {
        return Refusal::forbidden(
            "this server does not have the name by which it was asked: open the link that it printed, or start it with --host NAME",
        )
        .into_response();
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_navigation = reads
        && headers
            .get("sec-fetch-mode")
            .is_some_and(|mode| mode == "navigate");
    // A link on another site may open the page, and cannot read it.
    if !is_navigation && !access.is_of_our_page(headers) {
        return Refusal::forbidden("requests of other sites are refused").into_response();
    }
    if let Some(token) = token_of(request.uri()) {
        return match access.redeem(token) {
            Some(cookie) => {
                announce(&access);
                let to_page = [
                    (header::LOCATION, HeaderValue::from_static("/")),
                    (header::SET_COOKIE, cookie),
                ];
                (StatusCode::SEE_OTHER, to_page).into_response()
            }
            None if access.is_known(headers) => {
                (StatusCode::SEE_OTHER, [(header::LOCATION, "/")]).into_response()
            }
            None => unknown(&access),
        };
    }
    if !access.is_known(headers) {
        return unknown(&access);
    }
    if access.read_only && !reads {
        return Refusal::forbidden("this server only shows (--read-only)").into_response();
    }
    next.run(request).await
}

/// The token of a link: only at the root.
fn token_of(uri: &Uri) -> Option<&str> {
    let query = uri.query().filter(|_| uri.path() == "/")?;
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))
}

/// Prints a link for the next browser.
fn announce(access: &Access) {
    if let Ok(link) = access.link() {
        say(&format!("the link was used; for another browser: {link}"));
    }
}

fn unknown(access: &Access) -> Response {
    let refusal = Refusal::new(
        StatusCode::UNAUTHORIZED,
        "open the link that `tare serve` printed; scripts send the token of the file that it named (Authorization: Bearer)",
    );
    let mut response = refusal.into_response();
    if access.password.is_some() {
        let ask = HeaderValue::from_static("Basic realm=\"Tare\", charset=\"UTF-8\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, ask);
    }
    response
}
