//! Reads one page of an administration server, within limits of time and size.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use crate::door::Door;

/// The largest page worth reading; Envoy's full statistics are about 1 MB.
const PAGE_BYTES_MAX: usize = 32 << 20;
/// Header fields of one answer.
const FIELDS_MAX: usize = 64;

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// HTTP status.
    pub(crate) status: u16,
    /// Body; bytes that are not UTF-8 are replaced.
    pub(crate) text: String,
}

/// Gets a page over a connection of its own. The error is in words.
pub(crate) fn get(door: &Door, url: &str, within: Duration) -> Result<Page, String> {
    ask(door, url, None, within)
}

/// A request of any kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    /// Where to.
    pub(crate) address: SocketAddr,
    /// Host to name.
    pub(crate) host: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) body: &'a [u8],
}

/// Sends it over a connection of its own. The error is in words.
pub(crate) fn send(door: &Door, question: &Question<'_>, within: Duration) -> Result<Page, String> {
    let mut request = format!(
        "{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
        question.method, question.path, question.host
    );
    for (name, value) in question.headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    if !question.body.is_empty() || question.method != "GET" {
        request.push_str(&format!("Content-Length: {}\r\n", question.body.len()));
    }
    request.push_str("\r\n");
    let bytes = [request.as_bytes(), question.body].concat();
    let deadline = Instant::now() + within;
    let mut stream = connect_to(door, question.address, within)?;
    exchange(&mut stream, &bytes, deadline, within)
}

/// The same as [`get`], with a question in JSON that is posted.
pub(crate) fn ask(
    door: &Door,
    url: &str,
    question: Option<&str>,
    within: Duration,
) -> Result<Page, String> {
    let (authority, path) = split(url)?;
    let deadline = Instant::now() + within;
    let named = |reason: String| format!("{url}: {reason}");
    let mut stream = connect(door, url, authority, within)?;
    let head =
        format!("{path} HTTP/1.1\r\nHost: {authority}\r\nAccept: */*\r\nConnection: close\r\n");
    let request = match question {
        None => format!("GET {head}\r\n"),
        Some(question) => format!(
            "POST {head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{question}",
            question.len()
        ),
    };
    exchange(&mut stream, request.as_bytes(), deadline, within).map_err(named)
}

/// Sends a request and reads up to the end of the connection.
fn exchange(
    stream: &mut TcpStream,
    request: &[u8],
    deadline: Instant,
    within: Duration,
) -> Result<Page, String> {
    let failed = |what: &str, error: &std::io::Error| format!("{what}: {error}");
    stream
        .write_all(request)
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
        stream
            .set_read_timeout(Some(left))
            .map_err(|error| failed("cannot wait", &error))?;
        let read = match stream.read(&mut chunk) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            // The read timed out: the next turn says so.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
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

fn split(url: &str) -> Result<(&str, &str), String> {
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| format!("`{url}` is no http:// address"))?;
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    if path.contains(|c: char| c.is_ascii_control() || c == ' ') {
        return Err(format!("`{url}` holds blanks; write %20"));
    }
    Ok((authority, path))
}

fn connect(door: &Door, url: &str, authority: &str, within: Duration) -> Result<TcpStream, String> {
    let address: SocketAddr = authority
        .to_socket_addrs()
        .ok()
        .and_then(|mut all| all.next())
        .ok_or_else(|| format!("`{url}` has no address with a port"))?;
    connect_to(door, address, within).map_err(|reason| format!("{url}: {reason}"))
}

fn connect_to(door: &Door, address: SocketAddr, within: Duration) -> Result<TcpStream, String> {
    let stream = door
        .connect(address, within)
        .map_err(|error| format!("no connection: {error}"))?;
    let limited = stream.set_write_timeout(Some(within));
    limited.map_err(|error| error.to_string())?;
    Ok(stream)
}

/// Parses a whole answer that ended with the connection.
fn parse(bytes: &[u8]) -> Result<Page, String> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut head = httparse::Response::new(&mut fields);
    let httparse::Status::Complete(length) = head
        .parse(bytes)
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
            Some(Err(_)) => return Err("its content-length is no number".to_owned()),
            None => body.to_vec(),
        }
    };
    Ok(Page {
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
            Err(_) => return Err("its chunks are broken".to_owned()),
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
                &Door::Host,
                "https://127.0.0.1:1/",
                Duration::from_millis(10)
            )
            .is_err()
        );
        assert!(get(&Door::Host, "http://127.0.0.1/", Duration::from_millis(10)).is_err());
        assert_eq!(split("http://127.0.0.1:1").unwrap(), ("127.0.0.1:1", "/"));
    }
}
