//! One line of a list: an access log's, a URL or a path.

use std::borrow::Cow;

use serde_json::Value;

/// Methods of HTTP (RFC 9110 §9, RFC 5789) and WebDAV that logs have.
const METHODS: [&str; 12] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "PROPFIND",
    "REPORT", "PURGE",
];

/// The request that a line describes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    pub(super) method: Cow<'a, str>,
    /// `http://host:port` of a whole URL.
    pub(super) base: Option<String>,
    /// Path and query, as a request line can have them.
    pub(super) path: String,
}

/// Reads the request of a line: the first method followed by a path or URL, as in the logs of nginx, Apache, Envoy, HAProxy, IIS and
/// Squid; the fields of a JSON object; or a path or URL alone, which is for GET.
pub(super) fn asked(line: &str) -> Option<Asked<'_>> {
    let line = line.trim();
    if line.starts_with('{') {
        return of_json(line);
    }
    if let Some((method, target)) = of_log(line) {
        return of_target(Cow::Borrowed(method), target);
    }
    let is_alone = !line.contains(char::is_whitespace);
    match is_alone {
        true => of_target(Cow::Borrowed("GET"), line),
        false => None,
    }
}

/// Where the request is in the lines of a log in W3C's extended format, as IIS and CloudFront write it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    method: usize,
    stem: usize,
    query: Option<usize>,
}

impl Fields {
    /// Of a line `#Fields: …`; `None` if that is something else.
    pub(super) fn of(line: &str) -> Option<Self> {
        let names = line.strip_prefix("#Fields:")?;
        let at = |wanted: &str| names.split_whitespace().position(|name| name == wanted);
        Some(Self {
            method: at("cs-method")?,
            stem: at("cs-uri-stem")?,
            query: at("cs-uri-query"),
        })
    }

    /// Reads the request of a line.
    pub(super) fn asked(self, line: &str) -> Option<Asked<'_>> {
        let field = |at: usize| line.split_whitespace().nth(at);
        let method = field(self.method)?;
        let query = self.query.and_then(field).filter(|query| *query != "-");
        let target = match query {
            Some(query) => Cow::Owned(format!("{}?{query}", field(self.stem)?)),
            None => Cow::Borrowed(field(self.stem)?),
        };
        of_target(Cow::Borrowed(method), &target)
    }
}

/// The method and the target in a line of text.
fn of_log(line: &str) -> Option<(&str, &str)> {
    let mut rest = line;
    loop {
        let word = rest.split_whitespace().next()?;
        let at = rest.find(word)?;
        let behind = &rest[at + word.len()..];
        let bare = word.trim_start_matches('"');
        if METHODS.contains(&bare) {
            let behind = behind.trim_start();
            let target = match word.starts_with('"') {
                true => quoted(behind),
                false => behind.split_whitespace().next().unwrap_or_default(),
            };
            if target.starts_with('/') || target.contains("://") {
                return Some((bare, target));
            }
        }
        rest = behind;
    }
}

/// The target of `"GET TARGET HTTP/1.1"`, which may have spaces in it.
fn quoted(text: &str) -> &str {
    let mut is_escaped = false;
    let end = text.find(|c| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    let request = &text[..end.unwrap_or(text.len())];
    match request.rsplit_once(" HTTP/") {
        Some((target, _)) => target,
        None => request,
    }
}

/// The request of a JSON object, in the fields of nginx, Envoy, Caddy and Traefik.
fn of_json(line: &str) -> Option<Asked<'_>> {
    const METHOD: [&str; 4] = ["method", "request_method", "RequestMethod", "http_method"];
    const TARGET: [&str; 6] = [
        "path",
        "uri",
        "request_uri",
        "url",
        "RequestPath",
        "http_path",
    ];
    let line: Value = serde_json::from_str(line).ok()?;
    let request = line.get("request");
    if let Some((method, target)) = request.and_then(Value::as_str).and_then(of_log) {
        return of_target(Cow::Owned(method.to_owned()), target);
    }
    let object = request.filter(|inner| inner.is_object()).unwrap_or(&line);
    let first = |names: &[&str]| {
        let mut found = names.iter().filter_map(|name| object.get(*name)?.as_str());
        found.next()
    };
    let method = first(&METHOD).unwrap_or("GET").to_owned();
    of_target(Cow::Owned(method), first(&TARGET)?)
}

/// Splits a target into the server and what is sent to it.
fn of_target<'a>(method: Cow<'a, str>, target: &str) -> Option<Asked<'a>> {
    let target = target.split('#').next().unwrap_or_default();
    let (base, path) = match target.find("://") {
        _ if target.starts_with('/') => (None, target),
        Some(at) => {
            let host = &target[at + 3..];
            let end = host.find(['/', '?']).unwrap_or(host.len());
            if end == 0 {
                return None;
            }
            (Some(target[..at + 3 + end].to_owned()), &host[end..])
        }
        None => return None,
    };
    let slash = if path.starts_with('/') { "" } else { "/" };
    let path = format!("{slash}{}", percent_encoded(&unescaped(path)));
    Some(Asked { method, base, path })
}

/// A path as the client of a log sent it: without the escapes of the log (`\x22`, `\"`).
fn unescaped(path: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'x') => {
                    let digits = [bytes.next(), bytes.next()].map(Option::unwrap_or_default);
                    let digits = std::str::from_utf8(&digits).unwrap_or_default();
                    u8::from_str_radix(digits, 16).unwrap_or(b'?')
                }
                escaped => escaped.unwrap_or(byte),
            },
            byte => byte,
        });
    }
    out
}

/// Percent-encodes what no request line can have: spaces, control characters and letters beyond ASCII.
#[must_use]
pub fn percent_encoded(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len());
    for &byte in path {
        match byte {
            b'!'..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The route of a path: without its query, and with `id` for every number and every word of eight or more hexadecimal digits. A
/// version such as `v2` stays.
pub(super) fn route(path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    let mut out = String::with_capacity(path.len());
    for (at, segment) in path.split('/').enumerate() {
        if at > 0 {
            out.push('/');
        }
        let is_version = segment.len() < 4
            && segment.strip_prefix('v').is_some_and(|number| {
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
            });
        match is_version {
            true => out.push_str(segment),
            false => without_ids(segment, &mut out),
        }
    }
    out
}

/// Appends a segment in which numbers are `id`.
fn without_ids(segment: &str, out: &mut String) {
    let is_hex = |word: &str| {
        word.len() >= 8
            && word.bytes().all(|byte| byte.is_ascii_hexdigit())
            && word.bytes().any(|byte| byte.is_ascii_digit())
    };
    let is_uuid = segment.len() == 36 && segment.split('-').count() == 5;
    if is_hex(segment) || (is_uuid && segment.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())) {
        return out.push_str("id");
    }
    let mut rest = segment;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let behind = &rest[at..];
        let end = behind.find(|c: char| !c.is_ascii_digit());
        out.push_str(&rest[..at]);
        out.push_str("id");
        rest = &behind[end.unwrap_or(behind.len())..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> String {
        match asked(line) {
            Some(Asked { method, base, path }) => {
                format!("{method} {}{path}", base.unwrap_or_default())
            }
            None => String::from("-"),
        }
    }

    #[test]
    fn the_request_of_a_line_is_found_in_the_formats_of_servers() {
        let combined = r#"1.2.3.4 - bob [10/Oct/2000:13:55:36 -0700] "GET /a b.gif?x=1 HTTP/1.0" 200 2326 "http://e.org/s" "GET /no x""#;
        for (line, expected) in [
            (combined, "GET /a%20b.gif?x=1"),
            (
                r#"[2026-01-01T00:00:00.0Z] "HEAD /v1/x HTTP/2" 200 - 0 12"#,
                "HEAD /v1/x",
            ),
            (
                r#"haproxy[1]: 10.0.0.1:1 [t] f b/s 0/0/1 200 3 - - ---- 1/1 0/0 {a|} "GET /h HTTP/1.1""#,
                "GET /h",
            ),
            (
                "2026-01-01 00:00:00 10.0.0.1 GET /iis.aspx id=1 80 - 1.1.1.1 M 200",
                "GET /iis.aspx",
            ),
            (
                "1.1 1 10.1.1.1 TCP_MISS/200 5 GET http://h.org/s - DIRECT/1 t",
                "GET http://h.org/s",
            ),
            (
                r#"h2 t app/x 1.1:1 "POST https://e.org:443/x HTTP/2.0" "curl" "#,
                "POST https://e.org:443/x",
            ),
            ("/plain?q=ü", "GET /plain?q=%C3%BC"),
            ("http://127.0.0.1:1", "GET http://127.0.0.1:1/"),
            ("https://h?x#f", "GET https://h/?x"),
            ("GET http://h/x", "GET http://h/x"),
            (
                r#"{"method":"GET","path":"/e?x","response_code":200}"#,
                "GET /e?x",
            ),
            (
                r#"{"request":{"method":"PUT","uri":"/c","headers":{}}}"#,
                "PUT /c",
            ),
            (r#"{"request":"GET /n HTTP/1.1","status":"200"}"#, "GET /n"),
            (r#"{"RequestMethod":"GET","RequestPath":"/t"}"#, "GET /t"),
            (r#"1 - - [t] "GET /q\x22\"\\ HTTP/1.1" 200"#, r#"GET /q""\"#),
            (r#"1 - - [t] "\x16\x03\x01" 400 0 "-" "-""#, "-"),
            (r#"1 - - [t] "-" 408 0"#, "-"),
            ("some words", "-"),
            ("word", "-"),
            ("{}", "-"),
            ("http:///x", "-"),
        ] {
            assert_eq!(found(line), expected, "{line}");
        }
    }

    #[test]
    fn a_log_that_names_its_fields_is_read_by_them() {
        let cloudfront = "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query";
        let line = "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td1.cloudfront.net\t/index.html\t200\t-\tMozilla/5.0\ta=1&b";
        let found = |fields: &str, line: &str| Fields::of(fields)?.asked(line).map(|one| one.path);
        assert_eq!(
            found(cloudfront, line).as_deref(),
            Some("/index.html?a=1&b")
        );
        let iis = "#Fields: date time cs-method cs-uri-stem cs-uri-query";
        assert_eq!(found(iis, "d t HEAD /x.aspx -").as_deref(), Some("/x.aspx"));
        assert_eq!(found(iis, "d t HEAD"), None);
        assert!(Fields::of("#Fields: date time").is_none());
    }

    #[test]
    fn a_route_has_no_query_and_no_ids() {
        for (path, expected) in [
            ("/items/17/parts/4?x=9", "/items/id/parts/id"),
            ("/api/v2/u/deadbeef01", "/api/v2/u/id"),
            ("/o/123e4567-e89b-12d3-a456-426614174000", "/o/id"),
            ("/img-1200x800.png", "/img-idxid.png"),
            ("/facade", "/facade"),
            ("/", "/"),
        ] {
            assert_eq!(route(path), expected, "{path}");
        }
    }
}
