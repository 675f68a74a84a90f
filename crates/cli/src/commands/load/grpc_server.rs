//! gRPC calls before a load: server reflection and health check.

use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tare_load::protocols::grpc::{AskError, Question, ask};
use tare_load::protocols::http2::request::Scheme;
use tare_load::tls::TlsClient;
use tare_proto::{HEALTH_METHOD, REFLECTION_METHODS, health_question, is_serving};

use tare_schema::load::Transport;

use super::target::LoadUrl;

/// Pause between two health checks of a server that is not ready.
const RETRY_EVERY: Duration = Duration::from_millis(50);

/// Error class of a method that the server does not have.
const UNIMPLEMENTED: &str = "grpc-unimplemented";

/// A gRPC server with the metadata and transport of the load.
#[derive(Debug, Clone)]
pub struct GrpcServer {
    address: Option<SocketAddr>,
    host: String,
    headers: Vec<(String, String)>,
    tls: Option<TlsClient>,
    limit: Duration,
}

impl GrpcServer {
    /// The server of the load; every call has this time limit.
    pub fn new(
        target: &LoadUrl,
        headers: Vec<(String, String)>,
        transport: &Transport,
        limit: Duration,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            address: target.addresses.first().copied(),
            host: target.host.clone(),
            headers,
            tls: match transport {
                Transport::Tcp => None,
                Transport::Tls(spec) => Some(TlsClient::new(spec, &target.host, Some("h2"))?),
            },
            limit,
        })
    }

    /// Calls server reflection; an older version of it when the server does not have the newest.
    pub fn reflect(&self, messages: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
        let mut why = "it has no reflection".to_owned();
        for path in REFLECTION_METHODS {
            match self.ask(path, messages, self.limit) {
                Ok(answers) => return Ok(answers),
                Err(error) => {
                    why = error.to_string();
                    let is_absent =
                        matches!(&error, AskError::Failed { class, .. } if class == UNIMPLEMENTED);
                    if !is_absent {
                        break;
                    }
                }
            }
        }
        Err(why)
    }

    /// Waits until the health check of a service answers SERVING.
    pub fn wait_until_serving(&self, service: &str) -> anyhow::Result<()> {
        let until = Instant::now() + self.limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let question = [health_question(service)];
            let why = match self.ask(HEALTH_METHOD, &question, left.max(RETRY_EVERY)) {
                Ok(answers) if answers.len() == 1 && is_serving(&answers[0]) => return Ok(()),
                Ok(_) => "it says that it does not serve".to_owned(),
                Err(error) => error.to_string(),
            };
            if until.saturating_duration_since(Instant::now()) < RETRY_EVERY {
                let limit = tare_schema::units::Period(self.limit);
                let named = if service.is_empty() {
                    "the server"
                } else {
                    service
                };
                bail!(
                    "{named} was not ready to serve within {limit}: {why}; start it, or allow more with --timeout"
                );
            }
            thread::sleep(RETRY_EVERY);
        }
    }

    fn ask(
        &self,
        path: &str,
        messages: &[Vec<u8>],
        limit: Duration,
    ) -> Result<Vec<Vec<u8>>, AskError> {
        let question = Question {
            path: path.to_owned(),
            host: self.host.clone(),
            scheme: match self.tls {
                None => Scheme::Http,
                Some(_) => Scheme::Https,
            },
            headers: self.headers.clone(),
            messages: messages
                .iter()
                .map(|message| STANDARD.encode(message))
                .collect(),
            limit,
        };
        let stream = self.open(limit)?;
        match &self.tls {
            None => ask(stream, &question),
            Some(tls) => ask(tls.over(stream).map_err(failed)?, &question),
        }
    }

    fn open(&self, limit: Duration) -> Result<TcpStream, AskError> {
        let Some(address) = self.address else {
            return Err(failed(std::io::ErrorKind::AddrNotAvailable.into()));
        };
        let stream = TcpStream::connect_timeout(&address, limit).map_err(failed)?;
        let limited = stream
            .set_read_timeout(Some(limit))
            .and_then(|()| stream.set_write_timeout(Some(limit)))
            .and_then(|()| stream.set_nodelay(true));
        limited.map_err(failed)?;
        Ok(stream)
    }
}

fn failed(why: std::io::Error) -> AskError {
    AskError::Failed {
        class: "connect".into(),
        example: why.to_string(),
    }
}
