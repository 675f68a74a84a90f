//! Who may ask: the host named, the origin of the request, and a token, cookie or password.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tare_record::api::{Caller, LinkReply};

use crate::attempts::{Attempt, LoginAttempts};
use crate::audit::AuditLog;
use crate::connections::ConnectionPeer;
use crate::error::Refusal;
use crate::routes::API;
use crate::sessions::{self, BrowserSessions, LINK_AGE_MAX, SESSION_AGE_MAX, is_same, random};

/// The user of HTTP basic authentication.
const USER: &str = "tare";
/// The session of the browser that asks, below the API.
pub const SESSION_PATH: &str = "/session";

/// What identifies those who may ask, and what they changed.
pub struct Access {
    /// Names under which the server may be addressed, with and without the port.
    hosts: Vec<String>,
    /// Address of the page, for links.
    origin: String,
    /// Name of the cookie: browsers send a cookie to all ports of a host, and two servers have two.
    cookie: String,
    is_tls: bool,
    read_only: bool,
    bearer: String,
    password: Option<String>,
    sessions: BrowserSessions,
    attempts: LoginAttempts,
    pub audit: AuditLog,
}

/// How the server is addressed.
pub struct PageAddress<'a> {
    pub host: String,
    pub port: u16,
    pub is_tls: bool,
    pub more_hosts: &'a [String],
    pub read_only: bool,
}

/// Whether those who ask are known.
enum Identity {
    Known(Caller),
    /// No secret was given, or only that of a session that has ended.
    Missing,
    /// A wrong one, and what it is.
    Wrong(&'static str),
    /// One that was not looked at, and the time to wait.
    TooMany(Duration),
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
        // The prefix has browsers take it over TLS only, for this host alone. (RFC 6265bis, 4.1.3)
        let prefix = if address.is_tls { "__Host-" } else { "" };
        let access = Access {
            origin: format!("{scheme}://{}", with_port(&address.host)),
            hosts,
            cookie: format!("{prefix}tare-{}", address.port),
            is_tls: address.is_tls,
            read_only: address.read_only,
            bearer,
            password,
            sessions: BrowserSessions::default(),
            attempts: LoginAttempts::default(),
            audit: AuditLog::new(own),
        };
        Ok((access, path))
    }

    /// A link with a new token, which opens the page once; the one before does not any more.
    pub fn link(&self) -> io::Result<LinkReply> {
        let token = self.sessions.new_link(sessions::now())?;
        Ok(LinkReply {
            link: format!("{}/?token={token}", self.origin),
            expires_s: LINK_AGE_MAX.as_secs(),
        })
    }

    /// Whether browsers may be told to ask this host by HTTPS only, on all its ports: where the server has that of HTTPS, and not where
    /// others beside it serve pages, too. (RFC 6797, 8.3)
    pub fn has_all_of_its_host(&self) -> bool {
        self.is_tls && self.origin.ends_with(":443")
    }

    pub fn read_only(&self) -> bool {
        self.read_only
    }

    /// Ends the session of a caller: the cookie that ends it in the browser, too.
    pub fn sign_out(&self, caller: &Caller) -> Option<HeaderValue> {
        let Caller::Session { id } = caller else {
            return None;
        };
        self.sessions.end(id);
        self.set_cookie("", Duration::ZERO)
    }

    fn set_cookie(&self, value: &str, age: Duration) -> Option<HeaderValue> {
        let secure = if self.is_tls { "; Secure" } else { "" };
        let text = format!(
            "{}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{secure}",
            self.cookie,
            age.as_secs()
        );
        text.parse().ok()
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

    fn identify(&self, headers: &HeaderMap, peer: &ConnectionPeer) -> Identity {
        let authorization = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        match authorization.and_then(|text| text.split_once(' ')) {
            Some(("Bearer", token)) if is_same(token, &self.bearer) => {
                return Identity::Known(Caller::Token);
            }
            Some(("Bearer", _)) => return self.wrong(peer, "a wrong token"),
            Some(("Basic", text)) => {
                return match self.attempt(peer, || self.is_password(text)) {
                    Attempt::Right => Identity::Known(Caller::Password),
                    Attempt::Wrong => Identity::Wrong("a wrong password"),
                    Attempt::TooMany(wait) => Identity::TooMany(wait),
                };
            }
            _ => {}
        }
        let cookies = headers.get_all(header::COOKIE).iter();
        let mut cookies = cookies
            .filter_map(|value| value.to_str().ok())
            .flat_map(|text| text.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='));
        let session = cookies.find_map(|(name, value)| {
            (name == self.cookie)
                .then(|| self.sessions.find(value, sessions::now()))
                .flatten()
        });
        // The cookie of a session that has ended is no attempt.
        session.map_or(Identity::Missing, |id| {
            Identity::Known(Caller::Session { id })
        })
    }

    fn attempt(&self, peer: &ConnectionPeer, is_right: impl FnOnce() -> bool) -> Attempt {
        self.attempts
            .attempt(peer.network(), sessions::now(), is_right)
    }

    /// A secret that was wrong. Those that are too long to be guessed are looked at whatever was tried before.
    fn wrong(&self, peer: &ConnectionPeer, what: &'static str) -> Identity {
        match self.attempt(peer, || false) {
            Attempt::TooMany(wait) => Identity::TooMany(wait),
            _ => Identity::Wrong(what),
        }
    }

    fn is_password(&self, text: &str) -> bool {
        let given = BASE64_STANDARD.decode(text.trim()).unwrap_or_default();
        let given = String::from_utf8_lossy(&given);
        self.password
            .as_ref()
            .is_some_and(|password| is_same(&given, &format!("{USER}:{password}")))
    }

    /// Refuses who is not known.
    fn refuse(&self, identity: &Identity, request: &Request, peer: &ConnectionPeer) -> Response {
        let (refusal, what) = match identity {
            Identity::TooMany(wait) => {
                let seconds = wait.as_secs() + 1;
                let text = format!("too many wrong passwords or tokens: wait {seconds} seconds");
                let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, text);
                (refusal.retry_after(seconds), Some("too many attempts"))
            }
            other => {
                let text = "open the link that `tare serve` printed, which is good once and for 15 minutes (another one: \
                            docs/SERVER.md); scripts send the token of the file that it named (Authorization: Bearer)";
                let what = match other {
                    Identity::Wrong(what) => Some(*what),
                    _ => None,
                };
                (Refusal::new(StatusCode::UNAUTHORIZED, text), what)
            }
        };
        if let Some(what) = what {
            let (method, path) = (request.method(), request.uri().path());
            self.audit
                .failed(peer.address, method, path, what, refusal.status);
        }
        let mut response = refusal.into_response();
        if self.password.is_some() && response.status() == StatusCode::UNAUTHORIZED {
            let ask = HeaderValue::from_static("Basic realm=\"Tare\", charset=\"UTF-8\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, ask);
        }
        response
    }
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

/// Refuses what is not ours to answer, takes the token of a link, and logs what changes something.
pub async fn check(
    State(access): State<Arc<Access>>,
    mut request: Request<Body>,
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
    let Some(peer) = request.extensions().get::<ConnectionPeer>().cloned() else {
        return Refusal::failed("a defect of Tare: nobody knows who asks").into_response();
    };
    if let Some(token) = token_of(request.uri()) {
        return redeem(&access, token, &request, &peer);
    }
    let caller = match access.identify(headers, &peer) {
        Identity::Known(caller) => caller,
        other => return access.refuse(&other, &request, &peer),
    };
    request.extensions_mut().insert(caller.clone());
    // A plan is asked for with a body, and changes nothing.
    if reads || request.uri().path().ends_with("/plan") && !access.read_only {
        return next.run(request).await;
    }
    // It is done and logged also when whoever asks goes away meanwhile.
    let done = tokio::spawn(async move {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let line = access.audit.line(peer.address, caller, &method, &path);
        request.extensions_mut().insert(line.subject.clone());
        let is_own = path
            .strip_prefix(API)
            .is_some_and(|path| path == SESSION_PATH);
        let response = match access.read_only && !is_own {
            true => Refusal::forbidden("this server only shows (--read-only)").into_response(),
            false => next.run(request).await,
        };
        line.answered(&response);
        response
    });
    done.await
        .unwrap_or_else(|_| Refusal::failed("a defect of Tare, or it ends").into_response())
}

/// Takes the token of a link: a session, as a cookie.
fn redeem(access: &Access, token: &str, request: &Request, peer: &ConnectionPeer) -> Response {
    let to_page = (header::LOCATION, HeaderValue::from_static("/"));
    if let Some((secret, id)) = access.sessions.redeem(token, sessions::now()) {
        let cookie = access.set_cookie(&secret, SESSION_AGE_MAX);
        let response = (
            StatusCode::SEE_OTHER,
            [to_page],
            cookie.map(|cookie| [(header::SET_COOKIE, cookie)]),
            (),
        )
            .into_response();
        let caller = Caller::Session { id };
        let line = access.audit.line(peer.address, caller, &Method::GET, "/");
        line.answered(&response);
        return response;
    }
    match access.identify(request.headers(), peer) {
        // The same link again, as browsers remember it.
        Identity::Known(_) => (StatusCode::SEE_OTHER, [to_page]).into_response(),
        Identity::Missing => {
            let wrong = access.wrong(peer, "a link that is not good any more");
            access.refuse(&wrong, request, peer)
        }
        other => access.refuse(&other, request, peer),
    }
}

/// The token of a link: only at the root.
fn token_of(uri: &Uri) -> Option<&str> {
    let query = uri.query().filter(|_| uri.path() == "/")?;
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_told_to_use_https_only_where_the_server_has_its_port() {
        let own = tempfile::tempdir().unwrap();
        for (port, is_tls, is_told) in [(443, true, true), (7979, true, false), (443, false, false)]
        {
            let address = PageAddress {
                host: "tare.example".to_owned(),
                port,
                is_tls,
                more_hosts: &[],
                read_only: false,
            };
            let (access, _) = Access::new(&address, own.path(), None).unwrap();
            assert_eq!(access.has_all_of_its_host(), is_told, "{port} {is_tls}");
        }
    }
}
