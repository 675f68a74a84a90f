//! Minimal HTTP/1.1 client: one request per connection, with limits of time and size.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::connector::Connector;
use crate::environment::HttpResponse;
use crate::render::Login;

/// Maximum size of a response; Envoy's full statistics are about 1 MB.
const PAGE_BYTES_MAX: usize = 32 << 20;
/// Prefix of an authority that is a Unix socket.
pub(crate) const SOCKET: &str = "unix:";
/// Most header fields of a response.
const FIELDS_MAX: usize = 1000;

/// Sends a GET request over a new connection.
pub(crate) fn get(
    connector: &Connector,
    url: &str,
    within: Duration,
) -> Result<HttpResponse, String> {
    get_or_post(connector, url, RequestOptions::default(), within)
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestOptions<'a> {
    /// JSON body of a POST request; `None`: GET.
    pub(crate) json_body: Option<&'a str>,
    /// Credentials.
    pub(crate) login: Option<&'a Login>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) address: SocketAddr,
    /// `Host` header.
    pub(crate) host: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) body: &'a [u8],
}

/// Sends a request over a new connection.
pub(crate) fn send(
    connector: &Connector,
    request: &Request<'_>,
    within: Duration,
) -> Result<HttpResponse, String> {
    let bytes = message(
        [request.method, request.path, request.host],
        request.headers,
        request.body,
    )?;
    let deadline = Instant::now() + within;
    let stream = connect_to(connector, &request.address.to_string(), within)?;
    exchange(&mut &stream, &stream, &bytes, deadline, within)
}

/// Sends a POST request with JSON over a connection that is there, such as one of TLS over this socket.
///
/// # Errors
/// When there is no whole response in time, as text.
pub fn post_json_over(
    stream: &mut (impl Read + Write),
    socket: &TcpStream,
    (host, path): (&str, &str),
    headers: &[(String, String)],
    json: &str,
    within: Duration,
) -> Result<HttpResponse, String> {
    let content_type = ("Content-Type".to_owned(), "application/json".to_owned());
    let headers = [headers, &[content_type]].concat();
    let request = message(["POST", path, host], &headers, json.as_bytes())?;
    exchange(stream, socket, &request, Instant::now() + within, within)
}

/// A request as it is sent.
pub(crate) fn message(
    line: [&str; 3],
    headers: &[(String, String)],
    body: &[u8],
) -> Result<Vec<u8>, String> {
    let [method, path, host] = line;
    let texts = headers.iter();
    let mut texts = texts.flat_map(|(name, value)| [name.as_str(), value.as_str()]);
    if texts.any(breaks_lines) || line.into_iter().any(breaks_lines) {
        return Err(String::from(
            "a control character stands in the request: take it out",
        ));
    }
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() || method != "GET" {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    Ok([head.as_bytes(), body].concat())
}

impl RequestOptions<'_> {
    fn message(&self, host: &str, path: &str) -> Result<Vec<u8>, String> {
        let mut headers = vec![("Accept".to_owned(), "*/*".to_owned())];
        if let Some(login) = self.login {
            headers.push(("Authorization".to_owned(), login.credentials()));
        }
        if self.json_body.is_some() {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        let method = self.json_body.map_or("GET", |_| "POST");
        let body = self.json_body.unwrap_or_default().as_bytes();
        message([method, path, host], &headers, body)
    }
}

fn breaks_lines(text: &str) -> bool {
    text.chars().any(|c| c.is_ascii_control() && c != '\t')
}

/// The same as [`get`], with options.
pub(crate) fn get_or_post(
    connector: &Connector,
    url: &str,
    options: RequestOptions<'_>,
    within: Duration,
) -> Result<HttpResponse, String> {
    let (authority, path) = split(url)?;
    let deadline = Instant::now() + within;
    let named = |reason: String| format!("{url}: {reason}");
    let socket = authority.strip_prefix(SOCKET);
    let (host, stream) = match socket {
        Some(_) => ("localhost", connect_to(connector, authority, within)),
        None => (authority, connect(connector, url, authority, within)),
    };
    let stream = stream?;
    let request = options.message(host, path).map_err(named)?;
    exchange(&mut &stream, &stream, &request, deadline, within).map_err(named)
}

/// The same at an address that has been looked up already, with this `Host` header.
pub(crate) fn get_or_post_at(
    address: SocketAddr,
    (host, path): (&str, &str),
    options: RequestOptions<'_>,
    within: Duration,
) -> Result<HttpResponse, String> {
    let request = options.message(host, path)?;
    let deadline = Instant::now() + within;
    let stream = connect_to(&Connector::Host, &address.to_string(), within)?;
    exchange(&mut &stream, &stream, &request, deadline, within)
}

/// Sends a request and reads the response up to the end of the connection. The socket of the stream has the time limits.
pub(crate) fn exchange(
    stream: &mut (impl Read + Write),
    socket: &TcpStream,
    request: &[u8],
    deadline: Instant,
    within: Duration,
) -> Result<HttpResponse, String> {
    let failed = |what: &str, error: &std::io::Error| format!("{what}: {error}");
    stream
        .write_all(request)
        .and_then(|()| stream.flush())
        .map_err(|error| failed("cannot ask", &error))?;
    let mut bytes = Vec::new();
    let mut chunk = [0_u8; 16 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(format!(
                "no whole answer within {:.1} s",
                within.as_secs_f64()
            ));
        }
        socket
            .set_read_timeout(Some(left))
            .map_err(|error| failed("cannot wait", &error))?;
        let read = match stream.read(&mut chunk) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            // The read timed out: the next iteration returns the error.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            // The end of TLS was not said; whether the response is whole is seen below.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => 0,
            Err(error) => return Err(failed("cannot read", &error)),
        };
        if read == 0 {
            break;
        }
        bytes.extend_from_slice(&chunk[..read]);
        if bytes.len() > PAGE_BYTES_MAX {
            return Err(format!("the page is larger than {PAGE_BYTES_MAX} bytes"));
        }
    }
    parse(&bytes)
}

/// Authority (`address:port`, or `unix:` and the path of a socket) and path.
pub(crate) fn split(url: &str) -> Result<(&str, &str), String> {
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| format!("`{url}` is no http:// address"))?;
    let (authority, path) = if rest.starts_with(SOCKET) {
        rest.rsplit_once(':')
            .filter(|(authority, _)| authority.len() > SOCKET.len())
            .ok_or_else(|| format!("`{url}` names no socket: write http://unix:SOCKET:/PATH"))?
    } else {
        match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        }
    };
    if path.contains(|c: char| c.is_ascii_control() || c == ' ') {
        return Err(format!("`{url}` holds blanks; write %20"));
    }
    Ok((authority, path))
}

fn connect(
    connector: &Connector,
    url: &str,
    authority: &str,
    within: Duration,
) -> Result<TcpStream, String> {
    let address: SocketAddr = authority
        .to_socket_addrs()
        .ok()
        .and_then(|mut all| all.next())
        .ok_or_else(|| format!("`{url}` has no address with a port"))?;
    connect_to(connector, &address.to_string(), within).map_err(|reason| format!("{url}: {reason}"))
}

/// Connects to a Unix socket.
pub(crate) fn connect_within(socket: &str, within: Duration) -> Result<TcpStream, String> {
    let connected = || -> rustix::io::Result<_> {
        let at = SocketAddrUnix::new(socket)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let family = AddressFamily::UNIX;
        let stream = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        // Does not block: a server whose backlog is full is not ready.
        rustix::net::connect(&stream, &at)?;
        rustix::io::ioctl_fionbio(&stream, false)?;
        Ok(stream)
    };
    let stream = connected().map_err(|error| format!("no connection to {socket}: {error}"))?;
    // Timeouts, reads and writes are the same for every stream socket.
    let stream = TcpStream::from(stream);
    let limited = stream.set_write_timeout(Some(within));
    limited.map_err(|error| error.to_string())?;
    Ok(stream)
}

fn connect_to(connector: &Connector, to: &str, within: Duration) -> Result<TcpStream, String> {
    let stream = connector
        .open(to, within)
        .map_err(|error| format!("no connection: {error}"))?;
    let limited = stream.set_write_timeout(Some(within));
    limited.map_err(|error| error.to_string())?;
    Ok(stream)
}

/// Parses a complete response.
pub(crate) fn parse(bytes: &[u8]) -> Result<HttpResponse, String> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut head = httparse::Response::new(&mut fields);
    let mut parser = httparse::ParserConfig::default();
    parser.allow_obsolete_multiline_headers_in_responses(true);
    let httparse::Status::Complete(length) = parser
        .parse_response(&mut head, bytes)
        .map_err(|error| format!("no HTTP answer: {error}"))?
    else {
        return Err("the answer ends within its head".to_owned());
    };
    let body = &bytes[length..];
    let field = |name: &str| {
        head.headers
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name))
            .map(|field| {
                String::from_utf8_lossy(field.value)
                    .trim()
                    .to_ascii_lowercase()
            })
    };
    let text = if field("transfer-encoding").is_some_and(|coding| coding.ends_with("chunked")) {
        unchunk(body)?
    } else {
        match field("content-length").map(|length| length.parse::<usize>()) {
            Some(Ok(length)) if body.len() < length => {
                return Err("the answer was cut off".to_owned());
            }
            Some(Ok(length)) => body[..length].to_vec(),
            Some(Err(_)) => return Err("its content-length is not a number".to_owned()),
            None => body.to_vec(),
        }
    };
    Ok(HttpResponse {
        status: head.code.unwrap_or(0),
        text: String::from_utf8_lossy(&text).into_owned(),
    })
}

fn unchunk(mut body: &[u8]) -> Result<Vec<u8>, String> {
    let mut text = Vec::with_capacity(body.len());
    loop {
        let (start, length) = match httparse::parse_chunk_size(body) {
            Ok(httparse::Status::Complete(found)) => found,
            Ok(httparse::Status::Partial) => return Err("the answer was cut off".to_owned()),
            Err(_) => return Err("its chunked encoding is malformed".to_owned()),
        };
        if length == 0 {
            return Ok(text);
        }
        let end = usize::try_from(length)
            .ok()
            .and_then(|length| start.checked_add(length))
            .filter(|end| end.checked_add(2).is_some_and(|next| next <= body.len()))
            .ok_or("the answer was cut off")?;
        text.extend_from_slice(&body[start..end]);
        body = &body[end + 2..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_put_together() {
        let page = parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
        assert_eq!(page.unwrap().text, "abcde");
    }

    #[test]
    fn a_body_ends_with_its_length_or_with_the_connection() {
        let page = parse(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc").unwrap();
        assert_eq!(page.text, "ab");
        let page = parse(b"HTTP/1.0 503 No\r\n\r\nabc").unwrap();
        assert_eq!((page.status, page.text.as_str()), (503, "abc"));
    }

    #[test]
    fn a_cut_or_broken_answer_is_an_error() {
        for bytes in [
            &b""[..],
            b"HTTP/1.1 200 OK\r\nContent-Le",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nabc",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
            b"\x16\x03\x01\x00",
        ] {
            assert!(parse(bytes).is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn only_plain_http_addresses_are_read() {
        assert!(
            get(
                &Connector::Host,
                "https://127.0.0.1:1/",
                Duration::from_millis(10)
            )
            .is_err()
        );
        assert!(
            get(
                &Connector::Host,
                "http://127.0.0.1/",
                Duration::from_millis(10)
            )
            .is_err()
        );
        assert_eq!(split("http://127.0.0.1:1").unwrap(), ("127.0.0.1:1", "/"));
        let parts = split("http://unix:/run/t/3.a0:/stats?x=1").unwrap();
        assert_eq!(parts, ("unix:/run/t/3.a0", "/stats?x=1"));
        assert!(split("http://unix:/run").is_err());
    }

    #[test]
    fn a_page_is_read_from_a_socket_of_the_file_system_with_its_login() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a0");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let served = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 4096];
            let read = stream.read(&mut head).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nyes").unwrap();
            String::from_utf8_lossy(&head[..read]).into_owned()
        });
        let login = Login::random().unwrap();
        let options = RequestOptions {
            login: Some(&login),
            ..RequestOptions::default()
        };
        let url = format!("http://unix:{}:/stats", path.display());
        let page = get_or_post(&Connector::Host, &url, options, Duration::from_secs(30)).unwrap();
        assert_eq!((page.status, page.text.as_str()), (200, "yes"));
        let head = served.join().unwrap();
        assert!(head.starts_with("GET /stats HTTP/1.1\r\nHost: localhost\r\n"));
        let field = format!("Authorization: {}\r\n", login.credentials());
        assert!(head.contains(&field), "{head}");
        let gone = place.path().join("none").display().to_string();
        assert!(connect_within(&gone, Duration::from_secs(1)).is_err());
    }

    #[test]
    fn a_single_request_cannot_hold_a_second_one() {
        let headers = [(String::from("x"), String::from("1\r\ny: 2"))];
        let mut request = Request {
            address: SocketAddr::from(([127, 0, 0, 1], 1)),
            host: "server",
            method: "GET",
            path: "/ HTTP/1.1\r\n\r\nDELETE /",
            headers: &[],
            body: &[],
        };
        let sent = |request: &Request<'_>| {
            let said = send(&Connector::Host, request, Duration::from_millis(100));
            said.unwrap_err()
        };
        assert!(sent(&request).contains("control character"));
        request.path = "/";
        assert!(sent(&request).contains("no connection"));
        request.headers = &headers;
        assert!(sent(&request).contains("control character"));
    }
}
