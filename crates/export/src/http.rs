//! One POST request to a collector, over TCP or TLS.

use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use tare_lab::environment::HttpResponse;
use tare_lab::http::post_json_over;
use tare_record::load::Trust;

/// Longest wait for a connection and an answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// An address that takes requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    is_tls: bool,
    host: String,
    port: u16,
    path: String,
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

/// Sends JSON.
pub fn post(
    url: &Url,
    trust: &Trust,
    headers: &[(String, String)],
    json: &str,
) -> Result<HttpResponse, String> {
    let stream = connect(url)?;
    let host = format!("{}:{}", url.host, url.port);
    let to = (host.as_str(), url.path.as_str());
    if !url.is_tls {
        return post_json_over(&mut &stream, &stream, to, headers, json, TIMEOUT);
    }
    let name = ServerName::try_from(url.bare_host().to_owned());
    let name = name.map_err(|error| error.to_string())?;
    let client = ClientConnection::new(tls(trust)?, name);
    let client = client.map_err(|error| error.to_string())?;
    let mut over_tls = tare_tls::over(client, &stream);
    post_json_over(&mut over_tls, &stream, to, headers, json, TIMEOUT)
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
}
