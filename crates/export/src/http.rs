//! One POST request over a connection of its own, with limits of time and size.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use tare_record::load::Trust;

/// Longest wait for a connection and an answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Largest answer.
const ANSWER_BYTES_MAX: u64 = 256 << 10;
/// Most header fields of an answer.
const FIELDS_MAX: usize = 64;

/// An address that takes requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    is_tls: bool,
    host: String,
    port: u16,
    path: String,
}

/// An answer.
#[derive(Debug)]
pub struct CollectorAnswer {
    pub status: u16,
    pub body: String,
}

impl Url {
    /// Parses `http://host:port/path` or `https://…`. What is wrong is said without the text, which may have a password.
    pub fn parse(text: &str) -> Result<Url, String> {
        let wrong = "it has the form http://HOST:PORT or https://HOST:PORT/PATH".to_owned();
        let (scheme, rest) = text.split_once("://").ok_or(wrong.clone())?;
        let is_tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(wrong),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(
                "a password does not belong into a URL: name it in OTEL_EXPORTER_OTLP_HEADERS"
                    .to_owned(),
            );
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) || path.contains('#') {
            return Err(wrong);
        }
        let after_brackets = authority.rfind(']').map_or(0, |end| end + 1);
        let (host, port) = match authority[after_brackets..].rfind(':') {
            Some(colon) => {
                let (host, port) = authority.split_at(after_brackets + colon);
                (host, port[1..].parse().map_err(|_| wrong.clone())?)
            }
            None => (authority, if is_tls { 443 } else { 80 }),
        };
        if host.is_empty() {
            return Err(wrong);
        }
        Ok(Url {
            is_tls,
            host: host.to_owned(),
            port,
            path: format!("/{path}"),
        })
    }

    /// The same with this at the end of its path, unless it is there.
    pub fn ending_with(mut self, path: &str) -> Url {
        if !self.path.ends_with(path) {
            self.path = self.path.trim_end_matches('/').to_owned() + path;
        }
        self
    }

    fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        let Url {
            host, port, path, ..
        } = self;
        write!(f, "{scheme}://{host}:{port}{path}")
    }
}

/// Sends JSON. `headers` have been checked for line breaks.
pub fn post(
    url: &Url,
    trust: &Trust,
    headers: &[(String, String)],
    json: &str,
) -> Result<CollectorAnswer, String> {
    let deadline = Instant::now() + TIMEOUT;
    let stream = connect(url)?;
    let Url {
        host, port, path, ..
    } = url;
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n",
        json.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    request.push_str(json);
    match url.is_tls {
        false => exchange(stream, &request, deadline),
        true => {
            let name = ServerName::try_from(url.bare_host().to_owned());
            let name = name.map_err(|error| error.to_string())?;
            let client = ClientConnection::new(tls(trust)?, name);
            let client = client.map_err(|error| error.to_string())?;
            exchange(StreamOwned::new(client, stream), &request, deadline)
        }
    }
}

fn connect(url: &Url) -> Result<TcpStream, String> {
    let addresses = (url.bare_host(), url.port).to_socket_addrs();
    let addresses = addresses.map_err(|error| error.to_string())?;
    let mut last = String::from("the name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => {
                let set = stream
                    .set_read_timeout(Some(TIMEOUT))
                    .and_then(|()| stream.set_write_timeout(Some(TIMEOUT)));
                return set.map(|()| stream).map_err(|error| error.to_string());
            }
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

fn tls(trust: &Trust) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = tare_tls::verifier(trust, &provider).map_err(|error| error.to_string())?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn exchange(
    mut stream: impl Read + Write,
    request: &str,
    deadline: Instant,
) -> Result<CollectorAnswer, String> {
    stream
        .write_all(request.as_bytes())
        .and_then(|()| stream.flush())
        .map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 << 10];
    loop {
        if bytes.len() as u64 > ANSWER_BYTES_MAX {
            return Err("its answer is too large".to_owned());
        }
        if Instant::now() > deadline {
            return Err(format!("no answer within {} s", TIMEOUT.as_secs()));
        }
        if is_whole(&bytes) {
            break;
        }
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            // A peer that ends TLS without saying so has answered all the same.
            Err(_) if head(&bytes).is_some() => break,
            Err(error) => return Err(error.to_string()),
        }
    }
    let (status, at, _) = head(&bytes).ok_or("its answer is not HTTP")?;
    Ok(CollectorAnswer {
        status,
        body: String::from_utf8_lossy(&bytes[at..]).into_owned(),
    })
}

/// Status, place of the body, and its length if it is said.
fn head(bytes: &[u8]) -> Option<(u16, usize, Option<usize>)> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut answer = httparse::Response::new(&mut fields);
    let httparse::Status::Complete(at) = answer.parse(bytes).ok()? else {
        return None;
    };
    let mut fields = answer.headers.iter();
    let length = fields.find(|field| field.name.eq_ignore_ascii_case("content-length"));
    let length =
        length.and_then(|field| std::str::from_utf8(field.value).ok()?.trim().parse().ok());
    Some((answer.code?, at, length))
}

fn is_whole(bytes: &[u8]) -> bool {
    head(bytes).is_some_and(|(_, at, length)| {
        length.is_some_and(|length: usize| bytes.len() - at >= length)
    })
}

/// Names a file of authorities, or the system's.
pub fn trust(cacert: Option<&PathBuf>) -> Trust {
    match cacert {
        Some(path) => Trust::File {
            path: path.display().to_string(),
        },
        None => Trust::System,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_its_default_port_and_no_password() {
        let of =
            |text: &str| Url::parse(text).map(|url| url.ending_with("/v1/metrics").to_string());
        for (text, whole) in [
            ("http://a", "http://a:80/v1/metrics"),
            ("https://a/", "https://a:443/v1/metrics"),
            ("http://[::1]:4318", "http://[::1]:4318/v1/metrics"),
            ("http://a:1/x/v1/metrics", "http://a:1/x/v1/metrics"),
            (
                "http://a:1/api/v1/otlp/",
                "http://a:1/api/v1/otlp/v1/metrics",
            ),
        ] {
            assert_eq!(of(text).unwrap(), whole);
        }
        for text in ["a:1", "ftp://a", "http://", "http://a:x", "http://a/ b"] {
            assert!(of(text).unwrap_err().contains("the form"), "{text}");
        }
        let refused = of("http://u:secret@a").unwrap_err();
        assert!(!refused.contains("secret"), "{refused}");
    }

    #[test]
    fn an_answer_is_whole_when_its_length_is_there() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert!(is_whole(text) && !is_whole(&text[..text.len() - 1]));
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\n\r\n"));
        assert!(!is_whole(b"nonsense"));
    }
}
